#pragma once

// GPUs for two plugins: a DRA driver publishes the GPUs of Devices (features/devices.h) and parts
// of them in ResourceSlices, and some pods get them by resource claims. Slices are replaced by
// those of a new generation. Needs the feature "devices".
//
// Invariant: no GPU that a claim has, whole or in part, is allocated to a pod by DeviceShare.

#include "simulation/features/dynamic_resources.h"
#include "simulation/features/plain_devices.h"

namespace koord::simulation {

class SharedGpusFeature final : public DynamicResourcesFeature {
 public:
  SharedGpusFeature(const Surroundings& world, Random random);
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void act() override;
  void quiet() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void bound(const api::Pod& pod, const Choice& choice) override;

 private:
  void publish(const std::string& node);
  void allocated(const api::ResourceClaim& claim) override;
  void deallocated(const api::ResourceClaim& claim) override;
  // The claims with something of these GPUs of the node, by name.
  std::vector<ClaimObject> claimsOn(const std::string& node, const std::set<int>& minors) const;

  kube::Informer<api::Device> devices_;
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
