#pragma once

// ReservationLedger: who uses which reservation, and how much of it.
//
// Two kinds of grants. An owner's says which reservation it uses; it comes from Reserve, or from the
// pod's annotation. A reserve pod's says how much of it its owners use, and follows from the owners:
// per resource the smaller of what it reserves and what they request. That much of the reserve pod
// is covered, so that its node counts the larger of the two and not the sum.
//
// An owner uses a reservation where both are on the same node; what an annotation says of a
// reservation elsewhere is kept, and means nothing.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/grants.h"

namespace koord::scheduler {

class UnitKind;

struct ReservationShare {
  std::string reservation;  // uid: the one that the pod uses; "" for a reserve pod
  std::string name;         // of the reservation, as the annotation says it
  Resources used;           // of a reserve pod: by its owners

  const Resources* covered() const { return reservation.empty() ? &used : nullptr; }
  bool operator==(const ReservationShare&) const = default;
};

// What is known of one reservation.
struct ReservationUse {
  // The node on which the reserve pod is counted and can be used: it is bound, and not only chosen.
  NodeId node = kNoNode;
  struct Owner {
    NodeId node = kNoNode;
    Resources requests;
  };
  std::map<std::string, Owner> pods;  // by uid; all that name it
  // Of those on its node:
  std::size_t owners = 0;
  Resources requests;

  bool counted() const { return node != kNoNode; }
};

class ReservationLedger final : public LedgerOf<ReservationShare> {
 public:
  // `kind` is that of reserve pods.
  explicit ReservationLedger(const UnitKind& kind) : kind_(kind) {}
  std::string_view name() const override { return "reservations"; }
  // What is promised is granted at once.
  bool silent(const PodInfo& pod) const override;

  // Lives on until release().
  const ReservationUse& keep(const std::string& reservation);
  // What it has promised is taken back.
  void release(Cluster& cluster, const std::string& reservation);
  // nullptr when nothing is known of it.
  const ReservationUse* find(const std::string& reservation) const;
  // Pods that a reservation is taking over: each has its share, though nothing is written down yet. Until
  // the annotation is seen, or it is taken back.
  void promise(Cluster& cluster, const std::string& pod, ReservationShare share);
  // Takes back all that the reservation has promised: to these.
  std::vector<std::string> withdraw(Cluster& cluster, const std::string& reservation);
  const std::map<std::string, ReservationShare>& promises() const { return promises_; }

  // Rises with every change.
  std::uint64_t version() const { return version_; }

  // Called with the uid of a reservation whose owners have changed or were seen anew, what-if
  // changes included.
  std::function<void(const std::string& reservation)> onChange;

 private:
  void settleNow(Cluster& cluster);
  struct Kept {
    ReservationUse use;
    bool pinned = false;
  };

  std::optional<ReservationShare> readValue(const PodInfo& pod, NodeId node,
                                            const ReservationShare* held) override;
  void addValue(NodeId node, const PodInfo& pod, const ReservationShare& share) override;
  void removeValue(NodeId node, const PodInfo& pod, const ReservationShare& share) override;
  std::string verifyValues(NodeId node, Held held) const override;
  bool forget(NodeId node) override;
  bool derives() const override { return true; }
  void settle(Cluster& cluster) override {
    if (!unsettled_.empty()) settleNow(cluster);
  }

  // Whether the pod keeps the room of a reservation: a reserve pod, or one in operating mode.
  bool reserves(const PodInfo& pod) const;
  void changed(const std::string& reservation);
  void recount(ReservationUse& use) const;
  void tidy(const std::string& reservation);
  static Resources usedOf(const PodInfo& reservePod, const ReservationUse& use);

  const UnitKind& kind_;
  std::unordered_map<std::string, Kept> uses_;
  std::map<std::string, ReservationShare> promises_;  // by the pod's uid
  std::vector<std::string> unsettled_;
  std::uint64_t version_ = 0;
};

}  // namespace koord::scheduler
