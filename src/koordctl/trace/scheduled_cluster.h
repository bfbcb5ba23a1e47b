#pragma once

// ScheduledCluster: the real scheduler on virtual time, on an API in memory that binds at once and
// executes evictions at once. Nodes, pods and reports are delivered as an informer would deliver
// them.
//
// Not thread-safe. Several clusters are independent of each other.

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core.h"
#include "api/device.h"
#include "api/slo.h"
#include "base/virtual_loop.h"
#include "kube/api.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/registry.h"

namespace koord::koordctl {

class ScheduledCluster {
 public:
  using Node = std::shared_ptr<const api::Node>;
  using Pod = std::shared_ptr<const api::Pod>;
  struct Objects {
    std::vector<Node> nodes;
    std::vector<std::shared_ptr<const api::Device>> devices;
  };
  // Errors: those of the configuration, one per line. `seed` decides between equally good nodes.
  static Result<std::unique_ptr<ScheduledCluster>> create(
      scheduler::SchedulerConfiguration configuration, const Objects& objects, std::uint64_t seed);
  ~ScheduledCluster();

  // Adds the pod, whose name must be new. It may have a node.
  void add(const Pod& pod);
  // Removes the pod, on a node or waiting; ignores unknown names.
  void remove(const std::string& name);
  // Replaces the node of that name; ignores unknown names.
  void update(const Node& node);
  // The node's newest NodeMetric, for plugins that score by load.
  void report(api::NodeMetric metric);
  // Runs everything that is due until virtual time has passed by that much.
  void advance(Duration time);

  // The node of the pod; "" if it waits or is unknown.
  std::string nodeOf(const std::string& name) const;
  // The pod as the API has it; nullptr if it is unknown.
  std::shared_ptr<const api::Pod> pod(const std::string& name) const;
  // The node as the API has it; nullptr if it is unknown.
  Node node(const std::string& name) const;
  std::size_t waiting() const { return pods_.size() - placed_; }
  std::size_t placed() const { return placed_; }
  scheduler::Scheduler& scheduler() const { return *scheduler_; }
  // The scheduler's name that pods must have.
  const std::string& profile() const { return profile_; }
  const Clock& clock() const { return loop_; }

  // Called when a pod gets its node, and when a pod is evicted for another.
  std::function<void(const std::string& name)> onPlaced = [](const std::string&) {};
  std::function<void(const std::string& name)> onPreempted = [](const std::string&) {};

 private:
  class Api;
  ScheduledCluster() = default;
  Result<std::string> answer(const kube::Request& request);
  Result<std::string> bind(const kube::Request& request, const Pod& pod);
  void forget(const std::string& name);

  VirtualLoop loop_;
  std::unique_ptr<Api> api_;
  scheduler::Registry registry_;
  std::string profile_;                          // the configuration's first
  std::unordered_map<std::string, Node> nodes_;  // by name, as in the API
  std::unordered_map<std::string, Pod> pods_;    // likewise
  std::size_t placed_ = 0;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
};

}  // namespace koord::koordctl
