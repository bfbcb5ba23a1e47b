#include "scheduler/plugins/loadawarescheduling/amounts.h"

#include <algorithm>
#include <set>

#include "model/well_known.h"

namespace koord::scheduler {

LoadResources::LoadResources(const LoadAwareSchedulingArgs& args) {
  std::set<std::string> names{std::string(model::kCpu), std::string(model::kMemory)};
  for (const auto* list :
       {&args.usageThresholds, &args.prodUsageThresholds, &args.aggregated.usageThresholds,
        &args.resourceWeights, &args.estimatedScalingFactors}) {
    for (const auto& [name, value] : *list) names.insert(name);
  }
  names.insert(args.supportedResources.begin(), args.supportedResources.end());
  names_.assign(names.begin(), names.end());
  cpu_ = static_cast<std::size_t>(std::ranges::lower_bound(names_, model::kCpu) - names_.begin());
  memory_ =
      static_cast<std::size_t>(std::ranges::lower_bound(names_, model::kMemory) - names_.begin());
}

LoadAmounts LoadResources::of(const api::ResourceList& list) const {
  LoadAmounts amounts = none();
  for (std::size_t i = 0; i < size(); ++i)
    if (const auto it = list.find(names_[i]); it != list.end())
      amounts[i] = loadAmount(names_[i], it->second);
  return amounts;
}

LoadAmounts LoadResources::of(const LoadAwareSchedulingArgs::ByResource& numbers) const {
  LoadAmounts amounts = none();
  for (std::size_t i = 0; i < size(); ++i)
    if (const auto it = numbers.find(names_[i]); it != numbers.end()) amounts[i] = it->second;
  return amounts;
}

LoadAmounts LoadResources::of(const LoadReport::PodUsage& usage) const {
  LoadAmounts amounts = none();
  for (std::size_t i = 0; i < size(); ++i) {
    if (i == cpu_) {
      amounts[i] = usage.milliCpu;
    } else if (i == memory_) {
      amounts[i] = usage.memory;
    } else if (const auto it = usage.others.find(names_[i]); it != usage.others.end()) {
      amounts[i] = loadAmount(names_[i], it->second);
    }
  }
  return amounts;
}

json::object LoadResources::toJson(const LoadAmounts& amounts) const {
  json::object out;
  for (std::size_t i = 0; i < size(); ++i) {
    const bool binary = names_[i] == model::kMemory && amounts[i] % 1024 == 0;
    const Quantity quantity = names_[i] == model::kCpu
                                  ? Quantity::ofMilli(amounts[i])
                                  : Quantity::of(amounts[i], binary ? Quantity::Format::BinarySI
                                                                    : Quantity::Format::DecimalSI);
    out[names_[i]] = quantity.toString();
  }
  return out;
}

std::int64_t loadAmount(std::string_view resource, const Quantity& quantity) {
  const std::int64_t amount = resource == model::kCpu ? quantity.milliValue() : quantity.value();
  return std::clamp<std::int64_t>(amount, 0, kMaxLoad);
}

bool hasNoLoad(const LoadAmounts& amounts) {
  return std::ranges::all_of(amounts, [](std::int64_t amount) { return amount == 0; });
}

void addLoad(LoadAmounts& sum, const LoadAmounts& amounts, int sign) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sign * amounts[i];
}

}  // namespace koord::scheduler
