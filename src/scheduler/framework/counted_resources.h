#pragma once

// CountedResources: offered by the plugin that filters nodes by their free resources
// (NodeResourcesFit) to plugins that sum up what pods need before the search.

#include "scheduler/engine/resources.h"

namespace koord::scheduler {

class CountedResources {
 public:
  virtual ~CountedResources() = default;
  // Returns true if a pod that requests this resource needs that amount free on its node.
  virtual bool counts(ResourceId resource) const = 0;
};

}  // namespace koord::scheduler
