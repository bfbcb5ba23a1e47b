#pragma once

// ElasticQuota: limits what the pods of a quota use together to what the quota is entitled to,
// given that all quotas share the cluster's resources (quotas.h, tree/). Within a quota, pods of
// higher priority may preempt others.

#include "scheduler/framework/controller.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/elasticquota/controller.h"
#include "scheduler/plugins/elasticquota/verdict.h"
#include "scheduler/plugins/elasticquota/waker.h"
#include "scheduler/preemption/pod_preemption.h"

namespace koord::scheduler {

// Possible victims: pods of the same quota with lower priority.
class QuotaPreemption final : public PreemptionRules {
 public:
  QuotaPreemption(const Quotas& quotas, bool spareDefault)
      : quotas_(quotas), spareDefault_(spareDefault) {}
  bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const override;
  // Returns true for every terminating pod of the quota: its end frees quota on whichever node it
  // is.
  bool waitsFor(const PodInfo& other, const PodInfo& preemptor) const override;
  // By priority: many pods of low priority cost more than few, and one pod of high priority costs
  // as much as several of low priority.
  std::int64_t cost(NodeId node, std::span<const PodPtr> victims) const override;
  std::string noVictims(const PodInfo& preemptor, const std::string& node) const override;
  // Returns false if the pod can certainly preempt no pod on any node.
  bool possible(const PodInfo& preemptor) const;

 private:
  const Quotas& quotas_;
  const bool spareDefault_;
};

// If the nodes are full as well as the quota: pods of the quota free quota, and any pod of lower
// priority frees resources of the node. Pods that `preemptible: "false"` protects stay. So do pods
// of other quotas that count in the same limit, such as those of a child: as upstream, only pods of
// the same quota are evicted to free quota.
class QuotaAndNodePreemption final : public PreemptionRules {
 public:
  QuotaAndNodePreemption(const Quotas& quotas, const QuotaRules& rules)
      : quotas_(quotas), rules_(rules) {}
  bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const override;

 private:
  const Quotas& quotas_;
  const QuotaRules& rules_;
};

// Not Signed, on purpose. The plugin judges pods and not nodes, so it runs once per attempt and
// costs a few comparisons. If the quota were part of a pod's class, each of a thousand quotas would
// have its own cached verdicts on all nodes.
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
  // The quota that the pod counts in, and the level that would reject it; for explain.
  json::value factsOf(const PodInfo& pod) const override;
  std::vector<Limit> limitsOf(const PodInfo& pod) const override;

 private:
  PreFilterResult preFilterLimited(const PodInfo& pod);
  Shortage judge(const Place& place, const PodInfo& pod) const;
  Status judgeReserve(const Place& place, const PodInfo& pod, bool fixed, const Resources* within);
  static GrantPtr chargeOf(const Quotas::Member& member, std::shared_ptr<const Resources> within);
  bool takesAll(const Place& place, const PodInfo& pod) const;
  // What the quota lacks for the pod on this node, where a reservation may already be charged for
  // the pod.
  Shortage judgeOn(const Place& place, const PodPtr& pod, NodeId node) const;
  // The nodes on which a reservation is already charged for so much of the pod that the rest fits.
  std::vector<std::string> reservedNodes(const Place& place, const PodPtr& pod) const;
  bool hasCredits(const PodInfo& pod) const;
  bool helps(const PodInfo& pod) const;
  std::optional<PostFilterResult> answerWithoutSearch(const PodInfo& pod,
                                                      const Diagnosis& diagnosis,
                                                      bool possible) const;
  // Pods of lower priority of the quota on any nodes whose eviction lets the pod start; nullopt if
  // that would not free enough either.
  std::optional<Candidate> candidateAcrossNodes(const PodPtr& pod);
  // Returns true if pods of lower priority of the quota are being preempted, on any node. The pod
  // is requeued when they are gone.
  bool waitsForVictims(const PodInfo& pod) const;
  using Reasons = std::vector<std::pair<std::string, std::size_t>>;  // reason and number of nodes
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
  const QuotaAndNodePreemption fullNodeRules_;
  PodPreemption fullNodePreemption_;
  QuotaController controller_;
};

}  // namespace koord::scheduler
