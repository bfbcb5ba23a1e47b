#include "manager/noderesource/extended_resources.h"

#include <algorithm>
#include <cmath>

#include "api/codec.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

void setOn(api::Node& node, std::string_view name, const Quantity& amount) {
  node.status.capacity[std::string(name)] = amount;
  node.status.allocatable[std::string(name)] = amount;
}

void removeFrom(api::ResourceList& list, std::string_view name) {
  if (const auto it = list.find(name); it != list.end()) list.erase(it);
}

}  // namespace

std::vector<ResourceItem> resetItems(ResourceNames names, std::string_view message) {
  std::vector<ResourceItem> items;
  for (const auto name : names)
    items.push_back({std::string(name), {}, true, std::string(message)});
  return items;
}

bool writeExtendedResources(const ResourceTable& table, ResourceNames names, api::Node& copy) {
  bool known = false;
  for (const auto name : names) {
    const auto item = table.find(name);
    if (item == table.end()) continue;
    known = true;
    if (item->second.reset) {
      removeFrom(copy.status.capacity, name);
      removeFrom(copy.status.allocatable, name);
      continue;
    }
    Quantity amount = item->second.amount;
    amount.roundUp(0);
    setOn(copy, name, amount);
  }
  return known;
}

void noteOriginalAmounts(ResourceNames names, api::Node& copy) {
  constexpr auto kKey = model::kAnnotationOriginExtendedAllocatable;
  OriginAllocatable origin;
  for (const auto name : names)
    origin.resources[std::string(name)] = model::amountOf(copy.status.allocatable, name);
  copy.metadata.annotations[std::string(kKey)] = toJson(api::encode(origin));
}

Result<api::ResourceList> thirdPartyAllocations(const api::Node& node) {
  const auto* text =
      api::findIn(node.metadata.annotations, model::kAnnotationThirdPartyAllocations);
  api::ResourceList sum;
  if (!text) return sum;
  auto taken = api::decodeText<ThirdPartyAllocations>(*text, api::Reading::Go);
  if (!taken)
    return fail(std::move(taken.error())
                    .within("metadata.annotations[" +
                            std::string(model::kAnnotationThirdPartyAllocations) + "]"));
  for (const auto& allocation : taken->allocations)
    if (model::parsePriorityClass(allocation.priority) == model::PriorityClass::Batch)
      model::addTo(sum, allocation.resources);
  return sum;
}

Result<> subtractThirdParty(ResourceNames names, api::Node& copy) {
  const auto taken = thirdPartyAllocations(copy);
  if (!taken) return fail(taken.error());
  const api::ResourceList& sum = *taken;
  for (const auto name : names) {
    if (!model::has(copy.status.allocatable, name) || !model::has(sum, name)) continue;
    Quantity left = model::amountOf(copy.status.allocatable, name);
    left.sub(model::amountOf(sum, name));
    setOn(copy, name, std::max(left, Quantity()));
  }
  return {};
}

bool extendedResourcesDiffer(ResourceNames names, double threshold, const api::Node& before,
                             const api::Node& after) {
  for (const auto name : names) {
    const auto old = before.status.allocatable.find(name);
    const auto now = after.status.allocatable.find(name);
    const bool had = old != before.status.allocatable.end();
    const bool has = now != after.status.allocatable.end();
    if (had != has) return true;
    if (!had) continue;
    const auto oldMilli = static_cast<double>(old->second.milliValue());
    const auto newMilli = static_cast<double>(now->second.milliValue());
    if (std::abs(newMilli - oldMilli) > oldMilli * threshold) return true;
  }
  return false;
}

}  // namespace koord::manager
