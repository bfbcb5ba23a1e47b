#pragma once

// ReservationLedger: which pods use which reservation, and how much of it.
//
// There are two kinds of grants. An owner's grant names the reservation that it uses; it comes from
// Reserve or from the pod's annotation. A reserve pod's grant says how much of it the owners use,
// and is computed from the owners: per resource the smaller of what it reserves and what they
// request. That amount of the reserve pod is covered, so that its node counts the larger of the two
// and not the sum.
//
// An owner uses a reservation if both are on the same node. An annotation that names a reservation
// on another node is kept without effect.

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
  std::string reservation;  // uid of the reservation that the pod uses; "" for a reserve pod
  std::string name;         // of the reservation, from the annotation
  Resources used;           // of a reserve pod: the amount that its owners use

  const Resources* covered() const { return reservation.empty() ? &used : nullptr; }
  bool operator==(const ReservationShare&) const = default;
};

// The use of one reservation.
struct ReservationUse {
  // The node on which the reserve pod is bound and counted, not only assumed; kNoNode if none.
  NodeId node = kNoNode;
  struct Owner {
    NodeId node = kNoNode;
    Resources requests;
  };
  std::map<std::string, Owner> pods;  // by uid; all pods that name the reservation
  // Of the pods on its node:
  std::size_t owners = 0;
  Resources requests;

  bool counted() const { return node != kNoNode; }
};

class ReservationLedger final : public LedgerOf<ReservationShare> {
 public:
  // `kind` is the kind of the reserve pods.
  explicit ReservationLedger(const UnitKind& kind) : kind_(kind) {}
  std::string_view name() const override { return "reservations"; }
  // A promised share is granted at once, so a later read need not find it.
  bool hasNothingToRead(const PodInfo& pod) const override;

  // The entry stays until release().
  const ReservationUse& keep(const std::string& reservation);
  // Also reverts the shares that the reservation has promised.
  void release(Cluster& cluster, const std::string& reservation);
  // nullptr if the ledger has no entry for it.
  const ReservationUse* find(const std::string& reservation) const;
  // Gives shares to pods that a reservation is taking over before their annotations are written. A
  // share stays until the annotation is seen or withdraw() reverts it.
  void grantShare(Cluster& cluster, const std::string& pod, ReservationShare share);
  // Reverts all shares that the reservation has promised. Returns the uids of the pods.
  std::vector<std::string> withdraw(Cluster& cluster, const std::string& reservation);
  const std::map<std::string, ReservationShare>& promises() const { return grantedShares_; }

  // Increases with every change.
  std::uint64_t version() const { return version_; }

  // Called with the uid of a reservation when its owners change or are read again, in simulations
  // too.
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

  // Returns true for a pod that reserves resources: a reserve pod or a pod in operating mode.
  bool reserves(const PodInfo& pod) const;
  void changed(const std::string& reservation);
  void recount(ReservationUse& use) const;
  void dropUnusedEntry(const std::string& reservation);
  static Resources usedOf(const PodInfo& reservePod, const ReservationUse& use);

  const UnitKind& kind_;
  std::unordered_map<std::string, Kept> uses_;
  std::map<std::string, ReservationShare> grantedShares_;  // by the pod's uid
  std::vector<std::string> unsettled_;
  std::uint64_t version_ = 0;
};

}  // namespace koord::scheduler
