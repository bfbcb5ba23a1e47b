#pragma once

// CoschedulingArgs.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct CoschedulingArgs {
  Duration defaultTimeout = std::chrono::seconds(600);
  std::int64_t controllerWorkers = 1;
  bool enablePreemption = false;
  bool awareNetworkTopology = false;
  std::string defaultMatchPolicy = "once-satisfied";  // as configured: every text is accepted

  static CoschedulingArgs read(Fields& fields);
};

}  // namespace koord::scheduler
