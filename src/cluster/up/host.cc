#include "cluster/up/host.h"

#include <fmt/format.h>

#include "cluster/hostnode/process_runtime.h"

namespace koord::cluster {

Result<std::unique_ptr<Host>> Host::open(kube::Api& api, Executor& executor, Random random,
                                         HostOptions options) {
  RealCgroupFs fs;
  auto layout = checkHostNode(fs);
  if (!layout) return fail(std::move(layout.error()));
  auto lock = HostNodeLock::take();
  if (!lock) return fail(std::move(lock.error()));
  auto host = std::unique_ptr<Host>(new Host(*std::move(lock)));
  host->machine_ = readMachine(options.dataDir);
  host->cgroups_ = std::make_unique<Cgroups>(*std::move(layout), host->fs_);
  if (options.runtime != "process")
    return fail(ErrorCode::Invalid,
                fmt::format("--runtime: {} is none of process, containerd", options.runtime));
  host->runtime_ = std::make_unique<ProcessRuntime>(
      executor, *host->cgroups_,
      ProcessRuntime::Options{options.dataDir + "/containers", {options.program, "shim", "--dir"}});

  auto server = KubeletServer::start(executor, {.listen = "127.0.0.1:0", .tls = options.tls});
  if (!server) return fail(std::move(server.error()));
  host->server_ = *std::move(server);

  HostNodeOptions node;
  node.nodeName = host->machine_.hostname;
  node.kubeletPort = host->server_->port();
  node.capacity = capacityOf(host->machine_);
  node.allocatable = allocatableOf(host->machine_);
  node.info = host->machine_.info;
  node.info.kubeletVersion = "v1.28.0+koordctl";
  node.info.kubeProxyVersion = node.info.kubeletVersion;
  host->node_ = std::make_unique<HostNode>(api, executor, *host->runtime_, *host->cgroups_, random,
                                           std::move(node));
  host->server_->serve(*host->node_);
  return host;
}

}  // namespace koord::cluster
