#pragma once

// GPUs for two plugins: a DRA driver publishes the GPUs of Devices (features/devices.h) and parts
// of them in ResourceSlices, and some pods get them by resource claims. Slices are replaced by
// those of a new generation. Needs the feature "devices".
//
// Invariant: no GPU that a claim has, whole or in part, is allocated to a pod by DeviceShare.

#include "cluster/controllers/devices/resource_claims.h"
#include "simulation/feature.h"
#include "simulation/features/plain_devices.h"

namespace koord::simulation {

class SharedGpusFeature final : public Feature {
 public:
  SharedGpusFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"DynamicResources"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void act() override;
  void quiet() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;

 private:
  using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
  using DevicePtr = std::shared_ptr<const api::Device>;

  void publish(const std::string& node);
  void seen(const ClaimPtr& before, const ClaimPtr& after);
  // The claims with something of these GPUs of the node, by name.
  std::vector<ClaimPtr> claimsOn(const std::string& node, const std::set<int>& minors) const;

  kube::Informer<api::ResourceClaim> claims_;
  kube::Informer<api::ResourceClaimTemplate> templates_;
  kube::Informer<api::ResourceSlice> slices_;
  kube::Informer<api::Device> devices_;
  kube::EventRecorder events_;
  cluster::ResourceClaimController controller_;
  // By node: the minors of all GPUs that its Device ever listed.
  std::map<std::string, std::set<int>> gpus_;
  std::map<std::string, std::int64_t> generations_;  // of pools, by node
  // By the claim's uid: who chose its devices last, and when they were stored.
  struct Choosing {
    std::string process;
    std::uint64_t number = 0;
    SteadyTime stored = SteadyTime::max();
  };
  std::map<std::string, Choosing> choosing_;
  int lastClaim_ = 0;
  std::string lastNamespace_;  // of the last claim
};

}  // namespace koord::simulation
