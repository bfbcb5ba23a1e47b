#pragma once

// The simulation of "koordctl simulate --snapshot FILE": a scheduler is filled with the objects of
// the file, and answers as a running koord-scheduler does (scheduler/oracle). It needs no cluster.
// Virtual time begins when the snapshot was taken.
//
// What a running scheduler knows beyond its objects is not in a file: backoffs, nominations in
// flight, its random numbers. Among equally good nodes another one may be chosen, and pods that
// wait are tried again.

#include <string>
#include <vector>

#include "koordctl/simulate/question.h"

namespace koord::koordctl {

// An answer for each spec of a Simulation. Their configuration, which must be the same, is the
// scheduler's; if they have none, the ConfigMap koordinator-system/koord-scheduler-config in the
// snapshot has it, or it is the recommended one. Errors name the file, or the field. Blocks.
Result<std::vector<SimulationAnswer>> simulateOnSnapshot(const std::string& file,
                                                         std::vector<json::object> specs);
// The same on a cluster without any objects.
Result<std::vector<SimulationAnswer>> simulateOnNothing(std::vector<json::object> specs);

}  // namespace koord::koordctl
