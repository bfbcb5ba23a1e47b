#pragma once

// DeviceManager: shared by the DynamicResources plugins of all profiles: claims, slices, classes,
// compiled selectors, and the plans of claims. It touches the nodes that must be judged again when
// slices or allocations change.
//
// If a simulation removes pods, their claims stay allocated: the claim controller deallocates a
// claim some time after its last pod is gone, and an attempt in between would preempt others.

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/dynamicresources/allocator/inventory.h"
#include "scheduler/plugins/dynamicresources/allocator/search.h"
#include "scheduler/plugins/dynamicresources/claim_table.h"
#include "scheduler/plugins/dynamicresources/device_links.h"
#include "scheduler/plugins/dynamicresources/extended_claim.h"

namespace koord::scheduler {

class DeviceManager final : private DeviceLinks::Chooser {
 public:
  // compiler must outlive it.
  struct Gates {
    dra::Features features;
    bool taintRules = false;
    bool extendedResources = true;
  };
  DeviceManager(Cluster& cluster, Stores& stores, SharedDevices& shared,
                dra::SelectorCompiler& compiler, const Gates& gates);

  // The manager of the profiles' plugins; throws std::logic_error if no profile has the plugin.
  static DeviceManager& of(Handle& handle);

  using PlanPtr = std::shared_ptr<const Result<dra::Plan>>;
  // The plan for claims without an allocation. Claims of equal specs share it, so that messages of
  // a search may name another claim. The message of a plan that failed names the claim itself.
  PlanPtr planFor(const std::vector<ResourceClaimPtr>& claims);
  // Likewise, for these claims alone.
  PlanPtr ownPlanFor(const std::vector<ResourceClaimPtr>& claims);
  dra::ClassPtr class_(const std::string& name) const { return classes_.get({"", name}); }
  // The class that backs the extended resource; nullptr if none does.
  const api::DeviceClass* backing(ResourceId resource) const {
    return extended_.empty() ? nullptr : extended_.of(cluster_.resources().name(resource));
  }
  // The matcher of the class's devices. Valid until a class changes.
  const dra::Matcher& matcherOf(const api::DeviceClass& class_);
  // The resources that the pod requests and classes back.
  std::vector<BackedResource> backedOf(const PodInfo& pod) const;
  // Rises with every change of a class or a taint rule.
  std::uint64_t classRevision() const { return classRevision_; }
  // Increases when devices that more than one node can reach change, or their use.
  std::uint64_t sharedRevision() const { return sharedRevision_; }

  const dra::Features features;
  dra::Usage usage;
  dra::Inventory inventory;
  dra::Matchers matchers;
  ClaimTable claims;
  ClaimLedger ledger{claims};
  DeviceLinks links;
  ClaimWriters writers;
  // Number of requests that created claims for extended resources.
  std::uint64_t createdClaims = 0;
  std::uint64_t failedClaims = 0;
  dra::MoreTaints moreTaints;  // of DeviceTaintRules; empty if there are none

 private:
  bool hasClaims(const PodInfo& pod) const override;
  DeviceLinks::Chosen chooseFor(const PodInfo& pod, NodeId node) override;
  std::uint64_t choiceEpoch() const override { return sharedRevision_; }
  void setSlice(const dra::SlicePtr& before, const dra::SlicePtr& after);
  void touch(const std::string& node);
  void poolChanged(const dra::PoolKey& pool);
  void readExtended();
  void readRules(Store<api::DeviceTaintRule>& rules);

  Cluster& cluster_;
  const Store<api::DeviceClass>& classes_;
  std::uint64_t classRevision_ = 0;
  std::uint64_t sharedRevision_ = 0;
  // Limit of the requests of cached plans. More means that users write new expressions for every
  // claim.
  static constexpr std::size_t kMaxPlannedRequests = 16384;
  ExtendedResourceClasses extended_;  // empty if the gate is off
  // By class; of the classes that were queried.
  std::map<std::string, dra::MatcherPtr> classMatchers_;
  // By the specs of the claims.
  std::map<std::vector<std::uint64_t>, PlanPtr> plans_;
  std::uint64_t plansOf_ = 0;  // the class revision
  std::size_t plannedRequests_ = 0;
};

}  // namespace koord::scheduler
