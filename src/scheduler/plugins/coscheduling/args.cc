#include "scheduler/plugins/coscheduling/args.h"

#include <fmt/format.h>

#include "base/time.h"

namespace koord::scheduler {

CoschedulingArgs CoschedulingArgs::read(Fields& fields) {
  CoschedulingArgs args;
  args.defaultTimeout = fields.duration("defaultTimeout", args.defaultTimeout);
  if (args.defaultTimeout < Duration::zero()) {
    fields.error("defaultTimeout", fmt::format("Invalid value: {}: must not be negative",
                                               formatDuration(args.defaultTimeout)));
  }
  args.controllerWorkers = fields.integer("controllerWorkers", 1, 1, INT32_MAX);
  (void)fields.boolean("skipCheckScheduleCycle", false);  // upstream reads it and ignores it
  args.enablePreemption = fields.boolean("enablePreemption", false);
  args.awareNetworkTopology = fields.boolean("awareNetworkTopology", false);
  args.defaultMatchPolicy = fields.text("defaultMatchPolicy", args.defaultMatchPolicy);
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
