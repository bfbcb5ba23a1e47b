#pragma once

// SchedulingHintArgs.

#include <limits>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct SchedulingHintArgs {
  std::int64_t maxHintNodes = 100;  // further preferred nodes are ignored

  static SchedulingHintArgs read(Fields& fields) {
    SchedulingHintArgs args;
    args.maxHintNodes =
        fields.integer("maxHintNodes", 100, 1, std::numeric_limits<std::int32_t>::max());
    fields.refuseUnknown();
    return args;
  }
};

}  // namespace koord::scheduler
