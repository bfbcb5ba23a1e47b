#pragma once

// The Node object of the host node: creates it if it is missing, updates its status and conditions,
// and renews its lease. Labels, annotations, taints and foreign resources of an existing Node do
// not change.

#include "api/core.h"
#include "base/task.h"
#include "cluster/node/node_agent.h"
#include "kube/api.h"

namespace koord::cluster {

struct NodeDescription {
  std::string name;
  std::string ip = "127.0.0.1";
  int kubeletPort = 0;
  api::ResourceList capacity;
  api::ResourceList allocatable;
  api::NodeSystemInfo info;
};

class NodeRegistration {
 public:
  NodeRegistration(kube::Api& api, Executor& executor, const NodeDescription& node)
      : api_(api), executor_(executor), node_(node) {}

  void start() { tasks_.spawn(run()); }
  bool done() const { return done_; }
  // Sets the pressures; written at the next renewal of the lease.
  void setPressures(NodePressures pressures) { pressures_ = pressures; }

 private:
  Task<void> run();
  // Writes the node's status if `due`, or if its conditions have changed.
  Task<Result<>> report(bool due);

  kube::Api& api_;
  Executor& executor_;
  const NodeDescription& node_;
  bool done_ = false;
  NodePressures pressures_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
