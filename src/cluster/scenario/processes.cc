#include "cluster/scenario/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "base/result.h"

namespace koord::scenario {
namespace {

constexpr std::size_t kMaxOutput = 4U << 20;

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The error number of what went wrong; 0 when the process runs, in a process group of its own.
int start(pid_t& child, ProcessSpec& spec, int out, int err) {
  auto environment = mergedEnvironment(spec.environment);
  const auto arguments = pointersTo(spec.arguments);
  const auto variables = pointersTo(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  if (!spec.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, spec.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads both pipes to their ends, or until the deadline; false at the deadline.
bool collect(int out, int err, std::chrono::steady_clock::time_point deadline,
             ProcessOutcome& outcome) {
  struct pollfd files[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* const texts[2] = {&outcome.output, &outcome.errorOutput};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(files, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return true;
    for (std::size_t i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      char buffer[16384];
      const ssize_t n = read(files[i].fd, buffer, sizeof buffer);
      if (n <= 0) {
        files[i].fd = -1;
      } else if (texts[i]->size() < kMaxOutput) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      }
    }
  }
  return true;
}

ProcessOutcome runBlocking(ProcessSpec spec) {
  ProcessOutcome outcome;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) {
    outcome.error = errnoError("pipe", errno).message;
    return outcome;
  }
  if (pipe2(err, O_CLOEXEC) != 0) {
    outcome.error = errnoError("pipe", errno).message;
    close(out[0]);
    close(out[1]);
    return outcome;
  }
  const auto deadline = std::chrono::steady_clock::now() + spec.timeout;
  pid_t child = 0;
  const int error = start(child, spec, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  if (error != 0) {
    outcome.error = errnoError(spec.arguments[0], error).message;
  } else {
    const bool ended = collect(out[0], err[0], deadline, outcome);
    if (!ended) kill(-child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!ended) {
      outcome.error = fmt::format("still running after {} s, killed",
                                  std::chrono::duration<double>(spec.timeout).count());
    } else if (WIFSIGNALED(status)) {
      outcome.error = fmt::format("killed by signal {}", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
      outcome.error = fmt::format("exit status {}", WEXITSTATUS(status));
    }
  }
  close(out[0]);
  close(err[0]);
  return outcome;
}

}  // namespace

Future<ProcessOutcome> runProcess(Executor& executor, ProcessSpec spec) {
  auto [future, completer] = Future<ProcessOutcome>::make(executor);
  // The thread ends with the process, by the deadline at the latest; the completer is all it
  // touches.
  std::thread([completer = completer, spec = std::move(spec)]() mutable {
    completer.complete(runBlocking(std::move(spec)));
  }).detach();
  return std::move(future);
}

std::string expandVariables(const std::string& text,
                            const std::map<std::string, std::string>& environment) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '$') {
      result += '$';
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      ++end;
    }
    const std::string name = text.substr(i + 1, end - i - 1);
    const auto it = environment.find(name);
    const char* own = name.empty() ? nullptr : std::getenv(name.c_str());
    if (it != environment.end()) {
      result += it->second;
    } else if (own) {
      result += own;
    } else {
      result += text.substr(i, end - i);
    }
    i = end - 1;
  }
  return result;
}

}  // namespace koord::scenario
