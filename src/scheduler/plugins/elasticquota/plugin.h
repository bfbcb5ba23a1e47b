#pragma once

// ElasticQuota: the pods of a team use together no more than their quota is entitled to, as the quotas of
// all teams share what the cluster has (quotas.h, tree/). Below it, pods of higher priority may take the
// place of others of the same quota.

#include "scheduler/framework/controller.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/elasticquota/controller.h"
#include "scheduler/plugins/elasticquota/verdict.h"
#include "scheduler/plugins/elasticquota/waker.h"
#include "scheduler/preemption/pod_preemption.h"

namespace koord::scheduler {

// Who may leave for a pod: lower ones of its own quota.
class QuotaPreemption final : public PreemptionRules {
 public:
  QuotaPreemption(const Quotas& quotas, bool spareDefault)
      : quotas_(quotas), spareDefault_(spareDefault) {}
  bool mayLeave(const PodInfo& victim, const PodInfo& preemptor) const override;
  // Any end of a pod of the quota makes room in it, whatever for.
  bool waitsFor(const PodInfo& other, const PodInfo& preemptor) const override;
  // By priority: many low pods cost more than few, and one of high priority as much as several of low.
  std::int64_t cost(NodeId node, std::span<const PodPtr> victims) const override;
  std::string noVictims(const PodInfo& preemptor, const std::string& node) const override;
  // Whether anybody may, on any node.
  bool possible(const PodInfo& preemptor) const;

 private:
  const Quotas& quotas_;
  const bool spareDefault_;
};

// Not Signed, on purpose: it judges pods and no nodes, so it is asked once per attempt, which is a few
// comparisons; were quotas part of a pod's class, each of a thousand quotas would have verdicts on all nodes
// of its own.
class ElasticQuota final : public Plugin,
                           public PreFilterPlugin,
                           public PostFilterPlugin,
                           public AdmitPlugin,
                           public ReservePlugin,
                           public TentativePlugin,
                           public EnqueueExtensions,
                           public ControllerPlugin,
                           public ServicePlugin,
                           public MetricsPlugin,
                           public PodFactsPlugin,
                           public PodLimits {
 public:
  static constexpr std::string_view kName = "ElasticQuota";
  ElasticQuota(Handle& handle, const ElasticQuotaArgs& args);
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  Status admit(const CycleState& state, const PodPtr& pod, NodeId node) const override;
  std::optional<std::string> admitKey(const PodInfo& pod) const override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;
  Task<void> run() override { return controller_.run(); }
  std::vector<Route> routes() override;
  std::string metrics() const override;

  Quotas& quotasForTests() { return quotas_; }
  // Which quota the pod counts in, and at which level it would be turned away, for explain.
  json::value factsOf(const PodInfo& pod) const override;
  std::vector<Limit> limitsOf(const PodInfo& pod) const override;

 private:
  PreFilterResult preFilterLimited(const PodInfo& pod);
  Shortage judge(const Place& place, const PodInfo& pod) const;
  Status judgeReserve(const Place& place, const PodInfo& pod, bool fixed, const Resources* within);
  static GrantPtr chargeOf(const Quotas::Member& member, std::shared_ptr<const Resources> within);
  bool takesAll(const Place& place, const PodInfo& pod) const;
  // What is short on this node, where a reservation may have been charged for the pod already.
  Shortage judgeOn(const Place& place, const PodPtr& pod, NodeId node) const;
  // Nodes on which a reservation has been charged for so much of the pod that the rest fits.
  std::vector<std::string> reservedNodes(const Place& place, const PodPtr& pod) const;
  bool hasCredits(const PodInfo& pod) const;
  bool helps(const PodInfo& pod) const;
  std::optional<PostFilterResult> answerWithoutLooking(const PodInfo& pod,
                                                       const Diagnosis& diagnosis,
                                                       bool possible) const;
  // Makes lower pods of the quota leave whatever nodes they are on; nothing when that gives no room either.
  std::optional<PostFilterResult> preemptAcrossNodes(const PodPtr& pod);
  // Whether lower pods of the quota leave for a preemption, on any node.
  bool victimsLeave(const PodInfo& pod) const;
  using Reasons = std::vector<std::pair<std::string, std::size_t>>;  // how many nodes give each
  Status noCandidate(const PodInfo& pod, const Diagnosis& diagnosis, std::size_t tried,
                     std::size_t without, Reasons reasons) const;

  Handle& handle_;
  Cluster& cluster_;
  ElasticQuotaArgs args_;
  QuotaRules rules_;
  Quotas& quotas_;
  QuotaWaker& waker_;
  const QuotaPreemption quotaRules_;
  PodPreemption preemption_;
  QuotaController controller_;
};

}  // namespace koord::scheduler
