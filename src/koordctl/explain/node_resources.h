#pragma once

// The computation of a node's batch and mid resources, as lines of a sum:
//
//   batch-cpu 12.30 cores
//       32.00  capacity           Node: status.capacity[cpu]
//     - 12.80  kept free          40% of the capacity ...
//
// Never fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// koord-manager's /apis/v1/explain/nodes/NAME; returns "" if the document has no resources.
std::string nodeResourcesText(const json::value& answer);

}  // namespace koord::koordctl
