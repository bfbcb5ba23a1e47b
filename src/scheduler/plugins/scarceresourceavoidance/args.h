#pragma once

// ScarceResourceAvoidanceArgs.

#include <string>
#include <vector>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct ScarceResourceAvoidanceArgs {
  std::vector<std::string> resources;  // keeps pods that do not request them off nodes with them

  static ScarceResourceAvoidanceArgs read(Fields& fields);
};

}  // namespace koord::scheduler
