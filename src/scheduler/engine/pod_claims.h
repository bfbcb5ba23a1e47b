#pragma once

// The PersistentVolumeClaims of a pod.

#include "model/volumes.h"

namespace koord::scheduler {

using model::claimsOf;
using model::PodClaim;

}  // namespace koord::scheduler
