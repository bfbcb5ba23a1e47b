#pragma once

// Mutating and validating admission webhooks, as registered by MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration objects: who is called for a write, with what, and what the answer
// means.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/selector.h"
#include "apiserver/objects/failure.h"
#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "apiserver/server/call.h"
#include "base/random.h"
#include "base/task.h"

namespace koord::apiserver {

struct WebhookRequest {
  std::string url;  // where clientConfig.url says, or "" and then
  api::ServiceReference service;
  std::string caPem;  // whom to trust; "" = the system's authorities
  std::chrono::milliseconds timeout{0};
  std::string body;  // an AdmissionReview
};
// Posts the body and gives back the answer's, whose status was 200.
using WebhookCaller = std::function<Task<Result<std::string>>(WebhookRequest request)>;

// What a webhook is asked about.
struct AdmissionAttributes {
  const Resource* resource = nullptr;
  std::string version;
  std::string subresource;
  std::string name;
  std::string namespace_;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  User user;
  bool dryRun = false;
  json::value object;              // in the requested version; null for DELETE
  json::value oldObject;           // null for CREATE
  std::string objectKind = {};     // of the object, where a subresource has its own: "Binding"
  std::string objectVersion = {};  // "v1", "policy/v1"
};

// One of the groups and versions by which the same objects are reached.
struct ResourceForm {
  ResourcePtr resource;  // null: the one that the request names
  std::string version;
};

class Webhooks {
 public:
  // uids of reviews are drawn from `random`.
  Webhooks(WebhookCaller caller, Random& random) : caller_(std::move(caller)), random_(random) {}

  // Follows the configuration objects; called with each stored version, or null when one is gone.
  void setMutating(const std::string& name, const json::value* configuration);
  void setValidating(const std::string& name, const json::value* configuration);
  // For namespaceSelector: the labels of a namespace.
  using NamespaceLabels = std::function<api::StringMap(std::string_view name)>;
  void setNamespaceLabels(NamespaceLabels labels) { namespaceLabels_ = std::move(labels); }

  // For matchPolicy Equivalent: every form of a resource, also its own.
  using Forms = std::function<std::vector<ResourceForm>(const Resource& resource)>;
  // Brings an object from the one form into the other.
  using Convert = std::function<void(json::value& object, const Resource& resource,
                                     std::string_view from, const ResourceForm& to, bool back)>;
  void setForms(Forms forms, Convert convert) {
    forms_ = std::move(forms);
    convert_ = std::move(convert);
  }

  // Cheap: whether any webhook could be interested.
  bool wantsMutating(const AdmissionAttributes& attributes) const {
    return wants(mutating_, attributes);
  }
  bool wantsValidating(const AdmissionAttributes& attributes) const {
    return wants(validating_, attributes);
  }

  // The object after all mutating webhooks.
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
    std::string problem;  // why it can never be called
  };
  using Hooks = std::vector<Hook>;  // by configuration name, then as written there

  static void set(Hooks& hooks, const std::string& name, std::vector<api::Webhook> webhooks);
  // The form in which the webhook is asked; null when its rules leave the request out.
  std::optional<ResourceForm> formFor(const Hook& hook,
                                      const AdmissionAttributes& attributes) const;
  bool selects(const Hook& hook, const AdmissionAttributes& attributes) const;
  json::value converted(json::value object, const AdmissionAttributes& attributes,
                        const ResourceForm& form, bool back) const;
  bool wants(const Hooks& hooks, const AdmissionAttributes& attributes) const;
  // The response; an error stands for "could not be asked" and has been through the failure policy.
  Task<Outcome<std::optional<api::AdmissionResponse>>> ask(const Hook& hook,
                                                           const AdmissionAttributes& attributes,
                                                           const ResourceForm& form);

  WebhookCaller caller_;
  Random& random_;
  Hooks mutating_;
  Hooks validating_;
  NamespaceLabels namespaceLabels_;
  Forms forms_;
  Convert convert_;
};

}  // namespace koord::apiserver
