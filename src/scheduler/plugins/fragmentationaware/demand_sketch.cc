#include "scheduler/plugins/fragmentationaware/demand_sketch.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace koord::scheduler {

std::size_t DemandSketch::freePlace() {
  if (classes_.size() < kClasses) {
    classes_.emplace_back();
    return classes_.size() - 1;
  }
  const auto rarest = std::ranges::min_element(classes_, {}, &Class::count);
  places_.erase(rarest->key);
  return static_cast<std::size_t>(rarest - classes_.begin());
}

void DemandSketch::observe(const std::string& key, const PodAsk& ask,
                           const std::shared_ptr<const api::Pod>& example) {
  auto it = places_.find(key);
  if (it == places_.end()) {
    const std::size_t place = freePlace();
    Class& taken = classes_[place];
    taken = {.key = key, .ask = ask, .example = example, .count = taken.count};
    it = places_.emplace(key, place).first;
  }
  ++classes_[it->second].count;
  if (++total_ >= kDecayAt) decay();
}

void DemandSketch::decay() {
  std::vector<Class> kept;
  total_ = 0;
  places_.clear();
  for (Class& each : classes_) {
    each.count /= 2;
    if (each.count == 0) continue;
    total_ += each.count;
    places_.emplace(each.key, kept.size());
    kept.push_back(std::move(each));
  }
  classes_ = std::move(kept);
}

std::vector<DemandSketch::Class> DemandSketch::frequent(bool withGpus, std::size_t limit) const {
  std::vector<Class> result;
  std::int64_t total = 0;
  for (const Class& each : classes_) {
    if ((each.ask.gpus.count > 0) != withGpus) continue;
    result.push_back(each);
    total += each.count;
  }
  std::ranges::sort(result, [](const Class& a, const Class& b) {
    return a.count != b.count ? a.count > b.count : a.key < b.key;
  });
  std::size_t keep = 0;
  for (std::int64_t covered = 0; keep < std::min(limit, result.size()); ++keep) {
    if (covered * 100 >= total * 95) break;
    covered += result[keep].count;
  }
  result.resize(keep);
  return result;
}

std::int64_t DemandSketch::distance(const std::vector<Class>& a, const std::vector<Class>& b) {
  const auto sharesOf = [](const std::vector<Class>& classes) {
    std::int64_t total = 0;
    for (const Class& each : classes) total += each.count;
    std::map<std::string, std::int64_t> shares;
    for (const Class& each : classes) shares[each.key] = each.count * 1'000'000 / total;
    return shares;
  };
  std::map<std::string, std::int64_t> difference = sharesOf(a);
  for (const auto& [key, share] : sharesOf(b)) difference[key] -= share;
  std::int64_t sum = 0;
  for (const auto& [key, share] : difference) sum += std::abs(share);
  return sum / 2000;
}

}  // namespace koord::scheduler
