#include "scheduler/plugins/deviceshare/devices/view.h"

#include <algorithm>
#include <set>

namespace koord::scheduler {

namespace {

using Slots = std::vector<DeviceSlot>;

// All devices of a type, listed or in use.
Slots allOf(const DeviceOffer& offer, DeviceType type) {
  Slots slots;
  for (const KnownDevice& known : offer.inventory.of(type))
    slots.push_back({known.minor, &known, known.total, known.total});
  const auto& used = offer.use.of(type);
  for (const auto& [minor, amounts] : used)
    if (!offer.inventory.find(type, minor)) slots.push_back({minor, nullptr, {}, {}});
  std::ranges::sort(slots, {}, &DeviceSlot::minor);
  for (DeviceSlot& slot : slots)
    if (const auto it = used.find(slot.minor); it != used.end()) slot.free.subtract(it->second);
  return slots;
}

// Counts what may be taken over as free.
void addReusable(const AmountsByMinor& reusable, const AmountsByMinor& used, Slots& slots) {
  for (DeviceSlot& slot : slots) {
    const auto given = reusable.find(slot.minor);
    if (given == reusable.end()) continue;
    const auto taken = used.find(slot.minor);
    const DeviceAmounts left =
        taken == used.end() ? DeviceAmounts() : taken->second.minus(given->second);
    const DeviceAmounts free = slot.total.minus(left);
    if (!free.isZero()) slot.free = free;
  }
}

void keepOnly(const AmountsByMinor& only, Slots& slots) {
  std::erase_if(slots, [&](const DeviceSlot& slot) { return !only.contains(slot.minor); });
  for (DeviceSlot& slot : slots) slot.free = slot.free.least(only.at(slot.minor));
}

bool onNuma(const DeviceSlot& slot, const std::optional<std::uint64_t>& numas) {
  if (!numas) return true;
  const auto* topology = slot.known->topology();
  if (!topology) return false;
  const int id = topology->nodeID;
  return id == -1 || (id >= 0 && id < 64 && (*numas >> id & 1) != 0);
}

// Keeps the devices of PCIe switches on which nothing is used. Upstream computes these, and then
// keeps all.
void keepFreeSwitches(Slots& slots) {
  std::set<std::pair<int, std::string>> inUse;
  const auto placeOf = [](const DeviceSlot& slot) {
    const auto* topology = slot.known ? slot.known->topology() : nullptr;
    return topology ? std::pair(topology->nodeID, topology->pcieID) : std::pair(-1, std::string());
  };
  for (const DeviceSlot& slot : slots)
    if (!(slot.free == slot.total)) inUse.insert(placeOf(slot));
  std::erase_if(slots, [&](const DeviceSlot& slot) {
    return !slot.known || !slot.known->topology() || inUse.contains(placeOf(slot));
  });
}

bool hasAny(const ByDeviceType<AmountsByMinor>& amounts) {
  return std::ranges::any_of(amounts, [](const auto& each) { return !each.empty(); });
}

bool exclusive(const std::optional<DeviceHint>& hint, DeviceRules rules) {
  return rules == DeviceRules::Ours && hint && hint->exclusive == DeviceHint::Exclusive::Pcie;
}

Slots chosen(const DeviceOffer& offer, const DeviceDemand& demand, DeviceType type,
             DeviceRules rules) {
  Slots slots = allOf(offer, type);
  addReusable(at(offer.reusable, type), offer.use.of(type), slots);
  const auto& hint = at(demand.hints, type);
  if (exclusive(hint, rules)) keepFreeSwitches(slots);
  if (!at(offer.only, type).empty()) keepOnly(at(offer.only, type), slots);
  // If nothing is left of any device, there is nothing to score.
  if (std::ranges::all_of(slots, [](const DeviceSlot& slot) { return slot.free.isZero(); }))
    return {};
  std::erase_if(slots, [&](const DeviceSlot& slot) {
    return !slot.known || !onNuma(slot, offer.numas) ||
           (hint && hint->selector && !hint->selector->matches(slot.known->info->labels));
  });
  return slots;
}

}  // namespace

const DeviceSlot* DeviceView::find(DeviceType type, int minor) const {
  const auto& all = at(slots, type);
  const auto it = std::ranges::lower_bound(all, minor, {}, &DeviceSlot::minor);
  return it != all.end() && it->minor == minor ? &*it : nullptr;
}

DeviceView viewFor(const DeviceOffer& offer, const DeviceDemand& demand, DeviceRules rules) {
  DeviceView view;
  const bool narrowed =
      offer.numas || hasAny(offer.reusable) || hasAny(offer.only) || demand.hasSelectors() ||
      std::ranges::any_of(demand.hints, [&](const auto& hint) { return exclusive(hint, rules); });
  for (const DeviceType type : kDeviceTypes)
    if (demand.wants(type))
      at(view.slots, type) = narrowed ? chosen(offer, demand, type, rules) : allOf(offer, type);
  for (const auto& [minor, used] : offer.use.of(DeviceType::Gpu))
    if (!narrowed || !view.find(DeviceType::Gpu, minor)) view.usedGpus.add(minor);
  if (!narrowed) return view;
  for (const DeviceSlot& slot : at(view.slots, DeviceType::Gpu))
    if (!slot.total.minus(slot.free).isZero()) view.usedGpus.add(slot.minor);
  return view;
}

}  // namespace koord::scheduler
