#include "cluster/containerd/containerd_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/run_program.h"
#include "cluster/containerd/busybox_image.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxSocketPath = 107;  // of a unix socket's address
constexpr std::chrono::minutes kImportLimit{2};

Result<std::string> findProgram(const char* name, const char* package) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    std::string path = std::string(folder) + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::NotFound,
              fmt::format("{} is not installed: install the Debian package {}", name, package));
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
  const auto imported = runProgram(
      {.argv = {*ctr, "--address", daemon.socket, "--namespace", "k8s.io", "images", "import", tar},
       .limit = kImportLimit,
       .dropsOutput = true},
      Interrupt());
  ::unlink(tar.c_str());
  if (!imported) return fail(imported.error());
  if (imported->killed) return fail(*imported->killed);
  if (imported->status != 0)
    return fail(ErrorCode::Internal,
                fmt::format("{} failed: {}{}", *ctr, imported->out, imported->err));
  return {};
}

}  // namespace koord::cluster
