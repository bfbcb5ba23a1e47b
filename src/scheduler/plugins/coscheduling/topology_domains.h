#pragma once

// Where a gang may be placed whose members have to be together in one topology domain, for example in
// one rack: the nodes with one value of a label.

#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

// One set per value of the gang's topology key, those with the most nodes first, then by value. While
// members have places already, only the domain of the first of these; nodes without the label are in
// none. Never empty: without a domain, one set of no nodes, which nobody fits. Costs a walk over all
// nodes.
std::vector<GroupDomain> topologyDomains(Gangs& gangs, const Gang& gang);

}  // namespace koord::scheduler
