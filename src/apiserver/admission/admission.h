#pragma once

// Admission as users configure it: policies in CEL, and webhooks.
//
// The order is that of kube-apiserver. A write passes the mutating policies, the mutating webhooks,
// and both a second time if they changed the object (reinvocation.h); then, when the object is
// complete and valid, the validating policies and the validating webhooks.
//
// On the server's executor. Other requests run while a webhook is called and between expressions of
// policies that cost much. Configurations may change meanwhile.

#include "apiserver/admission/mutating_policies.h"
#include "apiserver/admission/validating_policies.h"
#include "apiserver/admission/webhooks.h"

namespace koord::apiserver {

class Admission {
 public:
  Admission(Executor& executor, WebhookCaller caller, Random& random)
      : executor_(executor), webhooks_(std::move(caller), random, host_) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  void setHost(AdmissionHost host) { host_ = std::move(host); }

  // Follows the objects of admissionregistration.k8s.io. Called with each stored version, and with
  // null after a deletion.
  void follow(std::string_view plural, const std::string& name, const json::value* object);

  // Return true if anything may apply to the request. Cheap.
  bool wantsMutating(const AdmissionAttributes& attributes) const;
  bool wantsValidating(const AdmissionAttributes& attributes) const;

  // Returns the object after the mutating policies and webhooks; nullopt if they did not change it.
  using Mutated = std::optional<json::value>;
  Task<Outcome<Mutated>> mutate(AdmissionAttributes attributes, CompleteObject complete,
                                AdmissionNotes notes);
  // The same for the object in `attributes`. Returns true if it was changed.
  Task<Outcome<bool>> mutateInPlace(AdmissionAttributes& attributes, CompleteObject complete,
                                    AdmissionNotes notes);
  Task<Outcome<>> validate(const AdmissionAttributes& attributes, AdmissionNotes notes);

 private:
  Executor& executor_;
  AdmissionHost host_;
  MutatingPolicies mutating_;
  ValidatingPolicies validating_;
  Webhooks webhooks_;
};

}  // namespace koord::apiserver
