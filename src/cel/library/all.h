#pragma once

// Sets of libraries.

#include <vector>

#include "cel/library.h"

namespace koord::cel {

// The standard definitions and all extensions of the language that cel-spec tests.
std::vector<const Library*> conformanceLibraries();

// What every expression in Kubernetes can use (its base environment). Environments of Kubernetes
// also refuse literals of mixed types (EnvironmentOptions::homogeneousLiterals) and have costs of
// their own (kubernetes_cost.h):
//
//   options.libraries = kubernetesLibraries();
//   options.homogeneousLiterals = true;
//   options.costModel = &kubernetesCosts();
std::vector<const Library*> kubernetesLibraries();

}  // namespace koord::cel
