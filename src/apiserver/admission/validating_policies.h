#pragma once

// ValidatingAdmissionPolicies: rules in CEL about requests, which their bindings put into force.
//
// A policy says which requests it is about and what must be true of them (rules/policy_program.h).
// A binding names a policy, may narrow the requests, gives parameters, and says what happens if a
// validation fails: the request is denied, its user warned, or the failure noted in the audit log.
// A policy without a binding has no effect.

#include "apiserver/admission/pauses.h"
#include "apiserver/admission/policy_set.h"
#include "apiserver/rules/policy_program.h"

namespace koord::apiserver {

class ValidatingPolicies : public PolicySet<PolicyProgram> {
 public:
  // The failure of a denied request: the first denial, by policies and bindings in the order of
  // their names. Policies may change meanwhile. `attributes` and `host` outlive the task.
  Task<Outcome<>> check(const AdmissionAttributes& attributes, const AdmissionHost& host,
                        AdmissionNotes& notes, Pauses& pauses) const;
};

}  // namespace koord::apiserver
