#pragma once

// Charges: what a pod on a node counts for in its quota. A grant (engine/grants.h), so that it is there
// as long as the pod is, and goes and comes back with it in every what-if question. What a quota uses is
// the sum of charges, and of nothing else.
//
// What is counted once on a node is charged once. Of a reserve pod and its owners (plugins/reservation) the
// owners are charged for all they ask for, and the reserve pod for what they leave of it: a reservation
// that is used moves to the quotas of its owners.

#include "scheduler/engine/grants.h"
#include "scheduler/plugins/elasticquota/accounts.h"

namespace koord::scheduler {

class Quotas;

struct Charge {
  AccountPtr account;
  bool fixed = false;                       // the pod is not to be preempted
  std::shared_ptr<const Resources> within;  // of its requests: charged already; nullptr: nothing
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
  bool staysValue(const PodInfo&, const Charge&) const override { return true; }
  void addValue(NodeId node, const PodInfo& pod, const Charge& charge) override;
  void removeValue(NodeId node, const PodInfo& pod, const Charge& charge) override;
  std::string verifyValues(NodeId node, Held held) const override;

  // Nodes are verified one by one, while pods come and go, but a quota's pods are on many: what the pods
  // of the nodes that have been looked at add up to is kept current until it is all of them. Then it has
  // to be what the accounts say.
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

// What is covered of the pod's requests by grants of all other ledgers; nullptr: nothing.
std::shared_ptr<const Resources> coveredOf(const Grants& grants);

}  // namespace koord::scheduler
