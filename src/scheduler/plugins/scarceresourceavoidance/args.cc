#include "scheduler/plugins/scarceresourceavoidance/args.h"

namespace koord::scheduler {

ScarceResourceAvoidanceArgs ScarceResourceAvoidanceArgs::read(Fields& fields) {
  ScarceResourceAvoidanceArgs args{fields.texts("resources")};
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
