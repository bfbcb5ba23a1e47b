#pragma once

// NodeNUMAResource: allocates exclusive CPUs to pods, and places CPUs, amounts and devices on as
// few NUMA nodes as the policies of pods and nodes demand.
//
// NumaTable has the nodes and allocations, NumaDemand a pod's request, NumaCapacity decides whether
// and how it fits, and chooseNuma merges the hints of several plugins. This class is the plugin:
// what it does at each extension point. Only the grant is kept from one step of an attempt to the
// next: every step computes its input from the current pod and node.

#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/nodenumaresource/args.h"
#include "scheduler/plugins/nodenumaresource/numa_capacity.h"
#include "scheduler/plugins/nodenumaresource/numa_policy.h"
#include "scheduler/plugins/reservation/offers.h"

namespace koord::scheduler {

class NodeNumaResource final : public Plugin,
                               public Signed,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public ReservePlugin,
                               public TentativePlugin,
                               public PreBindPlugin,
                               public EnqueueExtensions,
                               public NumaHintProvider,
                               public NumaAffinityOffer,
                               public ReservationFilterOffer,
                               public RemedyPlugin,
                               public PodFactsPlugin,
                               public MetricsPlugin,
                               public ServicePlugin {
 public:
  static constexpr std::string_view kName = "NodeNUMAResource";
  NodeNumaResource(Handle& handle, const NodeNUMAResourceArgs& args);
  ~NodeNumaResource() override;
  std::string_view name() const override { return kName; }

  // plugin.cc
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override {
    CycleState none;
    return reserve(none, pod, node);
  }
  void unreserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;

  // filter.cc
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                           NodeId node) override;

  // hints.cc
  NumaHints numaHints(const PodInfo& pod, NodeId node) override;
  Status checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) override;
  std::optional<NumaMask> affinityOf(const PodInfo& pod, NodeId node) override;
  std::optional<NumaMask> knownAffinity(const PodInfo& pod, NodeId node) override;

  // score.cc
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  const ScorePlugin* scoreAlias(const PodInfo& pod) const override;
  bool scoresEqualAlias(const CycleState& state, std::span<const NodeId> nodes) const override;

  // services.cc
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  json::value factsOf(const PodInfo& pod) const override;
  std::string metrics() const override;
  std::vector<Route> routes() override;

 private:
  // Where a pod's CPUs and amounts on a node may come from.
  struct Source {
    std::string reservation;  // uid; "": unreserved resources
    NumaCapacityTerms terms;
  };

  // Valid until the next call with another pod.
  const NumaDemand& demandOf(const PodInfo& pod) const;
  // The pod's policy or the node's; nullopt if they contradict each other.
  static std::optional<NumaPolicy> policyOf(const NumaDemand& demand, const NumaNode& node);
  NumaStrategy strategyOf(const NumaNode& node) const {
    return node.strategy.value_or(args_.numaScoringStrategy.type ==
                                          ScoringStrategy::Type::MostAllocated
                                      ? NumaStrategy::MostAllocated
                                      : NumaStrategy::LeastAllocated);
  }

  // filter.cc
  void filterSome(const CycleState& state, const PodInfo& pod, const NumaDemand& demand,
                  NodeFilter& nodes) const;
  Status judge(const PodInfo& pod, const NumaDemand& demand, NodeId node,
               const NodeCredit* credit) const;
  Status judgeAmplified(const NumaDemand& demand, NodeId node, const NodeCredit* credit,
                        bool binds) const;
  Status judgeBinding(const NumaDemand& demand, const NumaNode& about) const;
  Status judgeAny(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                  NumaMask affinity) const;
  Status judgeDesignated(const PodInfo& pod, const NumaDemand& demand, NodeId node) const;

  // sources.cc
  // In the order in which they are tried. `only`: this reservation, if set.
  std::vector<Source> sourcesOf(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                                const std::string* only = nullptr) const;
  // All that the pod could get from any of them.
  NumaCapacityTerms everything(const PodInfo& pod, NodeId node,
                               const std::vector<Source>& sources) const;
  const ReservationsOffer* reservations() const;

  // hints.cc
  struct Decision {
    Status status;
    NumaMask mask = kAnyNuma;
  };
  Decision decide(const PodInfo& pod, const NumaDemand& demand, NodeId node) const;
  bool avoids(NodeId node, NumaMask mask) const;
  const std::vector<NumaHintProvider*>& providers() const;

  // plugin.cc
  Status reserveOn(const PodPtr& pod, const NumaDemand& demand, NodeId node);
  NumaCapacityTaken allocate(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                             NumaMask affinity, const std::string* reservation) const;
  Hint onNode(const PodInfo& pod, const std::string& name) const;
  static NumaMask maskOf(const NumaGrant& grant);
  std::string takenMeanwhile(const PodInfo& pod, const NumaGrant& grant, NodeId node) const;

  // score.cc
  std::int64_t scoreOf(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                       const NodeCredit* credit);
  void scorePlain(const NumaDemand& demand, std::span<const NodeId> nodes,
                  std::span<std::int64_t> scores) const;
  // What pods of the node request, without what is credited to the pod that is scored.
  std::int64_t usedOf(ResourceId id, NodeId node, const NodeCredit* credit) const;
  // usedCpu: milli-CPUs in use; without it what is requested, with bound CPUs amplified.
  std::int64_t scoreWhole(const NumaDemand& demand, NodeId node, const NodeCredit* credit,
                          std::optional<std::int64_t> usedCpu) const;

  // services.cc
  json::array freest(const PodInfo& pod, const NumaDemand& demand) const;
  Result<json::value> describe(const std::string& name) const;

  // reasons.cc
  std::string reasonFor(const NumaDemand& demand, NodeId node, const NumaGrant& grant) const;
  std::string wouldGet(const PodInfo& pod, const NumaDemand& demand, NodeId node) const;

  Handle& handle_;
  Cluster& cluster_;
  const NodeNUMAResourceArgs args_;
  const CpuBindPolicy defaultBind_;
  NumaTable& table_;
  const ZoneScorer nodeScorer_;
  const ZoneScorer zoneScorer_;
  mutable CpuAccumulator accumulator_;
  mutable ByShape<NumaDemand> demands_;
  // Of the profile; set at first use, when the profile is complete.
  mutable std::optional<std::vector<NumaHintProvider*>> providers_;
  mutable std::optional<const ReservationsOffer*> reservations_;
};

}  // namespace koord::scheduler
