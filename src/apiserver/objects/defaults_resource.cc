#include "apiserver/objects/defaults_resource.h"

#include "apiserver/objects/edit.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

void setRequestDefaults(json::object& request) {
  auto& mode = request["allocationMode"];
  if (mode.is_null() || mode == "") mode = "ExactCount";
  if (mode == "ExactCount" && integerAt(request, 0, "count") == 0) request["count"] = 1;
  if (auto* tolerations = arrayAt(request, "tolerations"))
    for (auto& toleration : *tolerations)
      if (toleration.is_object() && textAt(toleration, "operator").empty())
        toleration.get_object()["operator"] = "Equal";
}

void setTime(json::object& taint, WallTime now) {
  setDefault(taint, "timeAdded", json::value(formatTime(now)));
}

}  // namespace

void setClaimDefaults(json::object& spec) {
  auto& devices = objectAt(spec, "devices");
  auto* requests = arrayAt(devices, "requests");
  if (!requests) return;
  for (auto& item : *requests) {
    if (!item.is_object()) continue;
    auto& request = item.get_object();
    if (auto* exactly = memberObject(request, "exactly")) setRequestDefaults(*exactly);
    if (auto* alternatives = arrayAt(request, "firstAvailable"))
      for (auto& alternative : *alternatives)
        if (alternative.is_object()) setRequestDefaults(alternative.get_object());
  }
}

void setClaimTemplateDefaults(json::object& spec) {
  setClaimDefaults(objectAt(spec, "spec"));
}

void setSliceDefaults(json::object& spec) {
  auto* devices = arrayAt(spec, "devices");
  if (!devices) return;
  for (auto& device : *devices) {
    auto* mappings = device.is_object()
                         ? memberObject(device.get_object(), "nodeAllocatableResourceMappings")
                         : nullptr;
    if (!mappings) continue;
    for (auto& mapping : *mappings)
      if (mapping.value().is_object())
        setDefault(mapping.value().get_object(), "allocationMultiplier", "1");
  }
}

void setTaintTimes(json::value& object, const json::value* before, std::string_view plural,
                   WallTime now) {
  auto* spec = object.is_object() ? memberObject(object.get_object(), "spec") : nullptr;
  if (!spec) return;
  if (plural == "resourceslices") {
    auto* devices = arrayAt(*spec, "devices");
    if (!devices) return;
    for (auto& device : *devices)
      if (auto* taints = device.is_object() ? arrayAt(device.get_object(), "taints") : nullptr)
        for (auto& taint : *taints)
          if (taint.is_object()) setTime(taint.get_object(), now);
  } else if (plural == "devicetaintrules") {
    auto* taint = memberObject(*spec, "taint");
    if (!taint) return;
    const auto* old = before ? at(*before, "spec", "taint") : nullptr;
    if (old && textAt(*old, "effect") != textAt(*taint, "effect") &&
        memberOf(*old, "timeAdded") == memberOf(*taint, "timeAdded"))
      eraseMember(*taint, "timeAdded");
    setTime(*taint, now);
  }
}

}  // namespace koord::apiserver
