#pragma once

// ClaimTable: the resource claims of the cluster and which devices they have. All profiles share
// one.
//
// A claim's allocation comes from one of two places:
//
//   stored     the claim's status, as the informer delivers it. What we have written ourselves
//              counts from the reply on, until the informer delivers that version or a newer one.
//   in flight  a grant of the pod for which the claim is being allocated (ClaimLedger): from
//              Reserve until the binding is observed or the attempt fails. Simulations grant, too.
//
// The devices of a claim count once, whichever of the two has them. Pods that share a claim whose
// allocation is in flight must wait until it is stored.

#include <unordered_map>

#include "scheduler/engine/grants.h"
#include "scheduler/framework/stores.h"
#include "scheduler/plugins/dynamicresources/allocator/plan.h"
#include "scheduler/plugins/dynamicresources/allocator/usage.h"
#include "scheduler/plugins/dynamicresources/objects.h"

namespace koord::scheduler {

using ResourceClaimPtr = std::shared_ptr<const api::ResourceClaim>;
using AllocationPtr = std::shared_ptr<const api::AllocationResult>;

class ClaimTable {
 public:
  ClaimTable(Store<api::ResourceClaim>& claims, dra::Usage& usage);

  // nullptr if there is no such claim.
  ResourceClaimPtr get(const api::ObjectKey& key) const;
  // Notes an object that the API server returned for a write of ours.
  void written(ResourceClaimPtr claim);
  // nullptr if the allocation of the claim is not in flight.
  AllocationPtr inFlight(const std::string& uid) const;
  void addInFlight(const std::string& uid, const AllocationPtr& allocation);
  void removeInFlight(const std::string& uid);
  // Whether a simulation has removed all users of the claim. Its stored allocation does not count
  // then.
  void setVacated(const std::string& uid, bool vacated);
  // Equal for claims with equal specs, and for no others. Never 0.
  std::uint64_t specOf(const api::ResourceClaim& claim);

 private:
  struct Tracked {
    AllocationPtr stored;
    AllocationPtr inFlight;
    std::size_t holders = 0;  // of inFlight
    AllocationPtr counted;    // in usage_
    std::uint64_t spec = 0;
    bool exists = false;
    bool vacated = false;
  };
  void seen(const ResourceClaimPtr& before, const ResourceClaimPtr& after);
  void setStored(const ResourceClaimPtr& claim, const std::string& uid);
  void recount(const std::string& uid);

  Store<api::ResourceClaim>& claims_;
  dra::Usage& usage_;
  std::map<api::ObjectKey, ResourceClaimPtr> written_;
  std::unordered_map<std::string, Tracked> byUid_;
  std::unordered_map<std::string, std::uint64_t> specs_;  // by the spec as JSON
  std::uint64_t lastSpec_ = 0;
};

// Keeps an allocation in flight during its lifetime, for a write that may reach the API server after
// the pod's record is gone.
class KeptInFlight {
 public:
  KeptInFlight(ClaimTable& table, std::string uid, const AllocationPtr& allocation)
      : table_(table), uid_(std::move(uid)) {
    table_.addInFlight(uid_, allocation);
  }
  ~KeptInFlight() { table_.removeInFlight(uid_); }
  KeptInFlight(const KeptInFlight&) = delete;
  KeptInFlight& operator=(const KeptInFlight&) = delete;

 private:
  ClaimTable& table_;
  const std::string uid_;
};

// The claims that are being allocated for one pod.
struct ClaimPromises {
  struct Promise {
    std::string claim;  // uid
    AllocationPtr allocation;
    bool operator==(const Promise&) const = default;
  };
  std::vector<Promise> promises;
  bool operator==(const ClaimPromises&) const = default;
};

class ClaimLedger final : public LedgerOf<ClaimPromises> {
 public:
  explicit ClaimLedger(ClaimTable& table) : table_(table) {}
  std::string_view name() const override { return "claims"; }
  bool hasNothingToRead(const PodInfo&) const override { return true; }

 private:
  // The claims of a pod that is observed on its node are stored.
  std::optional<ClaimPromises> readValue(const PodInfo&, NodeId, const ClaimPromises*) override {
    return std::nullopt;
  }
  void addValue(NodeId node, const PodInfo& pod, const ClaimPromises& promises) override;
  void removeValue(NodeId node, const PodInfo& pod, const ClaimPromises& promises) override;
  std::string verifyValues(NodeId node, Held held) const override;

  ClaimTable& table_;
};

}  // namespace koord::scheduler
