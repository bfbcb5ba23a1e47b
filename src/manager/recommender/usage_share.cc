#include "manager/recommender/usage_share.h"

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

double requestedAmount(const api::Container& container, std::string_view native) {
  const auto& requests = container.resources.requests;
  const bool cpu = native == model::kCpu;
  const double own = model::amountOf(requests, native).toDouble();
  if (own > 0) return own;
  for (const auto name :
       {cpu ? model::kBatchCpu : model::kBatchMemory, cpu ? model::kMidCpu : model::kMidMemory})
    if (const double lent = model::amountOf(requests, name).toDouble(); lent > 0)
      return cpu ? lent / 1000 : lent;
  return 0;
}

std::vector<ContainerUsage> shareUsage(const api::Pod& pod, const api::ResourceList& usage) {
  std::vector<ContainerUsage> shares;
  double cores = 0;
  double bytes = 0;
  for (const auto& container : pod.spec.containers) {
    cores += requestedAmount(container, model::kCpu);
    bytes += requestedAmount(container, model::kMemory);
  }
  const auto count = static_cast<double>(pod.spec.containers.size());
  const double usedCores = model::amountOf(usage, model::kCpu).toDouble();
  const double usedBytes = model::amountOf(usage, model::kMemory).toDouble();
  for (const auto& container : pod.spec.containers) {
    const double ofCores = cores > 0 ? requestedAmount(container, model::kCpu) / cores : 1 / count;
    const double ofBytes =
        bytes > 0 ? requestedAmount(container, model::kMemory) / bytes : 1 / count;
    shares.push_back({container.name, usedCores * ofCores, usedBytes * ofBytes});
  }
  return shares;
}

}  // namespace koord::manager
