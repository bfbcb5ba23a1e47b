#pragma once

#include "cel/library.h"

namespace koord::cel {

// isSorted, sum, min, max, indexOf, lastIndexOf, includes: Kubernetes' library of lists.
const Library& kubernetesListsLibrary();

// find and findAll: Kubernetes' library of regular expressions.
const Library& kubernetesRegexLibrary();

}  // namespace koord::cel
