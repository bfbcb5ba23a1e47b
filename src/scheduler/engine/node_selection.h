#pragma once

// Selectors over all nodes at once, through the label index: the cost of a selector with a few
// labels does not depend on the number of labels of nodes.

#include "api/selector.h"
#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

// Removes from `nodes` those whose labels do not match.
void narrow(Cluster& cluster, const api::Selector& selector, NodeSet& nodes);
void narrow(Cluster& cluster, const api::NodeSelectorMatcher& matcher, NodeSet& nodes);
void narrow(Cluster& cluster, const api::RequiredNodeAffinity& required, NodeSet& nodes);
// The members of `nodes` that match the term.
NodeSet select(Cluster& cluster, const api::NodeTerm& term, const NodeSet& nodes);

}  // namespace koord::scheduler
