#pragma once

// The simulation of "koordctl simulate --snapshot FILE": a scheduler is filled with the objects of
// the file, and answers as a running koord-scheduler does (scheduler/oracle). It needs no cluster.
// Virtual time begins when the snapshot was taken.
//
// What a running scheduler knows beyond its objects is not in a file: backoffs, nominations in
// flight, its random numbers. Among equally good nodes another one may be chosen, and pods that
// wait are tried again.

#include <string>

#include "koordctl/simulate/question.h"

namespace koord::koordctl {

// spec: an object, as of a Simulation. Its configuration is the scheduler's; if it is null, the
// ConfigMap koordinator-system/koord-scheduler-config in the snapshot has it, or it is the
// recommended one. Errors name the file, or the field of the question. Blocks.
Result<SimulationAnswer> simulateOnSnapshot(const std::string& file, json::value spec);
// The same on a cluster without any objects.
Result<SimulationAnswer> simulateOnNothing(json::value spec);

}  // namespace koord::koordctl
