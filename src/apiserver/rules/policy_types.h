#pragma once

// Type checking of ValidatingAdmissionPolicies. Expressions are evaluated without types, so a wrong
// field name is found when a request comes. This finds it earlier, for the kinds that a policy
// names without wildcards, and only warns.
//
// Cost: compiles the policy once for each kind.

#include <string>
#include <vector>

#include "api/schema/schema.h"

namespace koord::apiserver {

struct PolicyKind {
  std::string name;  // "apps/v1, Kind=Deployment"
  const api::Schema* schema = nullptr;
};

// status.typeChecking.expressionWarnings of the policy. `objectMeta` is the schema of metadata.
// `params`: that of the policy's paramKind; nullptr if it is not known.
json::array expressionWarnings(const json::value& spec, const std::vector<PolicyKind>& kinds,
                               const api::Schema* params, const api::Schema& objectMeta);

}  // namespace koord::apiserver
