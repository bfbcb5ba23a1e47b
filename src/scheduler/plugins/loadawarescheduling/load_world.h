#pragma once

// A world with NodeMetrics, and the plugin alone in its profile, for tests.

#include <gtest/gtest.h>

#include "scheduler/framework/pod_class.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/loadawarescheduling/plugin.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler::testing {

struct Reported {
  std::string name;  // of the pod, in default
  std::string cpu;
  bool prod = true;
};

struct LoadWorld {
  explicit LoadWorld(const LoadAwareSchedulingArgs& args = {}) {
    plugin = &dynamic_cast<LoadAwareScheduling&>(
        world.only(std::make_unique<LoadAwareScheduling>(world, args)));
  }
  // 10 CPUs, 20 GiB.
  NodeId node(const std::string& name, const api::StringMap& annotations = {}) {
    NodeBuilder builder = aNode(name);
    builder.allocatable("cpu", "10").allocatable("memory", "20Gi");
    builder.object().metadata.annotations = annotations;
    return world.node(builder);
  }
  api::NodeMetric metric(const std::string& node, const std::string& cpu,
                         const std::string& memory = "0", const std::vector<Reported>& pods = {}) {
    api::NodeMetric metric;
    metric.metadata.name = node;
    metric.status.updateTime = world.loop().wallNow();
    auto& info = metric.status.nodeMetric.emplace();
    info.nodeUsage.resources = {{"cpu", quantity(cpu)}, {"memory", quantity(memory)}};
    for (const Reported& pod : pods) {
      auto& added = metric.status.podsMetric.emplace_back();
      added.name = pod.name;
      added.namespace_ = "default";
      added.podUsage.resources = {{"cpu", quantity(pod.cpu)}, {"memory", quantity("0")}};
      added.priority = pod.prod ? "koord-prod" : "koord-batch";
    }
    return metric;
  }
  void report(api::NodeMetric metric) {
    world.stores().of<LoadReport>().set(
        std::make_shared<const LoadReport>(digest(std::move(metric))));
  }
  void report(const std::string& node, const std::string& cpu, const std::string& memory = "0",
              const std::vector<Reported>& pods = {}) {
    report(metric(node, cpu, memory, pods));
  }
  // A pod with these CPUs and 1 GiB that is bound to the node, scheduled at this time.
  PodPtr bound(const std::string& name, const std::string& node, const std::string& cpu,
               std::optional<WallTime> placed = std::nullopt) {
    PodBuilder builder = pod(name, cpu);
    builder.nodeName(node);
    auto& condition = builder.object().status.conditions.emplace_back();
    condition.type = "PodScheduled";
    condition.status = "True";
    condition.lastTransitionTime = placed.value_or(world.loop().wallNow());
    return world.bound(builder);
  }
  static PodBuilder pod(const std::string& name, const std::string& cpu) {
    PodBuilder builder = aPod(name);
    builder.request("cpu", cpu).request("memory", "1Gi");
    return builder;
  }
  // The verdict of the node on a pod with these CPUs; "" if it passes.
  std::string ask(const std::string& node, const std::string& cpu = "1") {
    return world.filter(world.pod(pod("asking", cpu)))[node];
  }
  std::int64_t score(const std::string& node, const std::string& cpu = "1") {
    return world.scores(world.pod(pod("asking", cpu)), {node})[node];
  }
  void pass(Duration time) { world.loop().advance(time); }

  World world;
  LoadAwareScheduling* plugin = nullptr;
};

}  // namespace koord::scheduler::testing
