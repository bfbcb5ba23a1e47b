#include "cluster/containerd/containerd_daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "cluster/containerd/busybox_image.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxSocketPath = 107;  // of a unix socket's address

Result<std::string> findProgram(const char* name, const char* package) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    std::string path = std::string(folder) + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::NotFound,
              fmt::format("{} is not installed: install the Debian package {}", name, package));
}

// The status of a program run to its end, its output in a file.
Result<> runProgram(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(errnoError("start " + command[0], error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const auto said = readFile(output);
  return fail(ErrorCode::Internal,
              fmt::format("{} failed: {}", command[0], said ? *said : "no output"));
}

}  // namespace

std::vector<std::string> ContainerdDaemon::argv() const {
  return {program, "--config", folder + "/config.toml"};
}

Result<ContainerdDaemon> prepareContainerd(const std::string& dataDir) {
  auto program = findProgram("containerd", "containerd");
  if (!program) return fail(std::move(program.error()));
  if (auto runc = findProgram("runc", "runc"); !runc) return fail(std::move(runc.error()));
  const std::string folder = dataDir + "/containerd";
  ContainerdDaemon daemon{*std::move(program), folder, folder + "/containerd.sock"};
  if (daemon.socket.size() > kMaxSocketPath)
    return fail(ErrorCode::Invalid,
                fmt::format("{}: too long for the path of a socket: choose a shorter --data-dir",
                            daemon.socket));
  if (auto made = makeDirs(folder); !made) return fail(std::move(made.error()));
  const std::string config = fmt::format(
      "version = 2\n"
      "root = \"{0}/root\"\n"
      "state = \"{0}/state\"\n"
      "[grpc]\n"
      "  address = \"{0}/containerd.sock\"\n"
      "[plugins.\"io.containerd.internal.v1.opt\"]\n"
      "  path = \"{0}/opt\"\n"
      "[plugins.\"io.containerd.grpc.v1.cri\"]\n"
      "  sandbox_image = \"{1}\"\n"
      "  disable_apparmor = true\n"
      "  restrict_oom_score_adj = true\n",
      folder, kSandboxImage);
  if (auto written = writeFileAtomic(folder + "/config.toml", config); !written)
    return fail(std::move(written.error()));
  return daemon;
}

Result<> importBusybox(const ContainerdDaemon& daemon) {
  auto ctr = findProgram("ctr", "containerd");
  if (!ctr) return fail(std::move(ctr.error()));
  const std::string tar = daemon.folder + "/busybox.tar";
  if (auto written = writeBusyboxImage(tar); !written) return written;
  auto imported = runProgram(
      {*ctr, "--address", daemon.socket, "--namespace", "k8s.io", "images", "import", tar},
      daemon.folder + "/import.log");
  ::unlink(tar.c_str());
  return imported;
}

}  // namespace koord::cluster
