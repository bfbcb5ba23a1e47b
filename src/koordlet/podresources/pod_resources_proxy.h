#pragma once

// Kubelet's pod-resources service, served again with the devices that koord-scheduler allocated (gate
// PodResourcesProxy): who asks which pod has which GPU, such as exporters of their metrics, asks here. Calls are passed
// on to kubelet's own socket and their answers completed (allocated_devices.h).

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
    std::string folder;         // its socket is kubelet.sock there
    std::string kubeletSocket;  // kubelet's own
  };
  // `states` and the executor outlive it.
  PodResourcesProxy(Executor& executor, const States& states, Options options);
  ~PodResourcesProxy();
  // Listens; what cannot be done is logged and tried again.
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
  // Of the thread alone.
  std::unique_ptr<net::GrpcChannel> kubelet_;
  std::unique_ptr<net::GrpcServer> server_;
  std::unique_ptr<TaskGroup> calls_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
