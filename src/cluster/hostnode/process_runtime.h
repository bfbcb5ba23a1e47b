#pragma once

// Runs containers as plain processes of the host, each under a shim (shim.h), in real cgroups.
// Images are not unpacked: a container's command runs on the host's own file system, as root unless
// it says otherwise. With volumes it has its own mount namespace (mounts/mount_view.h), else the
// host's namespaces. Meant for trusted manifests on one's own host.

#include <map>
#include <memory>
#include <set>

#include "base/event_loop.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/runtime.h"
#include "cluster/streaming/stream_io.h"

namespace koord::cluster {

class ProcessRuntime final : public Runtime {
 public:
  struct Options {
    std::string dir;                       // of the containers' folders; made when missing
    std::vector<std::string> shimCommand;  // {"/usr/bin/koordctl", "shim"}; see shim.h
  };

  ProcessRuntime(Executor& executor, Cgroups& cgroups, Options options);
  ~ProcessRuntime() override;

  std::string version() const override { return "process://1"; }
  RuntimeAbilities abilities() const override { return {}; }
  bool resolvesSubPaths() const override { return true; }
  Task<Result<>> preparePod(PodRef pod, SandboxOptions options) override;
  Task<Result<std::string>> startContainer(ContainerConfig config) override;
  Task<Result<>> stopContainer(std::string id, Duration grace) override;
  Task<Result<ExecResult>> exec(std::string id, std::vector<std::string> command,
                                Duration timeout) override;
  Task<Result<std::shared_ptr<StreamedCommand>>> openCommand(std::string id,
                                                             std::vector<std::string> command,
                                                             CommandStreams streams) override;
  Task<Result<std::shared_ptr<StreamedCommand>>> attach(std::string id,
                                                        CommandStreams streams) override;
  Task<Result<>> removeContainer(std::string id) override;
  Task<Result<>> releasePod(PodRef pod) override { return removePod(std::move(pod)); }
  Task<Result<>> removePod(PodRef pod) override;
  Task<Result<std::vector<RuntimeContainer>>> list() override;

 private:
  class Worker;    // blocking calls, on a thread of its own
  class Programs;  // commands run in containers, on a thread each

  Executor& executor_;
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<Worker> worker_;
  LoopThread thread_;
  StreamIo io_;  // of commands with streams
};

}  // namespace koord::cluster
