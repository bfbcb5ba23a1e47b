#pragma once

// The host node and everything it needs: cgroups, runtime, kubelet endpoints.

#include <memory>
#include <string>

#include "base/event_loop.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/kubelet_server.h"
#include "cluster/hostnode/machine.h"
#include "cluster/hostnode/pod_cgroups.h"
#include "cluster/hostnode/probes/grpc/grpc_health.h"
#include "cluster/hostnode/stream_server.h"
#include "cluster/up/runtime_options.h"
#include "cluster/up/supervisor.h"

namespace koord::cluster {

struct HostOptions {
  std::string dataDir;
  RuntimeOptions runtime;
  std::string program;  // path of this program, for shims
  std::shared_ptr<const net::ServerTls> tls;
  net::HttpTransport* http = nullptr;  // for probes
  std::string nodeName;                // "" = the name of the host
  std::string address = "127.0.0.1";   // of the node; the kubelet's port is there
};

// Where the containerd of a data folder listens, and the names of the images loaded into it.
inline std::string containerdSocketOf(const std::string& dataDir) {
  return dataDir + "/containerd/containerd.sock";
}
inline std::string loadedImagesFile(const std::string& dataDir) {
  return dataDir + "/loaded-images";
}

// The sockets between koord-runtime-proxy and koordlet, below the data folder.
struct RuntimeProxyPaths {
  explicit RuntimeProxyPaths(const std::string& dataDir)
      : socket(dataDir + "/runtimeproxy.sock"),
        hookFolder(dataDir + "/hookserver.d"),
        hookSocket(dataDir + "/hooks.sock") {}
  std::string socket;      // of the proxy
  std::string hookFolder;  // registrations of hook servers
  std::string hookSocket;  // of koordlet
};

class Host {
 public:
  // The error says why this host cannot be a node.
  static Result<std::unique_ptr<Host>> open(kube::Api& api, Executor& executor, Random random,
                                            HostOptions options);

  HostNode& node() { return *node_; }
  const HostNode& node() const { return *node_; }
  // What a user should know about the start; "" if nothing.
  const std::string& note() const { return note_; }
  StreamServer& streams() { return *streams_; }
  // Ends the pods' processes, removes their cgroups, then stops the runtime and waits for its
  // shims.
  Task<void> shutdown(Duration grace);
  // Stops all processes of pods, or lets them continue.
  Result<> freeze() { return cgroups_->freeze(kPodsRoot); }
  Result<> thaw() { return cgroups_->thaw(kPodsRoot); }
  const std::string& nodeName() const { return machine_.hostname; }
  const Machine& machine() const { return machine_; }
  const std::string& cgroupRoot() const { return cgroups_->layout().root; }
  // The socket of the containerd that runs the node's containers; "" without one.
  const std::string& containerdSocket() const { return containerdSocket_; }

 private:
  Host(Executor& executor, HostNodeLock lock) : executor_(executor), lock_(std::move(lock)) {}
  Result<> openRuntime(Executor& executor, const HostOptions& options);
  Result<> openContainerd(Executor& executor, const HostOptions& options);
  void closeContainerd();
  Result<> loadImages(const HostOptions& options) const;
  Result<std::string> startProxy(const HostOptions& options, const std::string& runtime);

  Executor& executor_;
  HostNodeLock lock_;
  Machine machine_;
  RealCgroupFs fs_;
  std::unique_ptr<Cgroups> cgroups_;
  std::unique_ptr<Supervisor> daemon_;  // of our own containerd, and of the proxy
  std::string ownContainerd_;           // its socket; "" without one
  std::string containerdSocket_;        // of our containerd, or of the host's
  std::string note_;
  std::string imageDir_;  // "" if there are no images
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<GrpcHealth> grpcHealth_;
  LoopThread volumesThread_{"volumes"};
  std::unique_ptr<HostNode> node_;
  std::unique_ptr<StreamServer> streams_;
  std::unique_ptr<KubeletServer> server_;
};

}  // namespace koord::cluster
