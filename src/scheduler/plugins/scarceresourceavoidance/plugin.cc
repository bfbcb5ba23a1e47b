#include "scheduler/plugins/scarceresourceavoidance/plugin.h"

#include <algorithm>

namespace koord::scheduler {

ScarceResourceAvoidance::ScarceResourceAvoidance(Handle& handle,
                                                 const ScarceResourceAvoidanceArgs& args)
    : cluster_(handle.cluster()) {
  for (const std::string& name : args.resources)
    scarce_.push_back(cluster_.resources().intern(name));
  std::ranges::sort(scarce_);
}

void ScarceResourceAvoidance::sign(const PodInfo& pod, Signature& signature) const {
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount > 0) signature.add(std::int64_t{id});
  });
  signature.add(std::int64_t{-1});
}

// Resource by resource, in the cluster's layout.
Status ScarceResourceAvoidance::score(const CycleState&, const PodInfo& pod,
                                      std::span<const NodeId> nodes,
                                      std::span<std::int64_t> scores) {
  struct Count {
    std::int32_t beyond = 0, scarce = 0;
  };
  std::vector<Count> counts(nodes.size());
  for (ResourceId id = 0; id < cluster_.resources().size(); ++id) {
    // Pods name many resources that no node ever had.
    if (cluster_.highest(id) == 0 || pod.request.amount(id) > 0) continue;
    const auto allocatable = cluster_.allocatable(id);
    const bool scarce = std::ranges::binary_search(scarce_, id);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (Cluster::columnAt(allocatable, nodes[n]) <= 0) continue;
      ++counts[n].beyond;
      counts[n].scarce += scarce ? 1 : 0;
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto [beyond, scarce] = counts[n];
    scores[n] = scarce == 0 ? 100 : (beyond - scarce) * 100 / beyond;
  }
  return {};
}

}  // namespace koord::scheduler
