#pragma once

// Resource claims (plugins/dynamicresources): drivers publish pools of devices, replace their
// generations, taint and remove devices; users create claims and templates, share claims, and
// change classes; the claim controller and the eviction by taints run as in a cluster.
//
// Invariants: no device is allocated twice or beyond its capacity and the counters of its pool; an
// allocation is what the claim asks for, and can be reached from the node; it is there and reserved
// for the pod before the pod is bound; a claim with an allocation has its finalizer; what pods had
// that are gone is free.

#include "cluster/controllers/devices/device_taint_eviction.h"
#include "simulation/features/device_plans.h"
#include "simulation/features/dynamic_resources.h"

namespace koord::simulation {

class ClaimsFeature final : public DynamicResourcesFeature {
 public:
  ClaimsFeature(const Surroundings& world, Random random);
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void shape(scheduler::testing::NodeBuilder& node) override;
  void act() override;
  void tick() override;
  void quiet() override { quiet_ = true; }
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void told(const api::Pod& pod) override;
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 private:
  // The claims, slices and classes that a process knows. Without what it chose for the pod.
  static std::shared_ptr<PlainClaims> viewOf(scheduler::Handle& handle, const std::string& without);
  static std::string describe(const api::AllocationResult& allocation);

  // --- Drivers.
  void publish(PoolPlan& pool, bool atOnce);
  void changePool();
  void prepareDevices();
  void collect();
  // --- Users.
  void createClaim();
  void changeClaim();
  void setTemplate(const std::string& namespace_, int number);
  void setClass(const std::string& name);

  // --- What the store shows.
  void allocated(const api::ResourceClaim& claim) override;
  void deallocated(const api::ResourceClaim& claim) override;
  std::string unprepared(const api::Pod& pod) const;
  std::string stale(const api::ResourceClaim& claim) const;

  kube::Informer<api::DeviceTaintRule> rules_;
  cluster::DeviceTaintEviction eviction_;

  std::map<std::string, PoolPlan> pools_;  // by name
  // Devices as they were first published; they do not change.
  std::map<DeviceName, api::SliceDevice> devices_;
  std::set<DeviceName> withdrawn_;  // devices that a driver has not published all the time
  struct Promise {
    std::string process;
    std::string devices;
    std::uint64_t number = 0;
  };
  std::map<std::string, std::vector<Promise>> promises_;  // by the claim's uid
  struct Held {
    std::string process;
    SteadyTime time{};
    std::uint64_t number = 0;
  };
  std::map<std::string, Held> held_;            // by the claim's uid
  std::map<std::string, SteadyTime> released_;  // likewise: when it lost its allocation
  std::map<std::string, int> attempts_;         // that chose a node, by the pod's uid
  int lastClaim_ = 0;
  bool quiet_ = false;
};

}  // namespace koord::simulation
