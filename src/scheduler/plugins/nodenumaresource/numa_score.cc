#include "scheduler/plugins/nodenumaresource/numa_score.h"

namespace koord::scheduler {

ZoneScorer::ZoneScorer(ResourceNames& names, const ScoringStrategy& strategy)
    : most_(strategy.type == ScoringStrategy::Type::MostAllocated) {
  for (const ResourceWeight& resource : strategy.resources)
    resources_.push_back({names.intern(resource.name), resource.weight});
}

}  // namespace koord::scheduler
