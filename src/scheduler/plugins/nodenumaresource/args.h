#pragma once

// NodeNUMAResourceArgs.

#include "scheduler/config/scoring_strategy.h"

namespace koord::scheduler {

struct NodeNUMAResourceArgs {
  // FullPCPUs, SpreadByPCPUs; "": pods without a policy are not bound to CPUs.
  std::string defaultCPUBindPolicy = "FullPCPUs";
  ScoringStrategy scoringStrategy{ScoringStrategy::Type::LeastAllocated,
                                  {{"cpu", 1}, {"memory", 1}}};
  ScoringStrategy numaScoringStrategy = scoringStrategy;

  static NodeNUMAResourceArgs read(Fields& fields);
};

}  // namespace koord::scheduler
