#pragma once

// The question of "koordctl capacity" as the spec of a Simulation (scheduler/oracle/question.h).

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "koordctl/simulate/ask.h"

namespace koord::koordctl {

struct CapacityQuestion {
  std::vector<std::string> files;
  // A pod without a file: its requests as "cpu=4,memory=8Gi", class of priority, and QoS class.
  std::string requests;
  std::string priorityClass;
  std::string qos;
  std::string pools;  // a label of nodes; "" = the usual one
  bool nodesFor = false;
  std::string shape;  // of nodes: amounts, or a node's name
  std::string like;   // a node's name
  std::string config;
};

// What is wrong with the flags; "" = nothing.
std::string problemOf(const CapacityQuestion& question);

// One for each quota, as if all pods belonged to it; quotas: none = one spec, as the files say.
// Objects that name no namespace get this one.
Result<Specs> capacitySpecs(const CapacityQuestion& question, const std::string& namespace_,
                            const std::vector<std::string>& quotas);

}  // namespace koord::koordctl
