#pragma once

// NetworkController: writes the places that the scheduler sees into the status of the
// ClusterNetworkTopology "default", and records an event if the object is invalid. Runs on the
// leader only. It writes the status with --enable-network-topology-manager only, because an
// upstream scheduler may write it in parallel.

#include <memory>
#include <string>

#include "base/task.h"
#include "scheduler/plugins/coscheduling/network_topology.h"

namespace koord::scheduler {

class NetworkController {
 public:
  // The handle must have an API.
  NetworkController(Handle& handle, NetworkTopology& network)
      : handle_(handle), network_(network) {}

  // Runs every few seconds.
  void update();

 private:
  void tell(const api::ClusterNetworkTopology& object);
  Task<void> write(std::shared_ptr<const api::ClusterNetworkTopology> object, json::value status);

  Handle& handle_;
  NetworkTopology& network_;
  std::shared_ptr<const NetworkTree> seen_;
  std::shared_ptr<const api::ClusterNetworkTopology> written_;
  std::string reportedProblem_;
  bool busy_ = false;
  TaskGroup tasks_;
};

// {"detailStatus": [...]}: the places from the cluster down, without nodes.
json::value networkStatus(const NetworkTree& tree);

}  // namespace koord::scheduler
