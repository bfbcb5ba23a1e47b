#pragma once

// NetworkController: writes into the status of the ClusterNetworkTopology "default" which places the
// scheduler sees in it, and tells in an event what is wrong with it. On the leader only; the status with
// --enable-network-topology-manager only, since an upstream scheduler beside this one may write it.

#include <memory>
#include <string>

#include "base/task.h"
#include "scheduler/plugins/coscheduling/network_topology.h"

namespace koord::scheduler {

class NetworkController {
 public:
  // The handle has an API.
  NetworkController(Handle& handle, NetworkTopology& network)
      : handle_(handle), network_(network) {}

  // Every few seconds.
  void look();

 private:
  void tell(const api::ClusterNetworkTopology& object);
  Task<void> write(std::shared_ptr<const api::ClusterNetworkTopology> object, json::value status);

  Handle& handle_;
  NetworkTopology& network_;
  std::shared_ptr<const NetworkTree> seen_;
  std::shared_ptr<const api::ClusterNetworkTopology> written_;
  std::string told_;
  bool busy_ = false;
  TaskGroup tasks_;
};

// {"detailStatus": [...]}: the places from the cluster down, nodes left out.
json::value networkStatus(const NetworkTree& tree);

}  // namespace koord::scheduler
