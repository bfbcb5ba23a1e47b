#pragma once

// For plugins of the scheduler, and for what drives them.

#include "kube.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/registry.h"
