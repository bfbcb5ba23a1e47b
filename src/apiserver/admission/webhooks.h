#pragma once

// Mutating and validating admission webhooks, as registered by MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration objects: which webhooks are called for a write, with what, and
// what the answer means.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/selector.h"
#include "apiserver/admission/host.h"
#include "apiserver/admission/reinvocation.h"
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
  // Draws the uids of reviews from `random`. The host outlives the webhooks.
  Webhooks(WebhookCaller caller, Random& random, const AdmissionHost& host)
      : caller_(std::move(caller)), random_(random), host_(host) {}

  // Follows the configuration objects. Called with each stored version, and with null after a
  // deletion.
  void setMutating(const std::string& name, const json::value* configuration);
  void setValidating(const std::string& name, const json::value* configuration);

  // Returns true if any webhook may match. Cheap.
  bool wantsMutating(const AdmissionAttributes& attributes) const {
    return wants(mutating_, attributes);
  }
  bool wantsValidating(const AdmissionAttributes& attributes) const {
    return wants(validating_, attributes);
  }

  // Calls the mutating webhooks, which change attributes.object, in a round that `rounds` has
  // begun. Sets `again` if there must be a second round. `complete` checks what a webhook returned.
  Task<Outcome<>> mutate(AdmissionAttributes& attributes, Reinvocation& rounds,
                         const CompleteObject& complete, AdmissionNotes& notes, bool& again);
  Task<Outcome<>> validate(const AdmissionAttributes& attributes, AdmissionNotes& notes);

 private:
  struct Hook {
    std::string configuration;
    api::Webhook spec;
    std::vector<RequestRule> rules;
    api::Selector namespaceSelector;
    api::Selector objectSelector;
    std::string caPem;
    std::string problem;  // why it cannot be called
    MatchConditions conditions;
  };
  // By configuration name, then in the order of the configuration. A running write keeps the hooks
  // that it began with.
  using Hooks = std::shared_ptr<const std::vector<Hook>>;

  static void set(Hooks& hooks, const std::string& name, std::vector<api::Webhook> webhooks);
  // The form that the webhook receives; nullopt if its rules do not match the request.
  static std::optional<ResourceForm> formFor(const Hook& hook,
                                             const AdmissionAttributes& attributes,
                                             const RequestForms& forms);
  bool selects(const Hook& hook, const AdmissionAttributes& attributes) const;
  // Returns true if the match conditions are met. A condition that fails counts as the failure
  // policy says.
  Outcome<bool> meetsConditions(const Hook& hook, const AdmissionAttributes& attributes,
                                const ResourceForm& form) const;
  // The request as the webhook sees it: `attributes`, or `shown` after a conversion.
  static const AdmissionAttributes& shownIn(const AdmissionAttributes& attributes,
                                            const RequestForms& forms, const ResourceForm& form,
                                            AdmissionAttributes& shown);
  bool wants(const Hooks& hooks, const AdmissionAttributes& attributes) const;
  // The response. nullopt or an error if the call failed, as the failure policy says.
  Task<Outcome<std::optional<api::AdmissionResponse>>> ask(const Hook& hook,
                                                           const AdmissionAttributes& attributes,
                                                           const ResourceForm& form);

  WebhookCaller caller_;
  Random& random_;
  Hooks mutating_ = std::make_shared<const std::vector<Hook>>();
  Hooks validating_ = mutating_;
  const AdmissionHost& host_;
};

}  // namespace koord::apiserver
