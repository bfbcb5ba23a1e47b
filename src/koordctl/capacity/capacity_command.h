#pragma once

// "koordctl capacity": how many more pods of a shape fit, by pool of nodes and by quota, and what
// stays free without use; or, with --nodes-for, how many nodes of a shape some workloads need. It
// asks a scheduler (scheduler/oracle/filling.h, nodes_needed.h) as 'koordctl simulate' does, on a
// cluster, a snapshot, or, with --no-cluster, on nothing.
//
// Exit status: 0 a copy fits, or some number of nodes is enough; 1 not; 2 there is no answer.

#include "base/flags/command.h"
#include "koordctl/capacity/capacity_question.h"
#include "koordctl/simulate/ask.h"

namespace koord::koordctl {

struct CapacityOptions {
  CapacityQuestion question;
  std::vector<std::string> quotas;  // one question for each; empty: that of the pods
  std::string output;               // "", json, yaml
  SimulationSource source;
};

// `options` must outlive the commands.
void addCapacityCommand(flags::Commands& commands, CapacityOptions& options);

}  // namespace koord::koordctl
