#include <algorithm>

#include "api/codec.h"
#include "golden/checkers.h"
#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

json::object listOutput(const api::ResourceList& list) {
  json::object out;
  for (const auto& [name, quantity] : list) out[name] = quantity.toString();
  return out;
}

Result<api::ResourceList> listIn(const json::value& document) {
  api::ResourceList list;
  for (const auto& [name, text] : document.as_object()) {
    auto quantity = Quantity::parse(std::string(text.as_string()));
    if (!quantity) return fail(std::move(quantity.error()));
    list[std::string(name)] = *quantity;
  }
  return list;
}

Result<json::object> request(const json::object& testCase) {
  const auto asked = listIn(testCase.at("requests"));
  if (!asked) return fail(asked.error());
  const auto requests = readDeviceRequests(*asked);
  if (!requests) return json::object{{"valid", false}};
  json::object normalized;
  for (const DeviceType type : kDeviceTypes)
    if (!at(*requests, type).empty()) normalized[nameOf(type)] = listOutput(at(*requests, type));
  json::object out{{"valid", true}, {"skip", isEmpty(*requests)}};
  out["normalized"] = std::move(normalized);
  if (const auto& gpus = at(*requests, DeviceType::Gpu); !gpus.empty()) {
    const GpuRequirement needed = gpuRequirementOf(gpus);
    out["gpu"] = json::object{{"count", needed.count},
                              {"perInstance", listOutput(needed.each.toList())},
                              {"shared", needed.shared}};
  }
  return out;
}

Result<json::object> memoryConvert(const json::object& testCase) {
  const auto amount = [&](std::string_view name) {
    const json::value& value = testCase.at(name);
    return value.is_string() ? Quantity::parse(std::string(value.get_string())).value().value()
                             : value.to_number<std::int64_t>();
  };
  return json::object{{"bytesOfRatio", memoryBytesOf(amount("ratio"), amount("total"))},
                      {"ratioOfBytes", memoryRatioOf(amount("bytes"), amount("total"), true)}};
}

json::object givenOutput(AllocatedDevices given) {
  json::object out;
  for (const DeviceType type : kDeviceTypes) {
    auto& devices = at(given, type);
    if (devices.empty()) continue;
    std::ranges::sort(devices, {}, &AllocatedDevice::minor);
    json::array list;
    for (const AllocatedDevice& device : devices) {
      json::object entry{{"minor", device.minor},
                         {"resources", listOutput(device.amounts.toList())}};
      json::array functions;
      for (const auto& function : device.functions)
        functions.push_back(json::object{{"minor", function.minor}, {"busID", function.busId}});
      if (!functions.empty()) entry["vfs"] = std::move(functions);
      list.push_back(std::move(entry));
    }
    out[nameOf(type)] = std::move(list);
  }
  return out;
}

json::object freeOutput(const DeviceInventory& inventory, const DeviceUse& use) {
  json::object out;
  for (const DeviceType type : kDeviceTypes) {
    json::object devices;
    for (const KnownDevice& known : inventory.of(type)) {
      DeviceAmounts free = known.total;
      const auto used = use.of(type).find(known.minor);
      if (used != use.of(type).end()) free.subtract(used->second);
      devices[std::to_string(known.minor)] = listOutput(free.toList());
    }
    if (!devices.empty()) out[nameOf(type)] = std::move(devices);
  }
  return out;
}

Result<json::object> step(const json::object& pod, const DeviceInventory& inventory, DeviceUse& use,
                          const DeviceScoring& scoring) {
  const DeviceAllocator allocator(DeviceRules::AsUpstream);
  json::object out{{"pod", pod.at("name")}, {"ok", false}};
  const auto asked = listIn(pod.at("requests"));
  if (!asked) return fail(asked.error());
  api::StringMap annotations;
  for (const auto& [key, text] : pod.at("annotations").as_object())
    annotations[std::string(key)] = std::string(text.as_string());
  const auto demand = readDeviceDemand(*asked, annotations);
  if (!demand || demand->empty()) return out;
  const DeviceOffer offer{.inventory = inventory, .use = use};
  const DeviceQuestion question{.offer = offer, .demand = *demand, .scoring = &scoring};
  DeviceAnswer answer = allocator.allocate(question);
  if (!answer.ok()) return out;
  out["score"] = allocator.score(question).value_or(-1);
  if (auto filled = allocator.fillGpuMemory(answer.given, inventory, use); !filled) return out;
  use.add(answer.given);
  out["ok"] = true;
  out["allocations"] = givenOutput(std::move(answer.given));
  return out;
}

Result<json::object> allocate(const json::object& testCase) {
  auto device = api::decode<api::Device>(testCase.at("device"));
  if (!device) return fail(std::move(device.error()));
  const DeviceInventory inventory(std::make_shared<const api::Device>(*std::move(device)));
  DeviceScoring scoring{testCase.at("strategy").as_string() == "MostAllocated", {}};
  for (const DeviceResource resource : {DeviceResource::GpuMemoryRatio, DeviceResource::GpuMemory,
                                        DeviceResource::Rdma, DeviceResource::Fpga})
    scoring.weights.emplace_back(resource, 1);
  DeviceUse use;
  json::array steps;
  for (const auto& pod : testCase.at("pods").as_array()) {
    auto done = step(pod.as_object(), inventory, use, scoring);
    if (!done) return fail(std::move(done.error()));
    steps.push_back(*std::move(done));
  }
  json::object out;
  out["steps"] = std::move(steps);
  out["freeAfter"] = freeOutput(inventory, use);
  return out;
}

Result<json::object> evaluateDevice(const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  if (op == "request") return request(testCase);
  if (op == "memoryConvert") return memoryConvert(testCase);
  if (op == "allocate") return allocate(testCase);
  return fail(ErrorCode::BadRequest, "unknown op");
}

}  // namespace

Checker deviceChecker() {
  return {
      .file = "device",
      .inputs = {"op", "requests", "ratio", "bytes", "total", "device", "pods", "strategy"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateDevice; },
  };
}

}  // namespace koord::golden
