#include "scheduler/plugins/fragmentationaware/args.h"

namespace koord::scheduler {

FragmentationAwareArgs FragmentationAwareArgs::read(Fields& fields) {
  FragmentationAwareArgs args;
  args.futures = fields.integer("futures", args.futures, 1, 64);
  args.pressurePercent = fields.integer("pressurePercent", args.pressurePercent, 0, 1000);
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
