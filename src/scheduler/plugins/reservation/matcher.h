#pragma once

// ReservationMatcher: which reservations a pod may use, and which of them have enough free
// resources.
//
// An attempt asks about one pod on many nodes. The part of the answer that depends on the pod only
// (its affinity, the lists of owners that select it) is therefore computed once and cached for the
// last pod.

#include <boost/container/small_vector.hpp>
#include <functional>

#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/reservation_index.h"
#include "scheduler/plugins/reservation/reservation_request.h"

namespace koord::scheduler {

// The pod's request of one resource.
struct WantedAmount {
  ResourceId id = 0;
  std::int64_t amount = 0;
};

// The part that depends on the pod only.
struct PodMatch {
  std::shared_ptr<const api::Pod> pod;
  ReservationRequest reservationRequest;
  std::vector<OwnersId> owners;
  NodeSet nodes;                     // the nodes with reservations that select the pod as owner
  api::ResourceList requests;        // for exact matches only
  std::vector<WantedAmount> wanted;  // without ignored resources
  bool matchesAnything() const { return reservationRequest.ignoresReservations || !owners.empty(); }
  // Returns false if the node certainly has no reservation for the pod.
  bool mayMatchOn(NodeId node) const {
    return reservationRequest.ignoresReservations || nodes.contains(node);
  }
};

// Why the pod cannot use a reservation that selects it as owner.
enum class MatchVerdict : std::uint8_t {
  Matched,
  NotOwner,
  OtherName,
  NotExact,
  Unschedulable,
  Taint,
  Affinity,
};

class ReservationMatcher {
 public:
  // omitNodeLabels: the affinity is matched with labels of reservations only.
  ReservationMatcher(const ReservationIndex& index, const Cluster& cluster, ReservationArgs args,
                     bool omitNodeLabels)
      : index_(index), cluster_(cluster), args_(std::move(args)), omitNodeLabels_(omitNodeLabels) {}

  // Returns true if the pod certainly neither asks for reservations nor is selected by any. Always
  // fast, unlike of().
  bool willSkipScore(const PodInfo& pod) const {
    return pod.shape != 0 && index_.owners().empty() && !requestsReservation(pod);
  }
  // The reference is valid until the next call with another pod.
  const PodMatch& of(const PodInfo& pod) const;

  // Sets `taint` if the verdict is Taint.
  MatchVerdict judge(const PodMatch& match, const ReservationEntry& reservation,
                     const api::Taint** taint = nullptr) const;
  // Like judge(), for a reservation that could be placed on the node; does not check the owners.
  MatchVerdict judgeRequest(const PodMatch& match, const ReservationEntry& reservation, NodeId node,
                            const api::Taint** taint = nullptr) const;
  using Matched = boost::container::small_vector<const ReservationEntry*, 4>;
  // The reservations of the node that the pod may use.
  Matched matchedOn(const PodMatch& match, NodeId node) const;

  // --- Whether the resources suffice.
  // `counted`: the node's requests already include the pod.
  struct Shortage {
    boost::container::small_vector<std::string, 2> ofNode;         // names of resources
    boost::container::small_vector<std::string, 2> ofReservation;  // reasons
    bool none() const { return ofNode.empty() && ofReservation.empty(); }
  };
  // Compares with what is left of the reservation and of the node. `matched`: the number of
  // reservations of the node that the pod may use; their reserve pods do not count against it.
  Shortage shortage(const PodMatch& match, const PodInfo& pod, const ReservationEntry& reservation,
                    std::size_t matched, bool counted) const;
  // Compares with the node alone.
  Shortage shortageOfNode(const PodMatch& match, const PodInfo& pod, NodeId node,
                          std::size_t matched, bool counted) const;
  // Returns true if the reservation has any resource that the pod requests.
  bool concerns(const PodMatch& match, const ReservationEntry& reservation) const;
  bool concerns(const PodInfo& pod, const ReservationEntry& reservation) const;
  // Why requests of this size and number of pods exceed what is left of the reservation; empty if
  // they fit.
  std::vector<std::string> shortageWithin(const ReservationEntry& reservation,
                                          const Resources& amount, std::size_t pods) const;
  // 0 to 100: the utilization of the reservation with the pod.
  std::int64_t fullness(const PodInfo& pod, const ReservationEntry& reservation) const;

 private:
  bool matchesAffinity(const PodMatch& match, const ReservationEntry& reservation,
                       NodeId node) const;
  // `reservation`: nullptr for the node alone.
  void addNodeShortage(const PodMatch& match, const PodInfo& pod, NodeId node,
                       const ReservationEntry* reservation, std::size_t matched, bool counted,
                       Shortage& shortage) const;
  void addReservationShortage(const Resources& amount, std::size_t pods,
                              const ReservationEntry& reservation, bool detailed,
                              Shortage& shortage) const;

  const ReservationIndex& index_;
  const Cluster& cluster_;
  const ReservationArgs args_;
  const bool omitNodeLabels_;
  // Returns true if the pod asks for reservations.
  bool requestsReservation(const PodInfo& pod) const {
    return shapesWithRequest_.of(pod, [&] { return ReservationRequest::isThere(*pod.pod); });
  }
  // Recomputes last_.nodes if the reservations have changed.
  void findNodes() const;

  mutable ByShape<bool> shapesWithRequest_;
  mutable PodMatch last_;
  mutable bool hasRequest_ = false;         // the pod of last_ requests reservations
  mutable std::uint64_t lastOwners_ = 0;    // version of the index
  mutable std::vector<OwnersId> nodesFor_;  // the lists whose nodes last_ has
  mutable std::uint64_t lastPlaces_ = 0;    // version of the book
};

// "Reservation(s) Insufficient cpu"
std::string reservationReason(std::string_view text);
bool isReservationReason(std::string_view reason);

}  // namespace koord::scheduler
