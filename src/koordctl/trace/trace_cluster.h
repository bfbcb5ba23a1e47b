#pragma once

// TraceCluster: the real scheduler on virtual time, on an API in memory that binds at once and
// executes evictions at once. The nodes and pods of a trace are delivered as an informer would
// deliver them.
//
// Not thread-safe. Several clusters are independent of each other.

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/virtual_loop.h"
#include "koordctl/trace/trace.h"
#include "kube/api.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/registry.h"

namespace koord::koordctl {

class TraceCluster {
 public:
  // Errors: those of the configuration, one per line. `seed` decides between equally good nodes.
  static Result<std::unique_ptr<TraceCluster>> create(
      scheduler::SchedulerConfiguration configuration, const std::vector<TraceNode>& nodes,
      std::uint64_t seed);
  ~TraceCluster();

  // Adds the task's pod under this name, which must be new.
  void add(const TraceTask& task, const std::string& name);
  // Removes the pod, on a node or waiting; ignores unknown names.
  void remove(const std::string& name);
  // Runs everything that is due until virtual time has passed by that much.
  void advance(Duration time);

  // The node of the pod; "" if it waits or is unknown.
  std::string nodeOf(const std::string& name) const;
  // The pod as the API has it; nullptr if it is unknown.
  std::shared_ptr<const api::Pod> pod(const std::string& name) const;
  std::size_t waiting() const { return pods_.size() - placed_; }
  std::size_t placed() const { return placed_; }
  scheduler::Scheduler& scheduler() const { return *scheduler_; }

  // Called when a pod gets its node, and when a pod is evicted for another.
  std::function<void(const std::string& name)> onPlaced = [](const std::string&) {};
  std::function<void(const std::string& name)> onPreempted = [](const std::string&) {};

 private:
  class Api;
  using Pod = std::shared_ptr<const api::Pod>;
  TraceCluster() = default;
  Result<std::string> answer(const kube::Request& request);
  Result<std::string> bind(const kube::Request& request, const Pod& pod);
  void forget(const std::string& name);

  VirtualLoop loop_;
  std::unique_ptr<Api> api_;
  scheduler::Registry registry_;
  std::string profile_;                        // the configuration's first
  std::unordered_map<std::string, Pod> pods_;  // by name, as in the API
  std::size_t placed_ = 0;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
};

}  // namespace koord::koordctl
