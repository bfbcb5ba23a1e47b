#pragma once

// The Node object of the host node: made when it is missing, its status and conditions kept up, its lease
// renewed. Labels, annotations, taints and foreign resources of an existing Node stay as they are.

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
  // What runs short from now on; written at the next renewal of the lease.
  void setPressures(NodePressures pressures) { pressures_ = pressures; }

 private:
  Task<void> run();
  // Writes the node's status when that is due, or when its conditions are not what they should be.
  Task<Result<>> report(bool due);

  kube::Api& api_;
  Executor& executor_;
  const NodeDescription& node_;
  bool done_ = false;
  NodePressures pressures_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
