#include "koordctl/test/up_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "scenario/http_environment.h"

namespace koord::koordctl {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadyLimit = 60s;
constexpr auto kStopLimit = 20s;

// The child and the folder of its files.
class UpProcess {
 public:
  UpProcess() = default;
  UpProcess(const UpProcess&) = delete;
  UpProcess& operator=(const UpProcess&) = delete;
  ~UpProcess();

  Result<> start(const std::string& program);
  Result<> awaitReady();
  std::string kubeconfig() const { return folder_ + "/kubeconfig"; }

 private:
  std::string folder_;
  pid_t child_ = 0;
  int output_ = -1;
};

UpProcess::~UpProcess() {
  if (child_ > 0) {
    kill(child_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kStopLimit;
    while (waitpid(child_, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        break;
      }
      std::this_thread::sleep_for(20ms);
    }
  }
  if (output_ >= 0) close(output_);
  std::error_code ec;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ec);
}

Result<> UpProcess::start(const std::string& program) {
  std::string pattern = (std::filesystem::temp_directory_path() / "koordctl-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return fail(errnoError("make a folder " + pattern, errno));
  folder_ = pattern;
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return fail(errnoError("pipe", errno));
  output_ = pipe[0];
  std::vector<std::string> arguments = {program,
                                        "up",
                                        "--in-memory",
                                        "--quiet",
                                        "--nodes=0",
                                        "--host-node=off",
                                        "--listen=127.0.0.1:0",
                                        "--components=koord-manager,koord-scheduler",
                                        "--kubeconfig=" + kubeconfig()};
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string errors = folder_ + "/stderr";
  // All preparation happens here: between fork and exec only system calls are safe.
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) {
    // If this process is killed, it cannot stop the child.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    setpgid(0, 0);  // we forward Ctrl-C in order
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(pipe[1], 1);
    dup2(open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(program.c_str(), pointers.data());
    const char* why = std::strerror(errno);
    [[maybe_unused]] const auto put = write(2, why, std::strlen(why));
    _exit(127);
  }
  const int error = errno;
  close(pipe[1]);
  if (child_ < 0) {
    child_ = 0;
    return fail(errnoError("start " + program, error));
  }
  return {};
}

Result<> UpProcess::awaitReady() {
  const auto deadline = std::chrono::steady_clock::now() + kReadyLimit;
  std::string said;
  while (said.find("ready\n") == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    struct pollfd file = {output_, POLLIN, 0};
    char buffer[512];
    const bool readable = left.count() > 0 && poll(&file, 1, static_cast<int>(left.count())) > 0;
    const ssize_t got = readable ? read(output_, buffer, sizeof buffer) : 0;
    if (got <= 0) {
      const auto errors = readFile(folder_ + "/stderr");
      return fail(ErrorCode::Unavailable, fmt::format("koordctl up is not ready: {}",
                                                      errors ? *errors : "it wrote no output"));
    }
    said.append(buffer, static_cast<std::size_t>(got));
  }
  return {};
}

class UpEnvironment final : public scenario::Environment {
 public:
  UpEnvironment(std::unique_ptr<UpProcess> process,
                std::unique_ptr<scenario::Environment> connection)
      : process_(std::move(process)), connection_(std::move(connection)) {}

  kube::Api& api() override { return connection_->api(); }
  Executor& executor() override { return connection_->executor(); }
  bool advanceUntil(const std::function<bool()>& done, Duration limit) override {
    return connection_->advanceUntil(done, limit);
  }
  std::string kubeconfig() const override { return connection_->kubeconfig(); }
  Task<Result<std::string>> discover(std::string path) override {
    return connection_->discover(std::move(path));
  }

 private:
  std::unique_ptr<UpProcess> process_;
  std::unique_ptr<scenario::Environment> connection_;
};

}  // namespace

Result<std::unique_ptr<scenario::Environment>> startUpProcess(const std::string& program) {
  auto process = std::make_unique<UpProcess>();
  if (auto started = process->start(program); !started) return fail(std::move(started.error()));
  if (auto ready = process->awaitReady(); !ready) return fail(std::move(ready.error()));
  auto connection = scenario::connectTo(process->kubeconfig());
  if (!connection) return fail(std::move(connection.error()));
  return std::make_unique<UpEnvironment>(std::move(process), *std::move(connection));
}

}  // namespace koord::koordctl
