#pragma once

// NodeAffinityArgs: a node affinity that every pod of the profile gets in addition to its own.

#include <optional>

#include "api/pod.h"
#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct NodeAffinityArgs {
  std::optional<api::NodeAffinity> addedAffinity;

  static NodeAffinityArgs read(Fields& fields);
};

}  // namespace koord::scheduler
