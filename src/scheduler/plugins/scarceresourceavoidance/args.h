#pragma once

// ScarceResourceAvoidanceArgs.

#include <string>
#include <vector>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct ScarceResourceAvoidanceArgs {
  std::vector<std::string> resources;  // that pods are kept away from which do not ask for them

  static ScarceResourceAvoidanceArgs read(Fields& fields);
};

}  // namespace koord::scheduler
