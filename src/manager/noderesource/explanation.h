#pragma once

// How the batch and mid resources of a node come about, for people:
//
//   {"node": "n1", "colocation": true, "resources": [
//     {"name": "kubernetes.io/batch-cpu", "value": "12300", "onNode": "12300",
//      "terms": [{"sign": "", "amount": "32", "what": "capacity", "source": "Node: status.capacity"},
//                {"sign": "-", "amount": "12800m", "what": "kept free", "source": "..."}, ...],
//      "note": "..."}]}
//
// Terms are in cores and bytes, in the order in which they are applied: sign "" begins, "+", "-" and "x"
// apply to what there is so far, "most" and "least" bound it. They come from the same steps as the value
// (batchTerms, midTerms). A resource that is withheld has a note instead of terms.

#include "base/json.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// `table` is what the plugins worked out of the view; `enabled` whether co-location is on for the node.
json::value explainNode(const NodeView& view, const ResourceTable& table, bool enabled);

}  // namespace koord::manager
