#include "scheduler/plugins/deviceshare/devices/allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scheduler/plugins/deviceshare/devices/gpus.h"

namespace koord::scheduler {

namespace {

using devices::unresolvable;
using devices::unschedulable;

constexpr DeviceResource resourceOf(DeviceType type) {
  return type == DeviceType::Fpga ? DeviceResource::Fpga : DeviceResource::Rdma;
}

std::string insufficient(DeviceType type) {
  return fmt::format("Insufficient {} devices", nameOf(type));
}

// A number of devices of a type, with an amount of each.
struct Needed {
  DeviceAmounts each;
  int count = 1;
};

// The state of one allocation.
class Allocation {
 public:
  Allocation(const DeviceQuestion& question, DeviceRules rules)
      : question_(question),
        demand_(question.demand),
        inventory_(question.offer.inventory),
        rules_(rules) {}

  DeviceAnswer prepare();
  DeviceAnswer allocate();
  std::int64_t score() const;

 private:
  using Pcies = std::set<std::string>;
  using Ordered = std::vector<std::pair<const DeviceSlot*, std::int64_t>>;

  bool isPrimary(DeviceType type) const {
    return !demand_.joint.empty() && demand_.joint.front() == type;
  }
  DeviceAnswer need(DeviceType type);
  DeviceAnswer needAsHinted(DeviceType type, const DeviceHint& hint, Needed& needed) const;
  DeviceAnswer together();
  DeviceAnswer one(DeviceType type, int count, const Pcies& near);
  DeviceAnswer gpus(int count, int most);
  DeviceAnswer gpusByTemplate(int count, int most);
  DeviceAnswer gpusByPlace(int count, int most);
  DeviceAnswer inOrder(DeviceType type, int count, int most, const Pcies& near) const;
  Ordered ordered(DeviceType type, const Pcies& near) const;
  std::optional<AllocatedFunction> functionOf(DeviceType type, const DeviceSlot& slot) const;
  Pcies pciesOf(DeviceType type) const;

  const DeviceQuestion& question_;
  const DeviceDemand& demand_;
  const DeviceInventory& inventory_;
  DeviceRules rules_;
  DeviceView view_;
  ByDeviceType<std::optional<Needed>> needed_;
  AllocatedDevices given_;
};

// --- The request.

DeviceAnswer Allocation::prepare() {
  for (const DeviceType type : kDeviceTypes) {
    if (!demand_.wants(type)) continue;
    // Such nodes have a secondary device for every primary one, so the search for them can wait.
    const bool later = !question_.reserving && !demand_.joint.empty() && !isPrimary(type) &&
                       demand_.wants(DeviceType::Gpu) && !demand_.gpu.shared &&
                       inventory_.secondaryWellPlanned();
    if (later) continue;
    if (DeviceAnswer answer = need(type); !answer.ok()) return answer;
  }
  for (const DeviceType type : kDeviceTypes) {
    if (at(needed_, type) && demand_.wantsFunction(type) && !inventory_.hasFunctions(type))
      return unresolvable(fmt::format("Insufficient {} VirtualFunctions", nameOf(type)));
  }
  view_ = viewFor(question_.offer, demand_, rules_);
  return {};
}

DeviceAnswer Allocation::need(DeviceType type) {
  if (inventory_.of(type).empty() && question_.offer.use.of(type).empty())
    return unresolvable(insufficient(type));
  if (type == DeviceType::Gpu) {
    at(needed_, type) = Needed{demand_.gpu.each, demand_.gpu.count};
    return {};
  }
  Needed needed{DeviceAmounts::of(at(demand_.requests, type)), 1};
  const std::int64_t amount = needed.each[resourceOf(type)];
  if (amount > 100 && amount % 100 == 0) {
    needed.count = static_cast<int>(std::min<std::int64_t>(amount / 100, INT32_MAX));
    needed.each.set(resourceOf(type), 100);
  } else if (const auto& hint = at(demand_.hints, type)) {
    if (DeviceAnswer answer = needAsHinted(type, *hint, needed); !answer.ok()) return answer;
  }
  at(needed_, type) = needed;
  return {};
}

DeviceAnswer Allocation::needAsHinted(DeviceType type, const DeviceHint& hint,
                                      Needed& needed) const {
  switch (hint.strategy) {
    case DeviceHint::Strategy::Usual:
      return {};
    case DeviceHint::Strategy::ApplyForAll: {
      const auto& all = inventory_.of(type);
      const auto matching = std::ranges::count_if(all, [&](const KnownDevice& known) {
        return !hint.selector || hint.selector->matches(known.info->labels);
      });
      if (matching == 0) return unresolvable(insufficient(type));
      needed.count = static_cast<int>(matching);
      return {};
    }
    case DeviceHint::Strategy::RequestsAsCount:
      needed.count = static_cast<int>(needed.each[resourceOf(type)]);
      needed.each.set(resourceOf(type), hint.exclusive == DeviceHint::Exclusive::Device ? 100 : 1);
      return {};
  }
  return {};
}

// --- The allocation.

DeviceAnswer Allocation::allocate() {
  const auto types =
      std::ranges::count_if(needed_, [](const auto& needed) { return needed.has_value(); });
  if (types > 1 && !demand_.joint.empty())
    if (DeviceAnswer answer = together(); !answer.ok()) return answer;
  for (const DeviceType type : kDeviceTypes) {
    if (!at(needed_, type) || !at(given_, type).empty()) continue;
    DeviceAnswer answer = one(type, at(needed_, type)->count, {});
    if (!answer.ok()) return answer;
    at(given_, type) = std::move(at(answer.given, type));
  }
  DeviceAnswer answer;
  if (isEmpty(given_)) {
    answer.outcome = DeviceAnswer::Outcome::Unschedulable;
    for (const DeviceType type : kDeviceTypes)
      if (at(needed_, type)) answer.reasons.push_back(insufficient(type));
  }
  answer.given = std::move(given_);
  return answer;
}

DeviceAnswer Allocation::together() {
  const DeviceType primary = demand_.joint.front();
  if (!at(needed_, primary)) return {};
  DeviceAnswer answer = one(primary, at(needed_, primary)->count, {});
  if (!answer.ok()) return answer;
  at(given_, primary) = std::move(at(answer.given, primary));
  if (at(given_, primary).empty()) return unschedulable("node(s) Insufficient primary device");

  const Pcies near = pciesOf(primary);
  for (std::size_t i = 1; i < demand_.joint.size(); ++i) {
    const DeviceType type = demand_.joint[i];
    if (!at(needed_, type)) continue;
    int count = at(needed_, type)->count;
    if (demand_.samePcie) count = std::max(count, static_cast<int>(near.size()));
    DeviceAnswer secondary = one(type, count, near);
    if (!secondary.ok()) return secondary;
    at(given_, type) = std::move(at(secondary.given, type));
  }
  if (!demand_.samePcie || demand_.joint.size() == 1) return {};
  for (std::size_t i = 1; i < demand_.joint.size(); ++i)
    if (pciesOf(demand_.joint[i]) != near)
      return unschedulable("node(s) Device Joint-Allocate rules violation");
  return {};
}

Allocation::Pcies Allocation::pciesOf(DeviceType type) const {
  Pcies pcies;
  for (const AllocatedDevice& device : at(given_, type)) {
    const KnownDevice* known = inventory_.find(type, device.minor);
    if (known && known->topology()) pcies.insert(known->topology()->pcieID);
  }
  return pcies;
}

// At most one for every switch to be near to, or `count` if that is more.
DeviceAnswer Allocation::one(DeviceType type, int count, const Pcies& near) {
  count = std::max(count, 1);
  const int most = std::max(count, static_cast<int>(near.size()));
  return type == DeviceType::Gpu ? gpus(count, most) : inOrder(type, count, most, near);
}

DeviceAnswer Allocation::gpus(int count, int most) {
  if (question_.templates && demand_.gpu.shared) {
    DeviceAnswer answer = gpusByTemplate(count, most);
    if (!answer.ok() || !isEmpty(answer.given)) return answer;
  }
  DeviceAnswer answer = devices::byPartition(question_, view_, rules_);
  if (!answer.ok() || !isEmpty(answer.given)) return answer;
  return gpusByPlace(count, most);
}

// If several templates fit, the node chooses one.
DeviceAnswer Allocation::gpusByTemplate(int count, int most) {
  std::vector<const GpuTemplate*> fitting;
  for (const GpuTemplate& each : *question_.templates)
    if (each.amounts == demand_.gpu.each) fitting.push_back(&each);
  if (fitting.empty()) return unresolvable("no matched GPU shared resource template");
  if (fitting.size() > 1) return {};
  DeviceAnswer answer = gpusByPlace(count, most);
  for (AllocatedDevice& device : at(answer.given, DeviceType::Gpu))
    device.gpuTemplate = fitting.front()->name;
  return answer;
}

DeviceAnswer Allocation::gpusByPlace(int count, int most) {
  DeviceAnswer answer = devices::byTopology(question_, view_, rules_);
  if (!answer.ok() || !isEmpty(answer.given)) return answer;
  return inOrder(DeviceType::Gpu, count, most, {});
}

DeviceAnswer Allocation::inOrder(DeviceType type, int count, int most, const Pcies& near) const {
  const DeviceAmounts& each = at(needed_, type)->each;
  const Minors& required = at(question_.required, type);
  DeviceAnswer answer;
  auto& given = at(answer.given, type);
  for (const auto& [slot, score] : ordered(type, near)) {
    if (static_cast<int>(given.size()) == most) break;
    if (!required.empty() && !required.contains(slot->minor)) continue;
    if (slot->free.isZero() || !slot->free.covers(each)) continue;
    AllocatedDevice device{slot->minor, each, {}, {}};
    if (demand_.wantsFunction(type)) {
      auto function = functionOf(type, *slot);
      if (!function) continue;
      device.functions.push_back(*std::move(function));
    }
    given.push_back(std::move(device));
  }
  if (static_cast<int>(given.size()) < count) return unschedulable(insufficient(type));
  return answer;
}

Allocation::Ordered Allocation::ordered(DeviceType type, const Pcies& near) const {
  const Minors& preferred = at(question_.preferred, type);
  Ordered all;
  for (const DeviceSlot& slot : at(view_.slots, type)) {
    all.emplace_back(&slot, question_.scoring ? question_.scoring->scoreDevice(
                                                    at(needed_, type)->each, slot.total, slot.free)
                                              : 0);
  }
  std::ranges::stable_sort(all, [&](const auto& a, const auto& b) {
    const bool aFirst = preferred.contains(a.first->minor);
    const bool bFirst = preferred.contains(b.first->minor);
    return aFirst != bFirst ? aFirst : a.second > b.second;
  });
  if (near.empty() || !preferred.empty()) return all;
  // The first of each switch, then the second of each, and so on; then the others.
  std::map<std::string, std::size_t> seen;
  std::vector<std::size_t> rounds;
  for (const auto& [slot, score] : all) {
    const auto* topology = slot->known ? slot->known->topology() : nullptr;
    const bool isNear = topology && near.contains(topology->pcieID);
    rounds.push_back(isNear ? seen[topology->pcieID]++ : SIZE_MAX);
  }
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rounds[i]; });
  Ordered result;
  for (const std::size_t i : order) result.push_back(all[i]);
  return result;
}

// The free one with the lowest bus id.
std::optional<AllocatedFunction> Allocation::functionOf(DeviceType type,
                                                        const DeviceSlot& slot) const {
  if (!slot.known) return std::nullopt;
  const auto& wanted = at(question_.functions, type);
  // If functions are requested of some devices only, the others are not restricted.
  const auto first = wanted.lower_bound({slot.minor, ""});
  const bool bound = first != wanted.end() && first->first == slot.minor;
  const api::VirtualFunction* best = nullptr;
  for (const auto& group : slot.known->info->vfGroups) {
    if (!at(demand_.hints, type)->vfSelector->matches(group.labels)) continue;
    for (const api::VirtualFunction& function : group.vfs) {
      if (question_.offer.use.hasFunction(type, slot.minor, function.busID)) continue;
      if (bound && !wanted.contains({slot.minor, function.busID})) continue;
      if (!best || function.busID < best->busID) best = &function;
    }
  }
  if (!best) return std::nullopt;
  return AllocatedFunction{best->minor, best->busID};
}

std::int64_t Allocation::score() const {
  if (!question_.scoring) return 0;
  std::int64_t sum = 0;
  for (const DeviceType type : kDeviceTypes) {
    const auto& slots = at(view_.slots, type);
    if (!at(needed_, type) || at(needed_, type)->each.isZero() || slots.empty()) continue;
    const Needed& needed = *at(needed_, type);
    // Upstream counts one instance for any number of instances.
    const DeviceAmounts request =
        rules_ == DeviceRules::Ours ? needed.each.times(needed.count) : needed.each;
    sum += question_.scoring->scoreDevices(request, slots);
  }
  return sum;
}

}  // namespace

DeviceAnswer DeviceAllocator::allocate(const DeviceQuestion& question) const {
  Allocation allocation(question, rules_);
  if (DeviceAnswer answer = allocation.prepare(); !answer.ok()) return answer;
  return allocation.allocate();
}

std::optional<std::int64_t> DeviceAllocator::score(const DeviceQuestion& question) const {
  Allocation allocation(question, rules_);
  if (!allocation.prepare().ok()) return std::nullopt;
  return allocation.score();
}

Result<> DeviceAllocator::fillGpuMemory(AllocatedDevices& given, const DeviceInventory& inventory,
                                        const DeviceUse& use) const {
  using enum DeviceResource;
  for (AllocatedDevice& device : at(given, DeviceType::Gpu)) {
    const KnownDevice* known = inventory.find(DeviceType::Gpu, device.minor);
    if (!known || known->total.isZero()) {
      return fail(ErrorCode::NotFound,
                  fmt::format("fillGPUTotalMem failed: no healthy gpu device with minor {} of "
                              "allocation",
                              device.minor));
    }
    DeviceAmounts& amounts = device.amounts;
    const std::int64_t total = known->total[GpuMemory];
    if (!amounts.has(GpuMemory)) {
      amounts.set(GpuMemory, memoryBytesOf(amounts[GpuMemoryRatio], total));
    } else if (!amounts.has(GpuMemoryRatio)) {
      const bool asUpstream = rules_ == DeviceRules::AsUpstream;
      const std::int64_t ratio = memoryRatioOf(amounts[GpuMemory], total, asUpstream);
      const auto& all = use.of(DeviceType::Gpu);
      const auto used = all.find(device.minor);
      const std::int64_t taken = used == all.end() ? 0 : used->second[GpuMemoryRatio];
      const std::int64_t left = std::max<std::int64_t>(known->total[GpuMemoryRatio] - taken, 0);
      amounts.set(GpuMemoryRatio, asUpstream ? ratio : std::min(ratio, left));
    }
  }
  return {};
}

}  // namespace koord::scheduler
