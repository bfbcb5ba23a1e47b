#pragma once

// Validation of ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings; `before`
// is null for a new object.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

void validatePolicy(const json::value& policy, const json::value* before, FieldErrors& errors);
void validatePolicyBinding(const json::value& binding, FieldErrors& errors);
void validateMutatingPolicy(const json::value& policy, const json::value* before,
                            FieldErrors& errors);
void validateMutatingPolicyBinding(const json::value& binding, FieldErrors& errors);

}  // namespace koord::apiserver
