#pragma once

// PodTopologySpreadArgs: constraints for pods that have none of their own.

#include "api/pod.h"
#include "scheduler/config/fields.h"

namespace koord::scheduler {

enum class SpreadDefaulting { System, List };

struct PodTopologySpreadArgs {
  SpreadDefaulting defaulting = SpreadDefaulting::System;
  api::List<api::TopologySpreadConstraint> constraints;  // with List

  static PodTopologySpreadArgs read(Fields& fields);
};

}  // namespace koord::scheduler
