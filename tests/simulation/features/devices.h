#pragma once

// Devices of nodes (plugins/deviceshare): GPUs, whole and shared, network cards and their virtual
// functions, which appear late, become unhealthy, disappear and come back. Invariants: no part of a
// device is allocated twice or beyond its capacity, no virtual function to two pods, and the
// allocations in annotations are what every process counts.

#include "api/device.h"
#include "simulation/feature.h"
#include "simulation/features/plain_devices.h"

namespace koord::simulation {

class DevicesFeature final : public Feature {
 public:
  DevicesFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"DeviceShare"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void begin() override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void shape(scheduler::testing::NodeBuilder& node) override;
  void shape(api::Reservation& reservation) override;
  void act() override;
  void tick() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void told(const api::Pod& pod) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string check(scheduler::Handle& handle, scheduler::NodeId node) override;

  SteadyTime rulesChanged(const std::string& node) const override {
    const auto changed = changed_.find(node);
    return changed == changed_.end() ? SteadyTime::min() : changed->second;
  }

 private:
  using Device = api::Device;
  using DevicePtr = std::shared_ptr<const Device>;

  api::Device anyDevice(const std::string& node);
  void report(const std::string& node);
  void changeDevice(const Device& device);
  // The node's devices since it was chosen.
  std::vector<DevicePtr> devicesSince(const Choice& choice) const;
  // What all known holders use of a part of a device.
  static std::int64_t sumOf(const std::vector<PodObject>& holders, const DeviceKey& device,
                            const std::string& resource, const std::string& without = "");

  kube::Informer<Device> devices_;
  // By node, oldest first; nullptr: deleted.
  std::map<std::string, std::vector<std::pair<std::int64_t, DevicePtr>>> history_;
  std::map<std::string, api::Device> plans_;   // of nodes
  std::map<std::string, SteadyTime> changed_;  // by node: when its devices were last changed
};

}  // namespace koord::simulation
