#include "manager/webhook/device_resources.h"

#include "base/quantity.h"
#include "manager/webhook/pod_edit.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

std::optional<std::int64_t> amount(const json::object& list, std::string_view name) {
  const json::value* value = list.if_contains(name);
  if (!value) return std::nullopt;
  const std::string text = value->is_string() ? std::string(value->get_string()) : toJson(*value);
  const auto quantity = Quantity::parse(text);
  if (!quantity) return std::nullopt;
  return quantity->value();
}

bool requestsGpu(const json::object& resources) {
  for (const char* list : {"requests", "limits"}) {
    const json::value* amounts = resources.if_contains(list);
    if (!amounts || !amounts->is_object()) continue;
    for (const auto name : {model::kGpu, model::kGpuCore, model::kGpuMemory, model::kGpuMemoryRatio,
                            model::kGpuShared})
      if (amounts->get_object().contains(name)) return true;
  }
  return false;
}

// The number of whole GPUs of a percentage; 1 for a part of a GPU.
std::int64_t wholeGpus(std::int64_t percent) {
  return percent > 100 && percent % 100 == 0 ? percent / 100 : 1;
}

}  // namespace

void expandDeviceResources(json::value& pod) {
  json::value* containers = specOf(pod).if_contains("containers");
  if (!containers || !containers->is_array()) return;
  for (auto& container : containers->get_array()) {
    json::value* resources =
        container.is_object() ? container.get_object().if_contains("resources") : nullptr;
    if (!resources || !resources->is_object() || !requestsGpu(resources->get_object())) continue;
    objectIn(resources->get_object(), "limits");  // first, because creating it may move the others
    json::object& requests = objectIn(resources->get_object(), "requests");
    json::object& limits = objectIn(resources->get_object(), "limits");
    const auto setBoth = [&](std::string_view name, const json::value& value) {
      requests[name] = value;
      limits[name] = value;
    };
    if (const json::value* gpu = requests.if_contains(model::kGpu)) {
      const json::value percent = *gpu;
      setBoth(model::kGpuCore, percent);
      setBoth(model::kGpuMemoryRatio, percent);
      requests.erase(model::kGpu);
      limits.erase(model::kGpu);
    }
    if (requests.contains(model::kGpuShared)) continue;
    std::int64_t shared = 1;
    if (const auto ratio = amount(requests, model::kGpuMemoryRatio)) {
      shared = wholeGpus(*ratio);
    } else if (const auto core = amount(requests, model::kGpuCore)) {
      shared = wholeGpus(*core);
    }
    setBoth(model::kGpuShared, textValue(Quantity::of(shared).toString()));
  }
}

}  // namespace koord::manager
