#pragma once

#include "model/transforms.h"

namespace koord::scheduler {
using model::PodTransforms;
using model::renameBatchResources;
using model::renameDeviceResources;
using model::transformNode;
using model::transformPod;
}  // namespace koord::scheduler
