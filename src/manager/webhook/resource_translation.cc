#include "manager/webhook/resource_translation.h"

#include "manager/webhook/pod_edit.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

Quantity quantityOf(const json::value& value) {
  if (value.is_string()) {
    const auto& text = value.get_string();
    return Quantity::parse({text.data(), text.size()}).value_or(Quantity());
  }
  return Quantity::parse(toJson(value)).value_or(Quantity());
}

void move(json::object& list, std::string_view native, std::string_view name) {
  const json::value* amount = list.if_contains(native);
  if (!amount) return;
  const std::string translated = model::translateAmount(native, quantityOf(*amount)).toString();
  list[name] = textValue(translated);
  list.erase(native);
}

json::object* listIn(json::object& parent, std::string_view key) {
  json::value* list = parent.if_contains(key);
  return list ? list->if_object() : nullptr;
}

}  // namespace

void translateResources(model::PriorityClass priorityClass, json::value& pod) {
  using model::PriorityClass;
  if (priorityClass != PriorityClass::Batch && priorityClass != PriorityClass::Mid) return;
  forEachContainer(pod, [&](json::object& container) {
    json::object* resources = listIn(container, "resources");
    if (!resources) return;
    for (const auto native : {model::kCpu, model::kMemory}) {
      const auto name = model::resourceNameOf(priorityClass, native);
      if (auto* requests = listIn(*resources, "requests")) move(*requests, native, name);
      auto* limits = listIn(*resources, "limits");
      if (!limits) continue;
      move(*limits, native, name);
      const json::value* limit = limits->if_contains(name);
      if (!limit) continue;
      const json::value amount = *limit;
      json::object& requests = objectIn(*resources, "requests");
      if (!requests.contains(name)) requests[name] = amount;
    }
  });
  if (auto* overhead = listIn(specOf(pod), "overhead"))
    for (const auto native : {model::kCpu, model::kMemory})
      move(*overhead, native, model::resourceNameOf(priorityClass, native));
}

}  // namespace koord::manager
