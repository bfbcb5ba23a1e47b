#pragma once

// A test world with Devices: the default plugins that concern them, or others by configuration.

#include <gtest/gtest.h>

#include "api/codec.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"
#include "scheduler/plugins/deviceshare/plugin.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/reservation_object.h"
#include "scheduler/testing/reservations.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler::testing {

inline constexpr const char* kWithDevices = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: SchedulingHint}, {name: DeviceShare}, {name: Reservation}]}
    score: {enabled: [{name: Reservation, weight: 5000}]}
)";

struct DeviceWorld {
  World world;
  DeviceShare* plugin = nullptr;

  explicit DeviceWorld(const std::string& yaml = kWithDevices, std::uint64_t seed = 1,
                       const std::set<std::string, std::less<>>& gates = {}) {
    world.gates = gates;
    const auto problems = world.configure(makeRegistry(), yaml, seed);
    EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems.front());
    plugin = world.profile().offers<DeviceShare>().front();
  }
  Cluster& cluster() { return world.cluster(); }
  NodeId id(const std::string& node) { return *cluster().findNode(node); }
  const NodeDevices& devices(const std::string& node) {
    return DeviceTable::of(world).rowOf(id(node));
  }

  // 96 CPUs and unlimited amounts of the other resources that the tests request.
  void node(const std::string& name, const api::StringMap& labels = {}) {
    NodeBuilder builder = aNode(name);
    builder.allocatable("cpu", "96").allocatable("memory", "512Gi");
    for (const char* resource :
         {"nvidia.com/gpu", "koordinator.sh/gpu", "koordinator.sh/gpu-core", "koordinator.sh/rdma",
          "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu.shared", "koordinator.sh/fpga",
          "huawei.com/npu-core", "huawei.com/npu-cpu"})
      builder.allocatable(resource, "10000");
    builder.allocatable("koordinator.sh/gpu-memory", "8Ti");
    for (const auto& [key, value] : labels) builder.label(key, value);
    world.node(builder);
  }
  void set(const std::string& node, api::Device device) {
    device.metadata.name = node;
    device.metadata.uid = "uid-device-" + node;
    world.stores().of<api::Device>().set(std::make_shared<const api::Device>(std::move(device)));
  }
  void set(const std::string& node, const DeviceMachine& machine) { set(node, machine.device); }
  void erase(const std::string& node) { world.stores().of<api::Device>().erase({"", node}); }
  void set(const ReservationBuilder& reservation) {
    world.stores().of<api::Reservation>().set(reservation.build());
  }
  // A node with eight GPUs of 16 GiB on four switches.
  void machine(const std::string& name, bool withRdma = false, const api::StringMap& labels = {}) {
    node(name, labels);
    set(name, DeviceMachine::eightGpus(withRdma));
  }

  // Why the filter rejects the node, "" if it does not.
  std::string answer(const PodBuilder& pod, const std::string& node) {
    return world.filter(world.pod(pod))[node];
  }
  // Schedules the pod, binds it and shows it to the scheduler. Returns "node gpu 0,1 rdma 0", or
  // the reason of the failure.
  std::string schedule(const PodBuilder& builder, const std::string& only = "") {
    const PodPtr pod = world.pod(builder);
    CycleState state;
    NodeSet among;
    SearchScope scope;
    if (!only.empty()) {
      among.insert(id(only));
      scope.among = &among;
    }
    const SearchResult found = world.search().find(state, pod, scope);
    if (!found.status.ok()) {
      return found.diagnosis.totalNodes > 0 && found.status.rejected() ? found.diagnosis.message()
                                                                       : found.status.message();
    }
    EXPECT_TRUE(cluster().assume(pod, found.node));
    std::string failure = reserve(state, pod, found.node);
    if (!failure.empty()) {
      (void)cluster().forget(pod->uid());
      return failure;
    }
    PodBuilder bound = builder;
    for (const auto& [key, value] : state.annotations())
      bound.object().metadata.annotations[key] = value;
    const std::string node = cluster().node(found.node).name;
    world.bound(bound.nodeName(node));
    running.emplace(nameOfPod(builder), bound);
    return node + holds(pod->uid());
  }
  // Reserve and PreBind of all plugins.
  std::string reserve(CycleState& state, const PodPtr& pod, NodeId node) {
    for (const auto& each : world.profile().reserve) {
      const Status status = each.point->reserve(state, pod, node);
      if (!status.ok()) return status.message();
    }
    for (const auto& each : world.profile().preBind) {
      if (each.point->preBindPreFlight(state, pod, node).skipped()) continue;
      std::optional<Status> status;
      TaskGroup tasks;
      tasks.spawn(preBind(each.point, &state, pod, node, &status));
      world.loop().advanceUntil([&] { return status.has_value(); }, std::chrono::seconds(10));
      if (!status || !status->ok()) return status ? status->message() : "PreBind did not end";
    }
    return "";
  }
  static Task<void> preBind(PreBindPlugin* plugin, CycleState* state, PodPtr pod, NodeId node,
                            std::optional<Status>* out) {
    auto binding = plugin->preBind(*state, pod, node);
    *out = co_await binding;
  }
  // " gpu 0,1 rdma 0"; with percent for a part of a GPU: " gpu 0:50".
  std::string holds(const std::string& uid) {
    const DeviceGrant* grant = DeviceTable::of(world).grantOf(uid);
    std::string text;
    if (!grant) return text;
    for (const DeviceType type : kDeviceTypes) {
      for (std::size_t i = 0; i < at(grant->given, type).size(); ++i) {
        const AllocatedDevice& device = at(grant->given, type)[i];
        text += i == 0 ? " " + std::string(nameOf(type)) + " " : ",";
        text += std::to_string(device.minor);
        const std::int64_t ratio = device.amounts[DeviceResource::GpuMemoryRatio];
        if (type == DeviceType::Gpu && ratio != 100) text += ":" + std::to_string(ratio);
        for (const auto& function : device.functions) text += "/" + function.busId;
      }
    }
    if (!grant->reservation.empty()) text += " in " + grant->reservation;
    return text;
  }
  void end(const std::string& name) {
    cluster().removePod("uid-default-" + name);
    running.erase(name);
  }
  void expectSound() {
    cluster().live().forEach([&](NodeId node) { EXPECT_EQ(cluster().verifyNode(node), ""); });
  }
  static std::string nameOfPod(PodBuilder builder) { return builder.object().metadata.name; }

  std::map<std::string, PodBuilder> running;  // as the API server has them
};

inline PodBuilder gpuPod(const std::string& name, const std::string& resource,
                         const std::string& amount) {
  return aPod(name).request(resource, amount);
}
inline PodBuilder wholeGpus(const std::string& name, const std::string& count) {
  return gpuPod(name, "nvidia.com/gpu", count);
}
// Of one GPU.
inline PodBuilder percentOfGpu(const std::string& name, const std::string& percent) {
  return gpuPod(name, "koordinator.sh/gpu", percent);
}
inline PodBuilder noted(PodBuilder pod, std::string_view key, std::string text) {
  pod.object().metadata.annotations[std::string(key)] = std::move(text);
  return pod;
}

}  // namespace koord::scheduler::testing
