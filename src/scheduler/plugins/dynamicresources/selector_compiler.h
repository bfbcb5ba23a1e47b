#pragma once

#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler {

// Compiles expressions in the environment of Kubernetes (model/dra_cel.h).
dra::SelectorCompiler& celSelectors();

}  // namespace koord::scheduler
