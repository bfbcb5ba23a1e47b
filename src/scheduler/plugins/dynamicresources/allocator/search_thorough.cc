// The parts of the thorough search: which devices are alike, which requests cannot be filled, and
// what the rest of a search depends on (search.cc).

#include <algorithm>
#include <map>

#include "scheduler/plugins/dynamicresources/allocator/search.h"

namespace koord::scheduler::dra {

namespace {

std::uint64_t mixHash(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(a ^ 0xA0761D6478BD642FULL) * (b ^ 0xE7037ED1A0B428DBULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

void Search::prepareThorough() {
  thorough_ = std::make_unique<Thorough>();
  const std::size_t devices = node_.devices.size();
  thorough_->candidates.resize(plan_.requests.size());
  for (std::size_t r = 0; r < plan_.requests.size(); ++r) {
    const RequestPlan& request = plan_.requests[r];
    auto& matches = thorough_->candidates[r];
    matches.assign(devices, Match::No);
    for (std::uint32_t d = 0; d < devices; ++d) {
      if (inUse(d, request) || !tolerated(d, request)) continue;
      matches[d] = selectorsMatch(d, request);
      if (matches[d] == Match::Yes && !fits(d, request, false)) matches[d] = Match::No;
    }
  }
  groupAlike();
  findLastUses();
}

void Search::groupAlike() {
  std::map<std::string, std::uint32_t> kinds;
  thorough_->alike.resize(node_.devices.size());
  for (std::uint32_t d = 0; d < node_.devices.size(); ++d) {
    const DeviceOnNode& device = node_.devices[d];
    std::string key;
    bool unique = isShare(device);
    for (std::size_t r = 0; r < plan_.requests.size(); ++r) {
      const Match match = thorough_->candidates[r][d];
      key += static_cast<char>('0' + static_cast<int>(match));
      unique |= match == Match::Failed;
    }
    for (const auto& states : constraints_)
      for (const ConstraintState& state : states)
        key += ConstraintState::valueText(attributeOf(device.content(), state.attribute())) + ";";
    if (device.counters) {
      key += device.pool->key.toString();
      for (const CounterUse& use : *device.counters)
        key += "," + std::to_string(use.counter) + "=" + use.amount.toString();
    }
    if (unique) key += "#" + std::to_string(d);
    thorough_->alike[d] =
        kinds.try_emplace(std::move(key), static_cast<std::uint32_t>(kinds.size())).first->second;
  }
  thorough_->kinds = kinds.size();
}

void Search::findLastUses() {
  thorough_->lastGroup.assign(node_.devices.size(), -1);
  thorough_->lastConsumer.resize(node_.pools.size());
  for (std::size_t p = 0; p < node_.pools.size(); ++p)
    thorough_->lastConsumer[p].assign(node_.pools[p]->totals.size(),
                                      std::vector<std::int32_t>(plan_.groups.size(), -1));
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    const GroupPlan& group = plan_.groups[g];
    for (std::size_t a = 0; a < group.alternatives; ++a) {
      const auto& candidates = thorough_->candidates[group.first + a];
      for (std::uint32_t d = 0; d < candidates.size(); ++d) {
        if (candidates[d] == Match::No) continue;
        thorough_->lastGroup[d] = static_cast<std::int32_t>(g);
        const DeviceOnNode& device = node_.devices[d];
        if (!device.counters) continue;
        const auto pool =
            std::ranges::find(node_.pools, device.pool, &std::unique_ptr<PoolOnNode>::get);
        auto& consumers =
            thorough_->lastConsumer[static_cast<std::size_t>(pool - node_.pools.begin())];
        for (const CounterUse& use : *device.counters)
          consumers[use.counter][g] = static_cast<std::int32_t>(d);
      }
    }
  }
}

// A hash of all that the rest of the search depends on. Sums make it independent of the order of
// the picks.
std::pair<std::uint64_t, std::uint64_t> Search::stateOf(std::size_t group, std::size_t request,
                                                        std::int64_t number, std::uint32_t start) {
  std::uint64_t low = 0, high = 0;
  const auto add = [&](std::uint64_t what, std::uint64_t value) {
    low += mixHash(what * 2 + 1, value);
    high += mixHash(value ^ 0x589965CC75374CC3ULL, what * 2 + 1);
  };
  const auto now = static_cast<std::int32_t>(group);
  add(1, group << 32 | request);
  add(2, static_cast<std::uint64_t>(number) << 32 | start);
  add(3, results_[plan_.requests[request].claim]);
  for (const Pick& pick : picks_) {
    const std::int32_t last = thorough_->lastGroup[pick.device];
    if (last < now || (last == now && pick.device < start)) continue;
    // Who uses it matters for administrators only.
    const RequestPlan& what = plan_.requests[pick.request];
    add(4, static_cast<std::uint64_t>(pick.device) << 32 | what.claim << 1 | (pick.share ? 1 : 0));
    for (const auto& [name, amount] : pick.consumed)
      add(5 + std::hash<std::string>{}(name),
          std::hash<std::string>{}(amount.toString()) ^ static_cast<std::uint64_t>(pick.device));
  }
  for (std::size_t p = 0; p < node_.pools.size(); ++p) {
    const auto left = left_.find(node_.pools[p].get());
    if (left == left_.end()) continue;
    const std::vector<Quantity>& available = node_.pools[p]->available();
    for (std::size_t c = 0; c < left->second.size(); ++c) {
      if (left->second[c] == available[c]) continue;
      const auto& lasts = thorough_->lastConsumer[p][c];
      bool matters = lasts[group] >= static_cast<std::int32_t>(start);
      for (std::size_t g = group + 1; g < lasts.size() && !matters; ++g) matters = lasts[g] >= 0;
      if (!matters) continue;
      const auto whole = left->second[c].asInt64();
      add(6 + (static_cast<std::uint64_t>(p) << 40 | c << 8),
          whole ? static_cast<std::uint64_t>(*whole)
                : std::hash<std::string>{}(left->second[c].toString()));
    }
  }
  // Constraints of earlier claims are settled.
  const auto& states = constraints_[plan_.requests[request].claim];
  for (std::size_t i = 0; i < states.size(); ++i)
    if (!states[i].empty()) add(7 + (static_cast<std::uint64_t>(i) << 8), states[i].hash());
  return {low, high};
}

// Returns true if enough devices from `start` on suit the request, each on its own.
bool Search::canFill(const RequestPlan& request, const std::vector<Match>& candidates,
                     std::int64_t needed, std::uint32_t start) {
  const auto& constraints = constraints_[request.claim];
  // A match constraint without a value yet: devices are counted by value.
  const ConstraintState* open = nullptr;
  for (std::size_t i = 0; i < constraints.size(); ++i)
    if ((request.constraints >> i & 1) != 0 && constraints[i].isMatch() && constraints[i].empty() &&
        !plan_.features.listTypeAttributes)
      open = &constraints[i];
  std::map<std::string, std::int64_t> byValue;
  std::int64_t found = 0;
  for (std::uint32_t d = start; d < candidates.size(); ++d) {
    if (candidates[d] == Match::No || inUse(d, request)) continue;
    const DeviceOnNode& device = node_.devices[d];
    bool ok = fits(d, request, true);
    for (std::size_t i = 0; ok && i < constraints.size(); ++i)
      if ((request.constraints >> i & 1) != 0) ok = constraints[i].allows(device.content());
    if (ok && device.counters && !alreadyShared(d)) ok = countersFit(device);
    if (!ok) continue;
    if (open) {
      const std::string value =
          ConstraintState::valueText(attributeOf(device.content(), open->attribute()));
      found = std::max(found, ++byValue[value]);
    } else {
      ++found;
    }
    if (found >= needed) return true;
  }
  return false;
}

bool Search::cannotSucceed(std::size_t group, std::size_t request, std::int64_t number,
                           std::uint32_t start) {
  const RequestPlan& what = plan_.requests[request];
  if (!what.all && !canFill(what, thorough_->candidates[request], what.count - number, start))
    return true;
  if (number > 0 && what.constraints == 0) return false;  // checked when the request began
  for (std::size_t g = group + 1; g < plan_.groups.size(); ++g) {
    const GroupPlan& later = plan_.groups[g];
    bool any = false;
    for (std::size_t a = 0; a < later.alternatives && !any; ++a) {
      const RequestPlan& alternative = plan_.requests[later.first + a];
      any = alternative.all ||
            canFill(alternative, thorough_->candidates[later.first + a], alternative.count, 0);
    }
    if (!any) return true;
  }
  return false;
}

}  // namespace koord::scheduler::dra
