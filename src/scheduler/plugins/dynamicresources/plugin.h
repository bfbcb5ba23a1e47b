#pragma once

// DynamicResources: allocates the resource claims of pods: finds nodes whose devices satisfy them,
// chooses the devices when a node is chosen, and writes allocation and reservation to the claims
// before the pod is bound. The rules are those of kube-scheduler 1.36.
//
// Pods with equal claim specs form a class, whose answers for a node follow from that node's
// devices, so most attempts search the devices of one node only. Devices that several nodes can
// reach are part of the epoch: when their use changes, all nodes are judged again.
//
// The devices of a pod between Reserve and binding are grants (claim_table.h).
//
// A pod with extended resources that classes back has one more claim, which the scheduler creates
// (extended_claim.h). The node determines which of the resources it covers.

#include "base/random.h"
#include "scheduler/framework/device_backed.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/framework/unlike_choices.h"
#include "scheduler/plugins/dynamicresources/args.h"
#include "scheduler/plugins/dynamicresources/manager.h"
#include "scheduler/plugins/dynamicresources/pod_claims.h"

namespace koord::scheduler {

// True if a claim that may be allocated has the finalizer (pre_bind.cc).
bool hasFinalizer(const api::ResourceClaim& claim);
// The patch that adds or removes the finalizer.
json::object finalizerPatch(const api::ResourceClaim& claim, bool add);

class DynamicResources final : public Plugin,
                               public Signed,
                               public Changing,
                               public PreEnqueuePlugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PostFilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public PlanPlugin,
                               public TentativePlugin,
                               public DeviceBackedResources,
                               public UnlikeChoices,
                               public MetricsPlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "DynamicResources";

  // Reads its gates from the handle.
  DynamicResources(Handle& handle, const DynamicResourcesArgs& args);
  // For tests and benchmarks: enabled, with this compiler. Both must outlive the plugin.
  DynamicResources(Handle& handle, const DynamicResourcesArgs& args,
                   dra::SelectorCompiler& compiler);

  std::string_view name() const override { return kName; }
  PluginPoints skippedPoints(const PodInfo& pod) const override;
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }  // of pods without claims
  std::uint64_t epoch(const CycleState& state, const PodInfo& pod) const override;
  std::uint64_t preFilterEpoch(const PodInfo& pod) const override;
  Status preEnqueue(const PodInfo& pod) override;
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Highest; }
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  void unreserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;
  Plan plan(CycleState& state, const PodPtr& pod) override;
  Status grant(const PodPtr& pod, NodeId node) override;
  bool isBacked(ResourceId resource) const override;
  Devices devicesOn(ResourceId resource, NodeId node) const override;
  bool beginsToBack(const ClusterEvent& event, const PodInfo& pod) const override;
  std::string metrics() const override;
  std::uint64_t demandOf(const PodInfo& pod) const override;

 private:
  using Claims = std::vector<ResourceClaimPtr>;
  // By the resources that devices must provide.
  using Plans = std::map<std::vector<ResourceId>, DeviceManager::PlanPtr>;
  // What the filter of a class of pods needs.
  struct ClassClaims {
    Claims unallocated;
    DeviceManager::PlanPtr plan;  // for these; nullptr if all claims are allocated
    std::vector<BackedResource> backed;
    std::vector<std::string> unbacked;  // other extended resources of a pod with backed ones
    std::unique_ptr<Plans> plans;       // of nodes that lack backed resources
    struct Allocated {
      ResourceClaimPtr claim;
      AllocationPtr allocation;  // stored, or shared with other members of the group
      std::optional<api::NodeSelectorMatcher> where;  // absent: everywhere
      bool lost = false;  // its devices failed to become ready, or timed out
    };
    std::vector<Allocated> allocated;
    std::int64_t rank = 0;  // of the allocated claims
  };
  // The claims of one attempt from Reserve on. The pod's grant has the allocations of claims that
  // are not stored yet.
  struct Reserved {
    Claims claims;
    // True if the last claim is for extended resources; the containers use its requests so.
    bool extended = false;
    api::List<api::ContainerExtendedResourceRequest> mappings;
  };

  AllocationPtr shareOf(const api::ResourceClaim& claim, const PodInfo& pod) const;
  DeviceManager::PlanPtr planOn(const ClassClaims& claims, const PodInfo& pod, NodeId node) const;
  Claims unallocatedOf(const PodInfo& pod) const;
  // The error of a search of the node that failed with `message`. The message may name a claim of
  // another pod of the class, with an equal spec; the result names the pod's own claim.
  Status failureOf(const PodInfo& pod, NodeId node, const std::string& message) const;
  Status choose(const PodInfo& pod, NodeId node, Reserved& reserved, ClaimsInFlight& promises);
  bool isLost(const api::ResourceClaim& claim) const;
  // Why the pod cannot use the claim, "" if it can; ignores nodes.
  std::string problemOf(const api::ResourceClaim& claim, const PodInfo& pod) const;
  Status checkClasses(const api::ResourceClaim& claim) const;
  static bool usableOn(const ClassClaims::Allocated& allocated, const api::Node& node);
  std::function<bool()> deadline() const;
  // Returns true if the claims fit on the node without the hardware that DeviceShare has given.
  bool fitsWithoutOthers(const dra::Plan& plan, NodeId node) const;
  Hint hintForClaim(const PodInfo& pod, const ClusterEvent& event) const;
  Hint hintForPod(const PodInfo& pod, const ClusterEvent& event) const;
  Hint hintForAllocatedDevices(const ClusterEvent& event) const;
  bool hadClaimsInFlight(const PodInfo& gone) const;
  std::string newUid();

  // pre_bind.cc
  static constexpr int kMaxTries = 5;  // of a write that conflicts
  static constexpr std::chrono::milliseconds kPause{10};
  static constexpr std::chrono::milliseconds kLongestPause{1000};
  Task<Result<ResourceClaimPtr>> bindClaim(ResourceClaimPtr claim, AllocationPtr allocation,
                                           bool chosen, PodPtr pod);
  Task<Result<ResourceClaimPtr>> writeBinding(ResourceClaimPtr claim, AllocationPtr allocation,
                                              bool chosen, PodPtr pod);
  Task<ResourceClaimPtr> confirmBinding(ResourceClaimPtr claim, AllocationPtr allocation,
                                        PodPtr pod);
  json::object allocationPatch(const api::ResourceClaim& claim, const AllocationPtr& allocation,
                               const api::Pod& pod) const;
  Task<Result<ResourceClaimPtr>> writeClaim(ResourceClaimPtr claim, json::object patch,
                                            std::string subresource);
  Task<Result<ResourceClaimPtr>> readClaim(api::ObjectKey key);
  Task<Status> waitUntilReady(std::vector<ResourceClaimPtr> claims, PodPtr pod, NodeId node);
  Task<void> releaseClaim(ResourceClaimPtr claim, std::string podUid);
  Task<PostFilterResult> deallocate(ResourceClaimPtr claim);

  // extended.cc
  static constexpr std::string_view kStaleClaim = "cannot schedule extended resource claim";
  ResourceClaimPtr staleClaimOf(const PodInfo& pod) const;
  Task<Result<>> createExtended(Reserved& reserved, ClaimsInFlight& promises, PodPtr pod);
  Task<Result<>> finishExtended(const Reserved& reserved, PodPtr pod);
  Task<Result<>> writeExtendedStatus(PodPtr pod, json::value status);
  Task<Result<>> deleteClaim(ResourceClaimPtr claim);
  Task<void> deleteUnreserved(ResourceClaimPtr claim);
  Task<PostFilterResult> deleteStale(ResourceClaimPtr claim);

  Handle& handle_;
  Cluster& cluster_;
  DynamicResourcesArgs args_;
  bool enabled_;
  Random random_;
  DeviceManager* manager_ = nullptr;  // nullptr if disabled
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
