#pragma once

// A runtime hook in reconcile mode: the values it wants in the cgroup files of pods and containers.
// The reconciler (reconciler.h) asks for them again and again, so a hook keeps no account of what
// it set.

#include <vector>

#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

struct HookUpdates {
  std::vector<CgroupUpdate> qos;  // QoS class directories
  std::vector<CgroupUpdate> pods;
  std::vector<CgroupUpdate> containers;
};

class Hook {
 public:
  virtual ~Hook() = default;
  // Called once before the pods of each round.
  virtual void prepare(const States& states, HookUpdates& updates) = 0;
  // Called for each active pod.
  virtual void wanted(const PodView& pod, HookUpdates& updates) = 0;
};

}  // namespace koord::koordlet
