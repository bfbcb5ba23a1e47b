#pragma once

// The question of a simulation, as users write it: manifests and flags become the document of kind
// Simulation that koord-scheduler answers (scheduler/oracle/question.h).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::koordctl {

// The pod of a Pod or of a workload's template, to be created in a dry run; null for other objects.
json::value podOf(const json::value& object);
// Replaces the pod, or the template, by what the dry run returned.
void takePod(json::value& object, const json::value& pod);

// The key of a Job that the cluster may have; nullopt for other objects, and for a Job that has a
// uid, as from 'kubectl get -o yaml'.
std::optional<api::ObjectKey> jobIn(const json::value& object);
// Gives the Job of the question the uid and the status of that of the cluster, so that only what
// still has to run is simulated.
void takeJob(json::value& object, const json::value& job);

// Amounts as "cpu=8,memory=32Gi". Invalid: another text; `flag` names it in the error.
Result<json::object> amountsIn(const std::string& text, const std::string& flag);

// An entry of spec.addNodes. shape: a node's name, or amounts as "cpu=8,memory=32Gi,pods=110".
Result<json::value> newNodes(int count, const std::string& shape);

// spec.when for "pod/NAME", "gang/NAMESPACE/NAME" or "quota/NAME". Invalid: another text.
Result<json::object> startsIn(const std::vector<std::string>& names, const std::string& namespace_);

struct SimulationAnswer {
  json::value result;              // a SimulationResult
  std::vector<std::string> notes;  // what the question lacked, or how the asked scheduler differs
};

}  // namespace koord::koordctl
