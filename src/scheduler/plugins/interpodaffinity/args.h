#pragma once

// InterPodAffinityArgs.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct InterPodAffinityArgs {
  // The weight of a running pod's required affinity when nodes are scored for a pod that it
  // selects.
  std::int64_t hardPodAffinityWeight = 1;  // 0 to 100
  bool ignorePreferredTermsOfExistingPods = false;

  static InterPodAffinityArgs read(Fields& fields) {
    InterPodAffinityArgs args;
    args.hardPodAffinityWeight = fields.integer("hardPodAffinityWeight", 1, 0, 100);
    args.ignorePreferredTermsOfExistingPods =
        fields.boolean("ignorePreferredTermsOfExistingPods", false);
    fields.refuseUnknown();
    return args;
  }
};

}  // namespace koord::scheduler
