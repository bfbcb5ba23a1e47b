#pragma once

// DynamicResources: allocates the resource claims of pods: finds nodes whose devices satisfy them,
// chooses the devices when a node is chosen, and writes allocation and reservation to the claims
// before the pod is bound. The rules are those of kube-scheduler 1.36.
//
// Pods with equal claim specs form a class, whose answers for a node follow from that node's
// devices, so most attempts search the devices of one node only. Devices that several nodes can
// reach are part of the epoch: when their use changes, all nodes are judged again.
//
// The devices of a pod on its way to its node are grants (claim_table.h).

#include "base/random.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/dynamicresources/args.h"
#include "scheduler/plugins/dynamicresources/manager.h"
#include "scheduler/plugins/dynamicresources/pod_claims.h"

namespace koord::scheduler {

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

 private:
  // What the filter of a class of pods needs.
  struct ClassClaims {
    DeviceManager::PlanPtr plan;  // nullptr if all claims are allocated
    struct Allocated {
      ResourceClaimPtr claim;
      std::optional<api::NodeSelectorMatcher> where;  // absent: everywhere
      bool lost = false;  // its devices failed to become ready, or took too long
    };
    std::vector<Allocated> allocated;
    std::int64_t rank = 0;  // of the allocated claims
  };
  // The claims of one attempt from Reserve on.
  struct Reserved {
    std::vector<ResourceClaimPtr> claims;
    std::vector<AllocationPtr> allocations;  // nullptr of a claim that is allocated already
  };

  bool isLost(const api::ResourceClaim& claim) const;
  // Why the pod cannot use the claim, "" if it can; does not look at nodes.
  std::string problemOf(const api::ResourceClaim& claim, const api::Pod& pod) const;
  Status checkClasses(const api::ResourceClaim& claim) const;
  static bool usableOn(const ClassClaims::Allocated& allocated, const api::Node& node);
  std::function<bool()> deadline() const;
  // Returns true if the claims could be allocated on the node without what DeviceShare has given.
  bool fitsWithoutOthers(const dra::Plan& plan, NodeId node) const;
  Hint hintForClaim(const PodInfo& pod, const ClusterEvent& event) const;
  Hint hintForPod(const PodInfo& pod, const ClusterEvent& event) const;
  Hint hintForGivenDevices(const ClusterEvent& event) const;
  std::string newUid();

  // pre_bind.cc
  Task<Result<ResourceClaimPtr>> bindClaim(ResourceClaimPtr claim, AllocationPtr allocation,
                                           PodPtr pod);
  json::object allocationPatch(const api::ResourceClaim& claim, const AllocationPtr& allocation,
                               const api::Pod& pod) const;
  Task<Result<ResourceClaimPtr>> writeClaim(ResourceClaimPtr claim, json::object patch,
                                            std::string subresource);
  Task<Result<ResourceClaimPtr>> readClaim(api::ObjectKey key);
  Task<Status> waitUntilReady(std::vector<ResourceClaimPtr> claims, PodPtr pod, NodeId node);
  Task<void> releaseClaim(ResourceClaimPtr claim, std::string podUid);
  Task<PostFilterResult> deallocate(ResourceClaimPtr claim);

  Handle& handle_;
  Cluster& cluster_;
  DynamicResourcesArgs args_;
  bool enabled_;
  Random random_;
  DeviceManager* manager_ = nullptr;  // nullptr if disabled
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
