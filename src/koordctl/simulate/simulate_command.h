#pragma once

// "koordctl simulate": asks the running koord-scheduler what would happen: where the pods of
// manifests would go, which pods would be preempted, what stays pending and what it takes; also
// after nodes are added, drained or lost, or with another configuration. Nothing is written. With
// --snapshot the objects of a file take the place of the cluster (snapshot_simulation.h). With
// --trace it replays a trace instead (trace/trace_command.h), with --colocation it runs the
// co-location study (colocation/colocation_command.h).
//
// Exit status: 0 all pods get nodes, 1 some do not, 2 there is no answer.

#include <cstdint>
#include <string>
#include <vector>

#include "base/flags/command.h"
#include "koordctl/colocation/colocation_command.h"
#include "koordctl/simulate/ask.h"
#include "koordctl/trace/trace_command.h"

namespace koord::koordctl {

struct SimulateOptions {
  std::vector<std::string> files;
  std::int32_t addNodes = 0;
  std::string shape;  // a node's name, or "cpu=8,memory=32Gi"
  std::vector<std::string> drain;
  std::vector<std::string> lose;
  std::vector<std::string> when;  // "pod/NAME", "gang/NAMESPACE/NAME", "quota/NAME"
  bool explain = false;
  std::string output;  // "", json, yaml
  SimulationSource source;
  // With a trace only this is used. Without one, its configs have at most one element: the
  // KubeSchedulerConfiguration of the question.
  TraceFlags replay;
  ColocationFlags study;
};

// `options` must outlive the commands.
void addSimulateCommand(flags::Commands& commands, SimulateOptions& options);

}  // namespace koord::koordctl
