#pragma once

// Reservation: schedules reservations as if they were pods, keeps their resources for the pods that
// own them, and gives the resources to those pods.
//
// matcher.h decides which pods may use which reservation, reservation_index.h caches the
// reservations, ledger.h records their use. This class is the plugin: what it does at each
// extension point.

#include "scheduler/framework/controller.h"
#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/reservation/controller.h"
#include "scheduler/plugins/reservation/matcher.h"
#include "scheduler/plugins/reservation/offers.h"
#include "scheduler/plugins/reservation/pre_allocation.h"
#include "scheduler/plugins/reservation/selector_index.h"
#include "scheduler/preemption/pod_preemption.h"

namespace koord::scheduler {

// The rules of the plugin's own preemption, for pods and for reservations: every pod of lower
// priority that may be preempted is a possible victim.
class ReservationPreemptionRules final : public PreemptionRules {
 public:
  std::string preemptionBlockedReason(const PodInfo& preemptor) const override {
    return neverPreempts(preemptor) ? kNever : "";
  }
  bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const override;
};

class ReservationPlugin final : public Plugin,
                                public Signed,
                                public Changing,
                                public ViewPlugin,
                                public PreFilterPlugin,
                                public FilterPlugin,
                                public PostFilterPlugin,
                                public AfterPostFilterPlugin,
                                public PreScorePlugin,
                                public ScorePlugin,
                                public ReservePlugin,
                                public TentativePlugin,
                                public PreBindPlugin,
                                public BindPlugin,
                                public EnqueueExtensions,
                                public RemedyPlugin,
                                public PodFactsPlugin,
                                public MetricsPlugin,
                                public ServicePlugin,
                                public ControllerPlugin,
                                public ReservationsOffer {
 public:
  static constexpr std::string_view kName = "Reservation";
  static constexpr const char* kNoneMatches = "node(s) no reservations match reservation affinity";
  ReservationPlugin(Handle& handle, const ReservationArgs& args);
  ~ReservationPlugin() override;
  std::string_view name() const override { return kName; }
  // PreBind acts on reserve pods only, which have no shape.
  PluginPoints skippedPoints(const PodInfo&) const override { return when::kPreBind; }

  // plugin.cc
  void sign(const PodInfo& pod, Signature& signature) const override;
  // Owners may be selected by name.
  bool shapeDeterminesSignature() const override { return true; }
  bool shapeStillDetermines() const override { return index_.owners().empty(); }
  std::uint64_t epoch(const CycleState& state, const PodInfo& pod) const override;
  std::uint64_t preFilterEpoch(const PodInfo& pod) const override;
  bool hasCredits(const PodInfo& pod) const override;
  const NodeSet* creditNodes(const PodInfo& pod) const override;
  bool addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const override;
  std::vector<std::pair<NodeId, PodPtr>> hidden(const PodInfo& pod) const override;
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  std::vector<EventRegistration> eventsToRegister() const override;

  // filter.cc
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;

  // nominate.cc
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Highest; }
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  void unreserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  bool writesAnnotations() const override { return true; }
  bool binds(const PodInfo& unit) const override { return index_.isReservePod(unit); }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override;

  // post_filter.cc
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  void afterPostFilter(CycleState& state, const PodPtr& pod, const Status& status) override;

  // services.cc
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  json::value factsOf(const PodInfo& pod) const override;
  std::string metrics() const override;
  std::vector<Route> routes() override;

  Task<void> run() override;

  // ReservationsOffer
  std::vector<ReservationOnNode> matchedReservations(const PodInfo& pod,
                                                     NodeId node) const override;
  std::vector<ReservationOnNode> otherReservations(const PodInfo& pod, NodeId node) const override;
  std::string nominationOf(const PodInfo& pod, NodeId node, bool counted) const override;
  std::vector<PodPtr> takenOver(const PodInfo& reservePod, NodeId node) const override;
  std::string reservationOf(const std::string& podUid) const override;

 private:
  // filter.cc
  Status filterReservePod(const PodInfo& pod, NodeFilter& nodes) const;
  // Returns true if a reservation with this policy conflicts with another one on the node.
  bool conflicts(AllocatePolicy own, NodeId node) const;
  PreFilterResult preFilterReservePod(const PodInfo& pod) const;
  // The verdict on one node: success or a rejection.
  Status judge(const PodInfo& pod, const PodMatch& match, NodeId node) const;
  // What the reservation lacks for the pod.
  ReservationMatcher::Shortage tryOne(const PodInfo& pod, const PodMatch& match,
                                      const ReservationEntry& reservation, std::size_t matched,
                                      bool counted, bool nominating) const;
  ReservationOnNode shownTo(const ReservationEntry& reservation) const;

  // plugin.cc
  bool addTakeable(const PodInfo& pod, NodeId node, NodeCredit& credit) const;
  ReservationMatcher::Matched openReservations(const PodInfo& pod, NodeId node) const;

  // nominate.cc
  // The reservation of the node that the pod should use; nullptr if none.
  const ReservationEntry* nominate(const PodInfo& pod, NodeId node, bool counted) const;
  std::int64_t preference(const PodInfo& pod, const ReservationEntry& reservation) const;
  Task<void> dropStaleAnnotation(PodPtr pod);
  // Assigns the pod to its reservation, or to a reserve pod the pods that it takes over.
  Status reserveIn(CycleState& state, const PodPtr& pod, NodeId node);
  Status takeOver(CycleState& state, const PodPtr& pod, NodeId node);
  Task<Status> writeTakenOver(PodPtr pod);
  Task<void> dropTakenOver(std::vector<std::string> pods, std::string reservation);
  Task<Result<>> dropTakenOver(std::string uid, api::ObjectKey key, std::string reservation);

  // post_filter.cc
  std::vector<std::string> reasonsFor(const PodInfo& pod, const Diagnosis& diagnosis) const;
  PostFilterResult preempt(CycleState& state, const PodPtr& pod, const Diagnosis& diagnosis);

  // services.cc
  json::object describe(const ReservationEntry& reservation) const;
  Result<json::value> nodeReservations(const std::string& node) const;
  Result<json::value> reservationNamed(const std::string& name) const;
  Result<json::value> explain(const std::string& namespaceAndName) const;
  json::value explainPod(const PodInfo& pod) const;
  std::string unusedReason(const PodInfo& pod, const PodMatch& match,
                           const ReservationEntry& reservation, bool& matched) const;
  std::string notOnNodeReason(const PodInfo& pod, NodeId node) const;

  std::uint64_t podsEpoch() const;
  const std::vector<ReservationFilterOffer*>& filters() const;
  const std::vector<ReservationScoreOffer*>& scorers() const;

  Handle& handle_;
  Cluster& cluster_;
  ReservationIndex& index_;
  const ReservationArgs args_;
  ReservationMatcher matcher_;
  const PreAllocation preAllocation_;
  SelectorIndex selectorIndex_;
  const ReservationPreemptionRules rules_;
  PodPreemption preemption_;
  // Of the profile; set at first use, when the profile is complete.
  mutable std::optional<std::vector<ReservationFilterOffer*>> filters_;
  mutable std::optional<std::vector<ReservationScoreOffer*>> scorers_;
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
