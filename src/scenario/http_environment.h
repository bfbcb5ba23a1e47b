#pragma once

// A test environment on a running cluster, reached through a kubeconfig: real time, discovery and
// processes.

#include <memory>
#include <string>

#include "base/result.h"
#include "scenario/environment.h"

namespace koord::scenario {

// One thread uses the environment; "" finds the kubeconfig as kubectl does.
Result<std::unique_ptr<Environment>> connectTo(const std::string& kubeconfig);

}  // namespace koord::scenario
