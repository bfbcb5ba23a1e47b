#pragma once

// The candidate nodes of a gang whose members must be together in one topology domain, for example
// in one rack: the nodes with one value of a label.

#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

// One set per value of the gang's topology key, the sets with the most nodes first, then by value.
// If members are already placed, only the domain of the first of these. Nodes without the label are
// in no domain. Never empty: without a domain, one set of no nodes, which fits no pod. Costs a walk
// over all nodes.
std::vector<GroupDomain> topologyDomains(Gangs& gangs, const Gang& gang);

}  // namespace koord::scheduler
