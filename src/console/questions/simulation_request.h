#pragma once

// The question of the page What would happen if?:
//
//   {"manifest": TEXT, "spec": {...}, "configuration": TEXT}
//
// The manifest has YAML documents or JSON as kubectl takes them, "" for none; the spec is
// that of a Simulation (scheduler/oracle/question.h) without objects and configuration; the
// configuration is a KubeSchedulerConfiguration as YAML or JSON, "" or absent for the scheduler's
// own.

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace koord::console {

// The spec with the objects of the manifest, which get this namespace if they name none, and the
// configuration. Errors are Invalid and name the field.
Result<json::object> simulationSpec(const std::string& request, const std::string& namespace_);

}  // namespace koord::console
