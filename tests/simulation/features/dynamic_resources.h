#pragma once

// DynamicResourcesFeature: what the features with resource claims share: the plugin
// DynamicResources in every process, the claims and slices of the store, and the claim controller.

#include "cluster/controllers/devices/resource_claims.h"
#include "simulation/feature.h"
#include "simulation/features/plain_claims.h"

namespace koord::simulation {

class DynamicResourcesFeature : public Feature {
 public:
  DynamicResourcesFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"DynamicResources"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void start() override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 protected:
  // Called when the store shows that the claim got an allocation, or lost it.
  virtual void allocated(const api::ResourceClaim& claim) = 0;
  virtual void deallocated(const api::ResourceClaim& claim) = 0;
  // By namespace and name.
  std::vector<ClaimObject> sortedClaims() const;
  // The claims that the process knows, with what it has written itself.
  static std::vector<ClaimObject> knownClaims(scheduler::Handle& handle);
  // An allocation that the process has chosen and the store does not show yet. `pod`: for which it
  // was chosen; "" if the pod is gone, and the write is not over.
  struct InFlight {
    std::string claim;  // uid
    std::string pod;    // uid
    AllocationObject allocation;
  };
  // Without those that the process chose for the pod `without`, unless others share them.
  static std::vector<InFlight> inFlight(scheduler::Handle& handle, const std::string& without);

  kube::Informer<api::ResourceClaim> claims_;
  kube::Informer<api::ResourceClaimTemplate> templates_;
  kube::Informer<api::ResourceSlice> slices_;
  kube::EventRecorder events_;
  cluster::ResourceClaimController controller_;

 private:
  void seen(const ClaimObject& before, const ClaimObject& after);
};

}  // namespace koord::simulation
