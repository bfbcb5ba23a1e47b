#pragma once

// DynamicResourcesArgs.

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct DynamicResourcesArgs {
  Duration filterTimeout = std::chrono::seconds(10);    // for one node; 0: no limit
  Duration bindingTimeout = std::chrono::seconds(600);  // for binding conditions of devices

  static DynamicResourcesArgs read(Fields& fields) {
    DynamicResourcesArgs args;
    args.filterTimeout = fields.duration("filterTimeout", args.filterTimeout);
    if (args.filterTimeout < Duration::zero())
      fields.error("filterTimeout", "must be zero or positive");
    args.bindingTimeout = fields.duration("bindingTimeout", args.bindingTimeout);
    if (args.bindingTimeout < std::chrono::seconds(1))
      fields.error("bindingTimeout", "must be at least 1 second");
    fields.refuseUnknown();
    return args;
  }
};

}  // namespace koord::scheduler
