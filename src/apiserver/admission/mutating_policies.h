#pragma once

// MutatingAdmissionPolicies: patches in CEL (rules/mutation_program.h) that their bindings put into
// force. They are applied before the mutating webhooks are called, by policies and bindings in the
// order of their names, each to what the ones before it made.
//
// What a policy changes has no owner in managedFields. Errors are ignored or deny the request, as
// the failure policy says; a patch that makes an object which its kind does not allow always fails
// it.

#include "apiserver/admission/pauses.h"
#include "apiserver/admission/policy_set.h"
#include "apiserver/admission/reinvocation.h"
#include "apiserver/rules/mutation_program.h"

namespace koord::apiserver {

class MutatingPolicies : public PolicySet<MutationProgram> {
 public:
  // Applies the policies to attributes.object, in a round that `rounds` has begun. Sets `again` if
  // there must be a second round. Policies may change meanwhile. All arguments outlive the task.
  Task<Outcome<>> mutate(AdmissionAttributes& attributes, const AdmissionHost& host,
                         Reinvocation& rounds, const CompleteObject& complete, bool& again,
                         Pauses& pauses) const;
};

}  // namespace koord::apiserver
