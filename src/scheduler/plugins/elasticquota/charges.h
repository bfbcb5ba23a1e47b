#pragma once

// Charges: what a pod on a node counts for in its quota. A charge is a grant (engine/grants.h), so
// it exists as long as the pod is on the node, and follows the pod in every simulation. The use of
// a quota is the sum of its charges.
//
// What a node counts once is charged once. For a reserve pod and its owners (plugins/reservation),
// the owners are charged for all of their requests, and the reserve pod for what they leave of it:
// a reservation that is used moves to the quotas of its owners.

#include "scheduler/engine/grants.h"
#include "scheduler/plugins/elasticquota/accounts.h"

namespace koord::scheduler {

class Quotas;

struct Charge {
  AccountPtr account;
  bool fixed = false;                       // the pod is not preemptible
  std::shared_ptr<const Resources> within;  // the part that is already charged; nullptr: none
  bool operator==(const Charge& other) const {
    return account == other.account && fixed == other.fixed &&
           (within && other.within ? *within == *other.within : within == other.within);
  }
};

class ChargeLedger final : public LedgerOf<Charge> {
 public:
  explicit ChargeLedger(Quotas& quotas) : quotas_(quotas) {}
  std::string_view name() const override { return "quotas"; }
  bool readsGrants() const override { return true; }
  GrantPtr readGrants(const PodInfo& pod, const Grants& all) override;
  GrantPtr sharedGrant(Charge charge) override;
  std::size_t charges() const { return charges_; }

 private:
  std::optional<Charge> readValue(const PodInfo& pod, NodeId node, const Charge* held) override;
  bool unchangedValue(const PodInfo&, const Charge&) const override { return true; }
  void addValue(NodeId node, const PodInfo& pod, const Charge& charge) override;
  void removeValue(NodeId node, const PodInfo& pod, const Charge& charge) override;
  std::string verifyValues(NodeId node, Held held) const override;

  // Verifies the sums. Nodes are verified one by one while pods are added and removed, but a
  // quota's pods are on many nodes. The sum over the pods of the verified nodes is kept current;
  // once all nodes are verified, it must equal the accounts.
  struct Sweep {
    NodeSet nodes;
    std::size_t pods = 0;
    boost::unordered_flat_map<Account*, ResourceSums> sums;
  };
  void count(Sweep& sweep, const PodInfo& pod, const Charge& charge, int sign) const;
  std::string compare(const Sweep& sweep) const;

  Quotas& quotas_;
  std::size_t charges_ = 0;
  mutable Sweep sweep_;
};

// The part of the pod's requests that grants of the other ledgers cover; nullptr: none.
std::shared_ptr<const Resources> coveredOf(const Grants& grants);

}  // namespace koord::scheduler
