#pragma once

// The transformations of pods and nodes from the model layer, in the scheduler's namespace.

#include "model/transforms.h"

namespace koord::scheduler {
using model::PodTransforms;
using model::renameBatchResources;
using model::renameDeviceResources;
using model::transformNode;
using model::transformPod;
}  // namespace koord::scheduler
