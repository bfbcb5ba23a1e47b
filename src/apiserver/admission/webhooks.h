#pragma once

// Mutating and validating admission webhooks, as registered by MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration objects: which webhooks are called for a write, with what, and
// what the answer means.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/selector.h"
#include "apiserver/admission/matching.h"
#include "apiserver/admission/policies.h"
#include "apiserver/objects/failure.h"
#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "apiserver/rules/match_conditions.h"
#include "apiserver/server/call.h"
#include "base/random.h"
#include "base/task.h"

namespace koord::apiserver {

struct WebhookRequest {
  std::string url;  // clientConfig.url; "" = `service`
  api::ServiceReference service;
  std::string caPem;  // certificate authorities to trust; "" = the system's
  std::chrono::milliseconds timeout{0};
  std::string body;  // an AdmissionReview
};
// Posts the body and returns the body of the answer. Fails unless the status is 200.
using WebhookCaller = std::function<Task<Result<std::string>>(WebhookRequest request)>;

class Webhooks {
 public:
  // Draws the uids of reviews from `random`.
  Webhooks(WebhookCaller caller, Random& random) : caller_(std::move(caller)), random_(random) {}

  // Follows the configuration objects. Called with each stored version, and with null after a
  // deletion.
  void setMutating(const std::string& name, const json::value* configuration);
  void setValidating(const std::string& name, const json::value* configuration);
  // For namespaceSelector.
  void setNamespaceLabels(NamespaceLabels labels) { namespaceLabels_ = std::move(labels); }

  // Returns every form of a resource, its own included; for matchPolicy Equivalent.
  using Forms = std::function<std::vector<ResourceForm>(const Resource& resource)>;
  // Converts an object from one form into another.
  using Convert = std::function<void(json::value& object, const Resource& resource,
                                     std::string_view from, const ResourceForm& to, bool back)>;
  void setForms(Forms forms, Convert convert) {
    forms_ = std::move(forms);
    convert_ = std::move(convert);
  }

  // Answers the checks of match conditions.
  using Authorize =
      std::function<cel::AuthorizationDecision(const User& user, const cel::AuthorizationRequest&)>;
  void setAuthorize(Authorize authorize) { authorize_ = std::move(authorize); }

  // Returns true if any webhook may match. Cheap.
  bool wantsMutating(const AdmissionAttributes& attributes) const {
    return wants(mutating_, attributes);
  }
  bool wantsValidating(const AdmissionAttributes& attributes) const {
    return policies_.wants(attributes) || wants(validating_, attributes);
  }
  // What is checked before the validating webhooks.
  AdmissionPolicies& policies() { return policies_; }

  // Returns the object after all mutating webhooks.
  Task<Outcome<json::value>> mutate(AdmissionAttributes attributes,
                                    std::vector<std::string>& warnings);
  Task<Outcome<>> validate(AdmissionAttributes attributes, std::vector<std::string>& warnings);

 private:
  struct Hook {
    std::string configuration;
    api::Webhook spec;
    api::Selector namespaceSelector;
    api::Selector objectSelector;
    std::string caPem;
    std::string problem;  // why it cannot be called
    MatchConditions conditions;
  };
  using Hooks = std::vector<Hook>;  // by configuration name, then in the order of the configuration

  static void set(Hooks& hooks, const std::string& name, std::vector<api::Webhook> webhooks);
  // The form that the webhook receives; nullopt if its rules do not match the request.
  std::optional<ResourceForm> formFor(const Hook& hook,
                                      const AdmissionAttributes& attributes) const;
  bool selects(const Hook& hook, const AdmissionAttributes& attributes) const;
  // Returns true if the match conditions are met. A condition that fails counts as the failure
  // policy says.
  Outcome<bool> meetsConditions(const Hook& hook, const AdmissionAttributes& attributes,
                                const ResourceForm& form) const;
  json::value converted(json::value object, const AdmissionAttributes& attributes,
                        const ResourceForm& form, bool back) const;
  bool wants(const Hooks& hooks, const AdmissionAttributes& attributes) const;
  // The response. nullopt or an error if the call failed, as the failure policy says.
  Task<Outcome<std::optional<api::AdmissionResponse>>> ask(const Hook& hook,
                                                           const AdmissionAttributes& attributes,
                                                           const ResourceForm& form);

  WebhookCaller caller_;
  Random& random_;
  Hooks mutating_;
  Hooks validating_;
  AdmissionPolicies policies_;
  NamespaceLabels namespaceLabels_;
  Forms forms_;
  Convert convert_;
  Authorize authorize_;
};

}  // namespace koord::apiserver
