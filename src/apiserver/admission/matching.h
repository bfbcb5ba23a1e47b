#pragma once

// What admission webhooks and policies have in common: which requests a rule matches, what a
// request looks like to them, and what its user may do.

#include <functional>
#include <string_view>

#include "api/admission.h"
#include "api/selector.h"
#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "apiserver/server/call.h"
#include "cel/library/kubernetes_authz.h"

namespace koord::apiserver {

// The attributes of a request that webhooks and policies decide about.
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
  std::string objectKind = {};     // of the object, if a subresource has another kind: "Binding"
  std::string objectVersion = {};  // "v1", "policy/v1"
};

// A group and version that serves the same objects.
struct ResourceForm {
  ResourcePtr resource;  // null: the resource that the request names
  std::string version;
};

// Returns true if the rule matches the request, as one to this version of the resource.
bool matchesRule(const api::RuleWithOperations& rule, const AdmissionAttributes& attributes,
                 const Resource& resource, std::string_view version);
// Returns true if an object, the old or the new one, has the labels.
bool selectsObject(const api::Selector& selector, const AdmissionAttributes& attributes);
using NamespaceLabels = std::function<api::StringMap(std::string_view name)>;
// Returns true if the namespace of the request, or the namespace that it is about, has the labels.
// True for requests that are for no namespace.
bool selectsNamespace(const api::Selector& selector, const AdmissionAttributes& attributes,
                      const NamespaceLabels& labels);
// The request of an AdmissionReview without uid and objects.
json::object requestOf(const AdmissionAttributes& attributes, const ResourceForm& form);

// Answers the checks of CEL expressions for a user. Without an `authorize` everything is allowed.
using Authorize =
    std::function<cel::AuthorizationDecision(const User& user, const cel::AuthorizationRequest&)>;
class UserAuthorizer final : public cel::Authorizer {
 public:
  UserAuthorizer(const Authorize& authorize, const User& user)
      : authorize_(authorize), user_(user) {}
  cel::AuthorizationDecision authorize(const cel::AuthorizationRequest& request) const override;

 private:
  const Authorize& authorize_;
  const User& user_;
};

}  // namespace koord::apiserver
