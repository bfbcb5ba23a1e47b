#pragma once

// VolumeBindingArgs.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct VolumeBindingArgs {
  Duration bindTimeout = std::chrono::minutes(10);

  static VolumeBindingArgs read(Fields& fields) {
    VolumeBindingArgs args;
    args.bindTimeout =
        std::chrono::seconds(fields.integer("bindTimeoutSeconds", 600, 0, INT32_MAX));
    if (fields.raw("shape"))
      fields.error("shape", "Forbidden: the StorageCapacityScoring feature is off");
    fields.refuseUnknown();
    return args;
  }
};

}  // namespace koord::scheduler
