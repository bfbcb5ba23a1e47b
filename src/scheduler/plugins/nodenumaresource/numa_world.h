#pragma once

// A test world with CPU topologies.

#include <gtest/gtest.h>

#include "scheduler/plugins/nodenumaresource/numa_builders.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/reservations.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler::testing {

inline constexpr const char* kWithNuma = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preFilter: {enabled: [{name: Reservation}, {name: NodeNUMAResource}]}
    filter: {enabled: [{name: NodeNUMAResource}, {name: Reservation}]}
    preScore: {enabled: [{name: Reservation}]}
    score: {enabled: [{name: NodeNUMAResource, weight: 1}, {name: Reservation, weight: 5000}]}
    reserve: {enabled: [{name: NodeNUMAResource}, {name: Reservation}]}
    preBind: {enabled: [{name: NodeNUMAResource}, {name: Reservation}, {name: DefaultPreBind}]}
    postFilter: {enabled: [{name: Reservation}]}
    bind: {enabled: [{name: Reservation}]}
)";

struct NumaWorld {
  World world;
  NodeNumaResource* plugin = nullptr;

  // yaml "": the plugin alone in its profile.
  explicit NumaWorld(const NodeNUMAResourceArgs& args = {}, const std::string& yaml = "") {
    if (yaml.empty()) {
      plugin = &dynamic_cast<NodeNumaResource&>(
          world.only(std::make_unique<NodeNumaResource>(world, args)));
    } else {
      const auto problems = world.configure(makeRegistry(), yaml);
      EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems.front());
      plugin = world.profile().offers<NodeNumaResource>().front();
    }
  }
  Cluster& cluster() { return world.cluster(); }
  NodeId id(const std::string& node) { return *cluster().findNode(node); }
  NumaTable& table() { return NumaTable::of(world); }
  void report(const std::shared_ptr<api::NodeResourceTopology>& topology) {
    world.stores().of<CpuReport>().set(asReported(*topology));
  }
  NodeId machine(const std::string& name, const Machine& machine = {},
                 const api::StringMap& labels = {}, const api::StringMap& annotations = {}) {
    NodeBuilder node = nodeOf(name, machine);
    for (const auto& [key, value] : labels) node.label(key, value);
    node.object().metadata.annotations = annotations;
    const NodeId added = world.node(node);
    report(topologyOf(name, machine));
    return added;
  }
  // Why the filter rejects the node, "" if it does not.
  std::string ask(const PodBuilder& pod, const std::string& node = "a") {
    return world.filter(world.pod(pod))[node];
  }
  // Assigns the pod to the node and runs Reserve. Returns its annotation resource-status, or the
  // reason of the failure.
  std::string place(const PodBuilder& builder, const std::string& node = "a") {
    const PodPtr pod = world.pod(builder);
    EXPECT_TRUE(cluster().assume(pod, id(node)));
    CycleState state;
    // A profile of one plugin has no list of Reserve plugins.
    std::vector<ReservePlugin*> reserving;
    for (const auto& each : world.profile().reserve) reserving.push_back(each.point);
    if (reserving.empty()) reserving.push_back(plugin);
    for (ReservePlugin* each : reserving) {
      const Status status = each->reserve(state, pod, id(node));
      if (status.ok()) continue;
      (void)cluster().forget(pod->uid());
      return status.message();
    }
    const NumaGrant* grant = table().grantOf(pod->uid());
    return grant ? resourceStatusText(cluster().resources(), *grant) : "";
  }
  std::string placed(const std::string& name) {
    const NumaGrant* grant = table().grantOf("uid-default-" + name);
    return grant ? grant->cpus.toString() : "nothing";
  }
  std::int64_t score(const PodBuilder& pod, const std::string& node = "a") {
    return world.scores(world.pod(pod), {node})[node];
  }
  void expectSound() {
    cluster().live().forEach([&](NodeId node) { EXPECT_EQ(cluster().verifyNode(node), ""); });
  }
};

}  // namespace koord::scheduler::testing
