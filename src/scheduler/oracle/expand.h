#pragma once

// From the objects of a question to what the scheduler will see: workloads become pods, as their
// controllers would create them, and the sets that spreading constraints read.
//
// The manifests should have the defaults that the API server adds; koordctl gets them from a dry
// run. Added here: the namespace "default", the scheduler "default-scheduler", requests that equal
// limits, and the fields that only the server sets.

#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "scheduler/oracle/question.h"

namespace koord::scheduler::oracle {

struct AskedPod {
  std::shared_ptr<api::Pod> pod;
  std::string of;  // "Deployment default/web"; "" = the pod itself
};

struct Expansion {
  std::vector<json::value> objects;  // of kinds that plugins read
  std::vector<json::value> nodes;    // Node objects
  std::vector<AskedPod> pods;
  std::uint64_t leftOut = 0;         // pods beyond the limit
  std::vector<std::string> ignored;  // objects that do not matter to scheduling
};

// Invalid: a field cannot be read; the error names it.
Result<Expansion> expand(const Question& question, std::size_t maxPods);

}  // namespace koord::scheduler::oracle
