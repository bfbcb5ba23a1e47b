#pragma once

// From the objects of a question to what the scheduler will see: workloads become pods, as their
// controllers would create them, and the sets that spreading constraints read.
//
// The manifests should have the defaults that the API server adds; koordctl gets them from a dry
// run. Added here: the namespace "default", the scheduler "default-scheduler", requests that equal
// limits, and the fields that only the server sets.

#include <functional>
#include <map>
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
  std::uint64_t leftOut = 0;       // pods beyond the limit
  std::vector<std::string> notes;  // what is not simulated
};

enum class Workload { None, Deployment, ReplicaSet, ReplicationController, StatefulSet, Job };
// None: other kinds.
Workload workloadOf(const QuestionObject& object);
// False for objects that change nothing in a simulation: ConfigMaps, DaemonSets and others.
bool isSimulated(const QuestionObject& object);

// True if the cluster has a pod of that name. May be empty.
using PodExists = std::function<bool(const api::ObjectKey& pod)>;

// How many pods the workloads have that the cluster has already, by the paths of their objects. Of
// such a Job what still has to run is counted: not what its status says has succeeded, and nothing
// if it has ended.
using PodCounts = std::map<std::string, std::uint64_t>;

// Invalid: a field cannot be read, or a pod exists; the error names the field.
Result<Expansion> expand(const Question& question, std::size_t maxPods, const PodExists& exists,
                         const PodCounts& existing);

}  // namespace koord::scheduler::oracle
