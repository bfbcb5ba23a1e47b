#pragma once

// A proxy of kubelet's pod-resources service that adds the devices allocated by koord-scheduler
// (gate PodResourcesProxy). Its clients, e.g. exporters of GPU metrics, learn which pod has which
// device. The proxy forwards calls to kubelet's socket and completes the answers
// (allocated_devices.h).

#include <memory>
#include <string>

#include "base/task.h"
#include "koordlet/states/states.h"
#include "net/rpc/grpc_channel.h"
#include "net/rpc/grpc_server.h"
#include "net/rpc/io_loop.h"

namespace koord::koordlet {

class PodResourcesProxy {
 public:
  struct Options {
    std::string folder;         // of the proxy's socket, kubelet.sock
    std::string kubeletSocket;  // path of kubelet's socket
  };
  // `executor` and `states` must outlive the proxy.
  PodResourcesProxy(Executor& executor, const States& states, Options options);
  ~PodResourcesProxy();
  // Starts to listen. A failure is logged and retried.
  void start();

 private:
  Task<void> serve();
  Result<> listen();
  void ask(net::GrpcRequest request, net::GrpcAnswer answer);
  Task<void> forward(net::GrpcRequest request, net::GrpcAnswer answer);

  Executor& executor_;
  const States& states_;
  Options options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<net::IoThread> thread_;
  // Used on thread_ only.
  std::unique_ptr<net::GrpcChannel> kubelet_;
  std::unique_ptr<net::GrpcServer> server_;
  std::unique_ptr<TaskGroup> calls_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
