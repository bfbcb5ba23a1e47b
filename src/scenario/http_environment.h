#pragma once

// A test's world on a cluster that runs already, reached through a kubeconfig: real time, discovery
// and processes.

#include <memory>
#include <string>

#include "base/result.h"
#include "scenario/environment.h"

namespace koord::scenario {

// The environment is used by one thread; "" finds the kubeconfig as kubectl does.
Result<std::unique_ptr<Environment>> connectTo(const std::string& kubeconfig);

}  // namespace koord::scenario
