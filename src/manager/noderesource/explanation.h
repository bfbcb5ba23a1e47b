#pragma once

// Explains the calculation of a node's batch and mid resources, for operators:
//
//   {"node": "n1", "colocation": true, "resources": [
//     {"name": "kubernetes.io/batch-cpu", "value": "12300", "onNode": "12300",
//      "terms": [
//        {"sign": "", "amount": "32", "what": "capacity", "source": "Node: status.capacity"},
//        {"sign": "-", "amount": "12800m", "what": "kept free", "source": "..."}, ...],
//      "note": "..."}]}
//
// Terms are in cores and bytes, in the order of the calculation: sign "" is the start, "+", "-" and
// "x" apply to the result so far, "most" and "least" bound it. They come from the same steps as the
// value (batchTerms, midTerms). A withheld resource has a note instead of terms.

#include "base/json.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// `table`: the plugins' results for the view. `enabled`: true if co-location is enabled on the
// node.
json::value explainNode(const NodeView& view, const ResourceTable& table, bool enabled);

}  // namespace koord::manager
