#pragma once

// A node with devices, for tests: builds it from parts, requests devices, and formats the result as
// one line.

#include <gtest/gtest.h>

#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::scheduler::testing {

class DeviceMachine {
 public:
  DeviceMachine& gpu(int minor, int numa, std::string pcie) {
    api::DeviceInfo& info = add("gpu", minor);
    info.resources = {{"koordinator.sh/gpu-core", *Quantity::parse("100")},
                      {"koordinator.sh/gpu-memory", *Quantity::parse("16Gi")},
                      {"koordinator.sh/gpu-memory-ratio", *Quantity::parse("100")}};
    info.topology = api::DeviceTopology{numa, numa, std::move(pcie), ""};
    return *this;
  }
  DeviceMachine& rdma(int minor, int numa, std::string pcie, int functions = 0) {
    api::DeviceInfo& info = add("rdma", minor);
    info.resources = {{"koordinator.sh/rdma", *Quantity::parse("100")}};
    info.topology = api::DeviceTopology{numa, numa, std::move(pcie), ""};
    if (functions == 0) return *this;
    auto& group = info.vfGroups.emplace_back();
    group.labels["type"] = "general";
    for (int i = 0; i < functions; ++i)
      group.vfs.push_back({i, "0000:0" + std::to_string(minor) + ":00." + std::to_string(i)});
    return *this;
  }
  // Eight GPUs: 0 to 3 on NUMA node 0 and switches a and b, 4 to 7 on node 1, c and d.
  static DeviceMachine eightGpus(bool withRdma = false) {
    DeviceMachine machine;
    for (int minor = 0; minor < 8; ++minor)
      machine.gpu(minor, minor / 4, std::string(1, static_cast<char>('a' + minor / 2)));
    for (int minor = 0; withRdma && minor < 4; ++minor)
      machine.rdma(minor, minor / 2, std::string(1, static_cast<char>('a' + minor)));
    return machine;
  }

  void use(DeviceType type, int minor, const api::ResourceList& amounts) {
    AllocatedDevices given;
    at(given, type).push_back({minor, DeviceAmounts::of(amounts), {}, {}});
    used.add(given);
  }
  void useGpu(int minor, std::int64_t percent = 100) {
    use(DeviceType::Gpu, minor,
        {{"koordinator.sh/gpu-core", Quantity::of(percent)},
         {"koordinator.sh/gpu-memory-ratio", Quantity::of(percent)},
         {"koordinator.sh/gpu-memory", Quantity::of((percent << 34) / 100)}});
  }

  struct Request {
    api::ResourceList requests;
    api::StringMap annotations;
    const DeviceScoring* scoring = nullptr;
    ByDeviceType<Minors> preferred{};
    std::optional<std::uint64_t> numas;
    ByDeviceType<AmountsByMinor> reusable{};
    ByDeviceType<AmountsByMinor> only{};
    bool keep = false;  // count the allocation as used
    DeviceRules rules = DeviceRules::Ours;
  };
  // "gpu 0,1 rdma 0", or the reason of the failure.
  std::string ask(const Request& request) {
    const auto demand = readDeviceDemand(request.requests, request.annotations);
    if (!demand) return demand.error().message;
    const DeviceInventory inventory(std::make_shared<const api::Device>(device));
    const DeviceOffer offer{inventory, used, node, request.numas, request.reusable, request.only};
    const DeviceQuestion question{.offer = offer,
                                  .demand = *demand,
                                  .scoring = request.scoring,
                                  .preferred = request.preferred};
    const DeviceAllocator allocator(request.rules);
    last = allocator.allocate(question);
    score = allocator.score(question).value_or(-1);
    if (!last.ok()) return last.reasons.empty() ? "?" : last.reasons.front();
    if (auto filled = allocator.fillGpuMemory(last.given, inventory, used); !filled)
      return filled.error().message;
    if (request.keep) used.add(last.given);
    std::string text;
    for (const DeviceType type : kDeviceTypes) {
      for (std::size_t i = 0; i < at(last.given, type).size(); ++i) {
        if (i == 0) text += (text.empty() ? "" : " ") + std::string(nameOf(type)) + " ";
        text += (i == 0 ? "" : ",") + std::to_string(at(last.given, type)[i].minor);
        for (const auto& function : at(last.given, type)[i].functions) text += "/" + function.busId;
      }
    }
    return text;
  }
  std::string ask(std::string_view resource, std::string_view amount) {
    return ask({.requests = {{std::string(resource), *Quantity::parse(std::string(amount))}}});
  }

  api::Device device;
  DeviceUse used;
  NodeGpus node;
  DeviceAnswer last;
  std::int64_t score = 0;

 private:
  api::DeviceInfo& add(std::string type, int minor) {
    api::DeviceInfo& info = device.spec.devices.emplace_back();
    info.type = std::move(type);
    info.minor = minor;
    info.health = true;
    info.id = info.type + std::to_string(minor);
    return info;
  }
};

}  // namespace koord::scheduler::testing
