#pragma once

// ReservationMatcher: which reservations a pod may use, and which of them fit.
//
// A pod's part in the answer (its wishes, the lists of owners that select it) is worked out once and
// kept for the pod that was asked about last, since an attempt asks about one pod on many nodes.

#include <boost/container/small_vector.hpp>
#include <functional>

#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/book.h"
#include "scheduler/plugins/reservation/wish.h"

namespace koord::scheduler {

// What a pod asks for of one resource.
struct WantedAmount {
  ResourceId id = 0;
  std::int64_t amount = 0;
};

// What is known of a pod before any reservation is looked at.
struct PodMatch {
  std::shared_ptr<const api::Pod> pod;
  ReservationWish wish;
  std::vector<OwnersId> owners;
  NodeSet nodes;                     // where reservations are that select it as owner
  api::ResourceList requests;        // for exact matches only
  std::vector<WantedAmount> wanted;  // without what is ignored
  bool matchesAnything() const { return wish.ignoresReservations || !owners.empty(); }
  // False: certainly none.
  bool mayMatchOn(NodeId node) const { return wish.ignoresReservations || nodes.contains(node); }
};

// Why a reservation that selects the pod as owner is not for it.
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
  // omitNodeLabels: affinity sees labels of reservations only.
  ReservationMatcher(const ReservationBook& book, const Cluster& cluster, ReservationArgs args,
                     bool omitNodeLabels)
      : book_(book), cluster_(cluster), args_(std::move(args)), omitNodeLabels_(omitNodeLabels) {}

  // Whether the pod surely says nothing about reservations, and none anything about it. Fast, where of()
  // may not be.
  bool indifferent(const PodInfo& pod) const {
    return pod.shape != 0 && book_.owners().empty() && !wishes(pod);
  }
  // Good until the next call with another pod.
  const PodMatch& of(const PodInfo& pod) const;

  // `taint` is set with the verdict Taint.
  MatchVerdict judge(const PodMatch& match, const ReservationEntry& reservation,
                     const api::Taint** taint = nullptr) const;
  // The same of a reservation that could be on the node, without asking who its owners are.
  MatchVerdict judgeWish(const PodMatch& match, const ReservationEntry& reservation, NodeId node,
                         const api::Taint** taint = nullptr) const;
  using Matched = boost::container::small_vector<const ReservationEntry*, 4>;
  // Those of the node that the pod may use.
  Matched matchedOn(const PodMatch& match, NodeId node) const;

  // --- Whether it fits. `counted`: the pod is on the node already and counted there.
  struct Shortage {
    boost::container::small_vector<std::string, 2> ofNode;         // names of resources
    boost::container::small_vector<std::string, 2> ofReservation;  // reasons
    bool none() const { return ofNode.empty() && ofReservation.empty(); }
  };
  // With what is left of the reservation and of the node. `matched`: how many reservations of the
  // node the pod may use, whose reserve pods are not in its way.
  Shortage shortage(const PodMatch& match, const PodInfo& pod, const ReservationEntry& reservation,
                    std::size_t matched, bool counted) const;
  // Of the node alone.
  Shortage shortageOfNode(const PodMatch& match, const PodInfo& pod, NodeId node,
                          std::size_t matched, bool counted) const;
  // Whether the reservation has anything that the pod asks for.
  bool concerns(const PodMatch& match, const ReservationEntry& reservation) const;
  bool concerns(const PodInfo& pod, const ReservationEntry& reservation) const;
  // Why so much, of so many pods, is more than what is left of the reservation; nothing when it fits.
  std::vector<std::string> shortageWithin(const ReservationEntry& reservation,
                                          const Resources& amount, std::size_t pods) const;
  // 0 to 100: how full it would be.
  std::int64_t fullness(const PodInfo& pod, const ReservationEntry& reservation) const;

 private:
  bool matchesAffinity(const PodMatch& match, const ReservationEntry& reservation,
                       NodeId node) const;
  // `reservation`: nullptr is the node alone.
  void addNodeShortage(const PodMatch& match, const PodInfo& pod, NodeId node,
                       const ReservationEntry* reservation, std::size_t matched, bool counted,
                       Shortage& shortage) const;
  void addReservationShortage(const Resources& amount, std::size_t pods,
                              const ReservationEntry& reservation, bool detailed,
                              Shortage& shortage) const;

  const ReservationBook& book_;
  const Cluster& cluster_;
  const ReservationArgs args_;
  const bool omitNodeLabels_;
  // Whether the pod says something about reservations.
  bool wishes(const PodInfo& pod) const {
    return wishes_.of(pod, [&] { return ReservationWish::isThere(*pod.pod); });
  }
  // Finds the nodes anew where that is needed.
  void findNodes() const;

  mutable ByShape<bool> wishes_;
  mutable PodMatch last_;
  mutable bool wished_ = false;             // last_.wish says something
  mutable std::uint64_t lastOwners_ = 0;    // version of the index
  mutable std::vector<OwnersId> nodesFor_;  // whose nodes last_ has
  mutable std::uint64_t lastPlaces_ = 0;    // version of the book
};

// "Reservation(s) Insufficient cpu"
std::string reservationReason(std::string_view text);
bool isReservationReason(std::string_view reason);

}  // namespace koord::scheduler
