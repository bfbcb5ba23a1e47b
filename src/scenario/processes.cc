#include "scenario/processes.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/run_program.h"

namespace koord::scenario {
namespace {

constexpr std::size_t kMaxOutput = 4U << 20;

ProcessOutcome runBlocking(ProcessSpec spec) {
  using std::chrono::ceil;
  using std::chrono::milliseconds;
  ProgramSpec program{.argv = std::move(spec.arguments),
                      .environment = {spec.environment.begin(), spec.environment.end()},
                      .folder = std::move(spec.folder),
                      .limit = ceil<milliseconds>(spec.timeout),
                      .maxOutput = kMaxOutput,
                      .dropsOutput = true};
  auto ran = runProgram(program, Interrupt());
  if (!ran) return {.error = std::move(ran.error().message)};
  ProcessOutcome outcome{.output = std::move(ran->out), .errorOutput = std::move(ran->err)};
  if (ran->killed) {
    outcome.error = fmt::format("still running after {} s, killed",
                                std::chrono::duration<double>(spec.timeout).count());
  } else if (ran->signal != 0) {
    outcome.error = fmt::format("killed by signal {}", ran->signal);
  } else if (ran->status != 0) {
    outcome.error = fmt::format("exit status {}", ran->status);
  }
  return outcome;
}

}  // namespace

Future<ProcessOutcome> runProcess(Executor& executor, ProcessSpec spec) {
  auto [future, completer] = Future<ProcessOutcome>::make(executor);
  // The thread ends with the process, at the latest at the deadline; it uses only the completer.
  try {
    std::thread([completer = completer, spec = std::move(spec)]() mutable {
      completer.complete(runBlocking(std::move(spec)));
    }).detach();
  } catch (const std::system_error& error) {
    completer.complete({.error = std::string("cannot start a thread: ") + error.what()});
  }
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
