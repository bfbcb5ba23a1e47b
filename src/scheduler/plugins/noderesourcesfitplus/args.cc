#include "scheduler/plugins/noderesourcesfitplus/args.h"

namespace koord::scheduler {

NodeResourcesFitPlusArgs NodeResourcesFitPlusArgs::read(Fields& fields) {
  NodeResourcesFitPlusArgs args;
  for (auto& [resource, strategy] : fields.objects("resources")) {
    args.resources[resource] = {strategy.text("type"),
                                strategy.integer("weight", 0, INT64_MIN, INT64_MAX)};
    strategy.refuseUnknown();
  }
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
