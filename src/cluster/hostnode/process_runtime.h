#pragma once

// Runs containers as plain processes of this machine, each under a shim (shim.h), in real cgroups.
// Images are not unpacked: a container's command runs on the host's own file system, in the host's
// namespaces, as root. Meant for one's own machine and one's own manifests.

#include <map>
#include <memory>
#include <set>

#include "base/event_loop.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

class ProcessRuntime final : public Runtime {
 public:
  struct Options {
    std::string dir;  // of the containers' folders; made when missing
    std::vector<std::string>
        shimCommand;  // {"/usr/bin/koordctl", "shim", "--dir"}; the folder is added
  };

  ProcessRuntime(Executor& executor, Cgroups& cgroups, Options options);
  ~ProcessRuntime() override;

  std::string version() const override { return "process://1"; }
  Task<Result<>> preparePod(PodRef pod) override;
  Task<Result<std::string>> startContainer(ContainerConfig config) override;
  Task<Result<>> stopContainer(std::string id, Duration grace) override;
  Task<Result<>> removeContainer(std::string id) override;
  Task<Result<>> removePod(PodRef pod) override;
  Task<Result<std::vector<RuntimeContainer>>> list() override;

 private:
  class Worker;  // everything that may block, on a thread of its own

  Executor& executor_;
  std::unique_ptr<Worker> worker_;
  LoopThread thread_;
};

}  // namespace koord::cluster
