#pragma once

// Coscheduling: gangs. Pods that name a PodGroup, or a gang in their annotations, are bound only
// when as many of them as the gang needs have a node. Gangs that name each other are bound
// together.
//
// This class is the plugin of one profile. gangs.h has the membership, gang_cycles.h the scheduling
// of groups, pod_group_controller.h the status of PodGroups.

#include "scheduler/framework/controller.h"
#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"
#include "scheduler/plugins/coscheduling/job_preemption.h"
#include "scheduler/plugins/coscheduling/network_placement.h"
#include "scheduler/preemption/pod_preemption.h"

namespace koord::scheduler {

class Coscheduling final : public Plugin,
                           public GroupPlugin,
                           public PreEnqueuePlugin,
                           public PreFilterPlugin,
                           public PostFilterPlugin,
                           public PreScorePlugin,
                           public ScorePlugin,
                           public ReservePlugin,
                           public PermitPlugin,
                           public PreBindPlugin,
                           public PostBindPlugin,
                           public EnqueueExtensions,
                           public ServicePlugin,
                           public PodFactsPlugin,
                           public PreemptionJudge,
                           public ControllerPlugin {
 public:
  static constexpr std::string_view kName = "Coscheduling";
  Coscheduling(Handle& handle, const CoschedulingArgs& args);
  std::string_view name() const override { return kName; }
  PluginPoints skippedPoints(const PodInfo& pod) const override;

  // Skipped: other plugins judge pods one by one, and no verdict depends on the gang.
  PreFilterResult preFilter(CycleState&, const PodInfo&) override { return {Status::skip(), {}}; }
  // Pods with a network-topology-selector prefer nodes close in the network to the pods with the
  // same selector.
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Lowest; }
  bool willSkipScore(const PodInfo& pod) override;

  std::string groupOf(const PodInfo& pod) const override;
  bool sameGroup(const PodInfo& a, const PodInfo& b) const override;
  std::string nameOf(const std::string& group) const override;
  bool together(const PodInfo& pod) const override;
  std::vector<std::string> placedWith(const std::string& group) const override;
  Status begin(const std::string& group, std::span<const PodPtr> members) override;
  std::vector<std::size_t> orderOf(const std::string& group,
                                   std::span<const PodPtr> members) const override;
  GroupPlan planOf(const std::string& group, std::span<const PodPtr> members) override;
  bool shouldContinue(const std::string& group, const GroupOutcome& soFar) override;
  bool suffices(const std::string& group, std::span<const PodPtr> members) const override;
  Status judge(const std::string& group, const GroupOutcome& outcome) override;
  Nomination nominationOf(const PodInfo& pod) const override;
  std::size_t waitingGroups() const override { return cycles_.waitingGroups(); }

  Status preEnqueue(const PodInfo& pod) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  Status checkHelpfulness(const PodPtr& pod, const Candidate& candidate) override {
    return preemption_.checkHelpfulness(pod, candidate);
  }
  Status reserve(CycleState&, const PodPtr&, NodeId) override { return {}; }
  void unreserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  PermitResult permit(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  // Does nothing: the API server soon shows the pod as bound.
  void postBind(CycleState&, const PodPtr&, const std::string&) override {}
  std::vector<EventRegistration> eventsToRegister() const override;
  std::vector<Route> routes() override;
  json::value factsOf(const PodInfo& pod) const override;
  std::string waitReason(const PodInfo& pod) const override;
  Task<void> run() override;

 private:
  Handle& handle_;
  const CoschedulingArgs args_;
  Gangs& gangs_;
  GangCycles& cycles_;
  NetworkTopology& network_;
  NetworkPlacement placement_;
  JobPreemption preemption_;
  ByShape<bool> unselecting_;  // pods without a network-topology-selector
};

}  // namespace koord::scheduler
