#pragma once

// ClaimTable: the resource claims of the cluster and their devices. All profiles share one table.
//
// A claim's allocation comes from one of two sources:
//
//   stored     the claim's status, as the informer delivers it. Our own writes count from the reply
//              on, until the informer delivers that version or a newer version.
//   in flight  a grant of the pod for which the claim is being allocated (ClaimLedger): from
//              Reserve until the binding is observed or the attempt fails. Simulations grant, too.
//
// The devices of a claim count once, whichever source has them. Pods that share a claim whose
// allocation is in flight must wait until it is stored, unless they belong to the same group: its
// members are placed before any of them is bound, so they share the allocation in flight.

#include <list>
#include <map>
#include <set>
#include <unordered_map>

#include "scheduler/engine/grants.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/dynamicresources/allocator/plan.h"
#include "scheduler/plugins/dynamicresources/allocator/usage.h"
#include "scheduler/plugins/dynamicresources/objects.h"

namespace koord::scheduler {

using ResourceClaimPtr = std::shared_ptr<const api::ResourceClaim>;
using AllocationPtr = std::shared_ptr<const api::AllocationResult>;

// True if both have the same devices in the same order.
bool sameDevices(const api::AllocationResult& a, const api::AllocationResult& b);

class ClaimTable {
 public:
  ClaimTable(Store<api::ResourceClaim>& claims, dra::Usage& usage);

  // nullptr if there is no such claim.
  ResourceClaimPtr get(const api::ObjectKey& key) const;
  // Records the object that the API server returned for our own write.
  void written(ResourceClaimPtr claim);
  // nullptr if the allocation of the claim is not in flight.
  AllocationPtr inFlight(const std::string& uid) const;
  // Calls fn(uid, allocation) for every allocation in flight, also of claims that are deleted: an
  // allocation counts until its attempt ends.
  template <class F>
  void forEachInFlight(F&& fn) const {
    for (const auto& [uid, tracked] : byUid_)
      if (tracked.inFlight) fn(uid, tracked.inFlight);
  }
  void addInFlight(const std::string& uid, const AllocationPtr& allocation,
                   const std::string& group);
  void removeInFlight(const std::string& uid);
  // Identifies the allocation that is in flight; 0 if there is none. Never reused.
  std::uint64_t inFlightId(const std::string& uid) const;
  // True if the allocation is in flight for pods of this group only, so that another pod of it may
  // share the allocation. False for pods without a group, "".
  bool sharedBy(const std::string& uid, const std::string& group) const;
  // Equal for claims with equal specs, and for no others. Never 0.
  std::uint64_t specOf(const api::ResourceClaim& claim);
  // The claim that was created for extended resources of the pod; nullptr if there is none. Of
  // several, which only other clients create, the first by name.
  ResourceClaimPtr extendedClaimOf(const api::Pod& pod) const;

 private:
  struct Tracked {
    AllocationPtr stored;
    AllocationPtr inFlight;
    std::size_t holders = 0;       // of inFlight
    std::string group;             // of its holders
    std::uint64_t inFlightId = 0;  // of inFlight; never reused
    AllocationPtr counted;         // in usage_
    std::uint64_t spec = 0;
    bool exists = false;
  };
  void seen(const ResourceClaimPtr& before, const ResourceClaimPtr& after);
  void setStored(const ResourceClaimPtr& claim, const std::string& uid);
  void recount(const std::string& uid);
  void index(const ResourceClaimPtr& claim, bool add);

  Store<api::ResourceClaim>& claims_;
  dra::Usage& usage_;
  std::map<api::ObjectKey, ResourceClaimPtr> written_;
  std::unordered_map<std::string, Tracked> byUid_;
  std::unordered_map<std::string, std::uint64_t> specs_;  // by the spec as JSON
  std::uint64_t lastSpec_ = 0;
  std::uint64_t lastInFlight_ = 0;
  std::unordered_map<std::string, std::set<api::ObjectKey>> extended_;  // by the pod's UID
};

// The writers of a claim, by its UID: one after the other, in the order of arrival.
using ClaimWriters = std::map<std::string, std::list<int>>;
class ClaimWriteLock {
 public:
  ClaimWriteLock(ClaimWriters& writers, const std::string& uid)
      : writers_(writers), claim_(writers.try_emplace(uid).first) {
    place_ = claim_->second.insert(claim_->second.end(), 0);
  }
  ~ClaimWriteLock() {
    claim_->second.erase(place_);
    if (claim_->second.empty()) writers_.erase(claim_);
  }
  ClaimWriteLock(const ClaimWriteLock&) = delete;
  ClaimWriteLock& operator=(const ClaimWriteLock&) = delete;
  bool hasCome() const { return place_ == claim_->second.begin(); }

 private:
  ClaimWriters& writers_;
  ClaimWriters::iterator claim_;
  std::list<int>::iterator place_;
};

// The claims that are being allocated for one pod.
struct ClaimsInFlight {
  struct Promise {
    std::string claim;  // uid
    AllocationPtr allocation;
    std::string group;  // of the pod; members may share the claim. "" if it has none
    bool operator==(const Promise&) const = default;
  };
  std::vector<Promise> promises;
  // nullptr if the claim is not among them.
  const AllocationPtr* of(const std::string& claim) const;
  bool operator==(const ClaimsInFlight&) const = default;
};

// Keeps allocations in flight during its lifetime, for writes that may reach the API server after
// the pod's record is gone. The promises must outlive it and keep their claims.
class KeptInFlight {
 public:
  KeptInFlight(ClaimTable& table, const ClaimsInFlight& promises)
      : table_(table), promises_(promises) {
    for (const auto& promise : promises_.promises)
      table_.addInFlight(promise.claim, promise.allocation, promise.group);
  }
  ~KeptInFlight() {
    for (const auto& promise : promises_.promises) table_.removeInFlight(promise.claim);
  }
  KeptInFlight(const KeptInFlight&) = delete;
  KeptInFlight& operator=(const KeptInFlight&) = delete;

 private:
  ClaimTable& table_;
  const ClaimsInFlight& promises_;
};

class ClaimLedger final : public LedgerOf<ClaimsInFlight> {
 public:
  explicit ClaimLedger(ClaimTable& table) : table_(table) {}
  std::string_view name() const override { return "claims"; }
  bool hasNothingToRead(const PodInfo&) const override { return true; }

 private:
  // The claims of a pod that is observed on its node are stored.
  std::optional<ClaimsInFlight> readValue(const PodInfo&, NodeId, const ClaimsInFlight*) override {
    return std::nullopt;
  }
  void addValue(NodeId node, const PodInfo& pod, const ClaimsInFlight& promises) override;
  void removeValue(NodeId node, const PodInfo& pod, const ClaimsInFlight& promises) override;
  std::string verifyValues(NodeId node, Held held) const override;

  ClaimTable& table_;
};

}  // namespace koord::scheduler
