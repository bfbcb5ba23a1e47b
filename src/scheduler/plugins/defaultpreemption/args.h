#pragma once

// DefaultPreemptionArgs: how many candidate nodes are enough.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct DefaultPreemptionArgs {
  // The larger of both counts.
  std::int64_t minCandidateNodesPercentage = 10;
  std::int64_t minCandidateNodesAbsolute = 100;

  static DefaultPreemptionArgs read(Fields& fields) {
    DefaultPreemptionArgs args;
    args.minCandidateNodesPercentage = fields.integer("minCandidateNodesPercentage", 10, 0, 100);
    args.minCandidateNodesAbsolute = fields.integer("minCandidateNodesAbsolute", 100, 0, INT32_MAX);
    if (args.minCandidateNodesPercentage == 0 && args.minCandidateNodesAbsolute == 0) {
      fields.error(
          "minCandidateNodesPercentage",
          "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute");
    }
    fields.refuseUnknown();
    return args;
  }
};

}  // namespace koord::scheduler
