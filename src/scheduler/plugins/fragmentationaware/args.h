#pragma once

// FragmentationAwareArgs.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct FragmentationAwareArgs {
  std::int64_t futures = 16;          // sampled sequences of future pods
  std::int64_t pressurePercent = 25;  // weight of the pressure on scarce nodes

  static FragmentationAwareArgs read(Fields& fields);
};

}  // namespace koord::scheduler
