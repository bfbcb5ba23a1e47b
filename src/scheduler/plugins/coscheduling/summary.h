#pragma once

// What operators see of gangs, below /apis/v1/plugins/Coscheduling/:
//
//   gangs                      every gang by its id, as upstream shows it
//   gang/NAMESPACE/NAME        one gang
//   diagnosis/NAMESPACE/NAME   one gang, with what its group has, what it lacks and why it waits
//   explain/NAMESPACE/POD      what a pod's gang group has, what it lacks and why it waits

#include <vector>

#include "scheduler/framework/services.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"

namespace koord::scheduler {

json::object gangSummary(const GangCycles& cycles, const Gangs& gangs, const Gang& gang);

// {"gang": id, "groups": [{name, minMember, present, bound, missing, failed: [{pod, reason}]}],
//  "waitingFor": text}
json::object explainGang(const GangCycles& cycles, const Gangs& gangs, const Gang& gang);

// The same as a text; "" for a gang that only waits for its turn.
std::string gangShortageText(const GangCycles& cycles, const Gangs& gangs, const Gang& gang);

// Both in one object.
json::object diagnoseGang(const GangCycles& cycles, const Gangs& gangs, const Gang& gang);

std::vector<ServicePlugin::Route> gangRoutes(GangCycles& cycles);

}  // namespace koord::scheduler
