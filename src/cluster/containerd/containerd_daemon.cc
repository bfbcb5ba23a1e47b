#include "cluster/containerd/containerd_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "cluster/containerd/busybox_image.h"
#include "cluster/containerd/image_import.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxSocketPath = 107;  // of a unix socket's address

}  // namespace

Result<std::string> findProgram(const char* name, const char* package) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    std::string path = std::string(folder) + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::NotFound,
              fmt::format("{} is not installed: install the Debian package {}", name, package));
}

std::string missingForContainerd() {
  for (const auto& [program, package] :
       {std::pair{"containerd", "containerd"}, std::pair{"ctr", "containerd"},
        std::pair{"runc", "runc"}, std::pair{"busybox", "busybox-static"}})
    if (auto found = findProgram(program, package); !found) return found.error().message;
  return {};
}

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

Result<> importBusybox(const ContainerdDaemon& daemon, const std::string& namesFile) {
  const std::string tar = daemon.folder + "/busybox.tar";
  if (auto written = writeBusyboxImage(tar); !written) return written;
  auto imported = importImages({daemon.socket, namesFile}, tar);
  ::unlink(tar.c_str());
  if (!imported) return fail(std::move(imported.error()));
  return {};
}

}  // namespace koord::cluster
