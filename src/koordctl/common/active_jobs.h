#pragma once

// The Jobs that run, for estimates of starts: koord-scheduler reads no Jobs, so it asks koordctl
// for their completions and deadlines.

#include "base/json.h"
#include "kube/api.h"

namespace koord::koordctl {

// Of all namespaces, else of this one, if the user may list no others; none if that fails, too.
// Each has the fields that a question takes (scheduler/oracle/starts/starts_question.h). A question
// has a limited size: the rest is left out.
Task<json::array> activeJobs(kube::Api& api, std::string namespace_);

// The Jobs of a list that run.
json::array activeJobsIn(const json::value& list);

}  // namespace koord::koordctl
