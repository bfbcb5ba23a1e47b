#pragma once

// CountedResources: offered by the plugin that keeps pods off nodes without room for their requests
// (NodeResourcesFit), to plugins that sum up what pods need before nodes are searched.

#include "scheduler/engine/resources.h"

namespace koord::scheduler {

class CountedResources {
 public:
  virtual ~CountedResources() = default;
  // Whether a pod that asks for this resource needs that much of it to be free on its node.
  virtual bool counts(ResourceId resource) const = 0;
};

}  // namespace koord::scheduler
