#pragma once

// A test world with reservations.

#include <gtest/gtest.h>

#include "api/codec.h"
#include "model/well_known.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "scheduler/testing/reservations.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler::testing {

inline constexpr const char* kWithReservations = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Reservation}]}
    score: {enabled: [{name: Reservation, weight: 5000}]}
)";

struct ReservationWorld {
  World world;
  ReservationPlugin* plugin = nullptr;

  explicit ReservationWorld(const Registry& registry = makeRegistry(),
                            const std::string& yaml = kWithReservations, std::uint64_t seed = 1) {
    const auto problems = world.configure(registry, yaml, seed);
    EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems.front());
    plugin = world.profile().offers<ReservationPlugin>().front();
  }
  Cluster& cluster() { return world.cluster(); }
  NodeId id(const std::string& node) { return *cluster().findNode(node); }
  void node(const std::string& name, const std::string& cpu, const std::string& memory = "64Gi") {
    world.node(aNode(name).allocatable("cpu", cpu).allocatable("memory", memory));
  }
  void set(const ReservationBuilder& reservation) {
    world.stores().of<api::Reservation>().set(reservation.build());
  }
  void erase(const std::string& name) { world.stores().of<api::Reservation>().erase({"", name}); }
  const ReservationIndex& index() { return ReservationIndex::of(world); }
  std::int64_t used(const std::string& node, ResourceId resource = kCpu) {
    return Cluster::columnAt(cluster().requested(resource), id(node));
  }
  // Why the filter rejects the node, "" if it does not.
  std::string answer(const PodBuilder& pod, const std::string& node) {
    return world.filter(world.pod(pod))[node];
  }
  // Schedules the pod and runs the Reserve plugins. Returns the node with its reservation, or the
  // reason of the failure.
  std::string schedule(const PodBuilder& builder, const std::string& only = "") {
    const PodPtr pod = world.pod(builder);
    CycleState state;
    NodeSet among;
    SearchScope scope;
    if (!only.empty()) {
      among.insert(id(only));
      scope.among = &among;
    }
    const SearchResult found = world.search().find(state, pod, scope);
    if (!found.status.ok())
      return found.diagnosis.totalNodes > 0 && found.status.rejected() ? found.diagnosis.message()
                                                                       : found.status.message();
    return take(state, pod, found.node);
  }
  std::string take(CycleState& state, const PodPtr& pod, NodeId node) {
    EXPECT_TRUE(cluster().assume(pod, node));
    for (const auto& plugin : world.profile().reserve) {
      const Status status = plugin.point->reserve(state, pod, node);
      if (status.ok()) continue;
      (void)cluster().forget(pod->uid());
      return status.message();
    }
    const auto* allocated =
        api::findIn(state.annotations(), model::kAnnotationReservationAllocated);
    std::string text = cluster().node(node).name;
    if (!allocated) return text;
    return text + " in " + api::decodeText<api::ReservationAllocated>(*allocated)->name;
  }
  // Shows a running pod, in the reservation unless that is "".
  void running(PodBuilder pod, const std::string& node, const std::string& reservation) {
    if (!reservation.empty()) {
      pod.object().metadata.annotations[model::kAnnotationReservationAllocated] =
          R"({"name":")" + reservation + R"(","uid":"uid-)" + reservation + R"("})";
    }
    world.bound(pod.nodeName(node));
  }
  void expectSound() {
    cluster().live().forEach([&](NodeId node) { EXPECT_EQ(cluster().verifyNode(node), ""); });
  }
};

inline PodBuilder webPod(const std::string& name, const std::string& cpu) {
  return aPod(name).request("cpu", cpu).label("app", "web");
}
inline ReservationBuilder forWeb(const char* name, const char* cpu) {
  return aReservation(name).request("cpu", cpu).owner("app", "web");
}
inline PodBuilder requesting(PodBuilder pod, std::string affinity) {
  pod.object().metadata.annotations[model::kAnnotationReservationAffinity] = std::move(affinity);
  return pod;
}

}  // namespace koord::scheduler::testing
