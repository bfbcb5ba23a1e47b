#pragma once

// What admission webhooks and policies have in common: which requests a rule matches, what a
// request looks like to them, and what its user may do.

#include <functional>
#include <map>
#include <optional>
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

// The forms of resources, and how objects convert between them.
struct FormHost {
  // Every form of a resource, its own included.
  std::function<std::vector<ResourceForm>(const Resource& resource)> forms;
  // Converts an object of the resource from a version into another form; `back`: the other way.
  std::function<void(json::value& object, const Resource& resource, std::string_view from,
                     const ResourceForm& to, bool back)>
      convert;
};

// The forms of the resource of one request, found when they are needed.
class RequestForms {
 public:
  RequestForms(const FormHost& host, const AdmissionAttributes& attributes)
      : host_(host), attributes_(attributes) {}
  const std::vector<ResourceForm>& all() const;
  // An object of the request in another form, or back.
  json::value converted(json::value object, const ResourceForm& form, bool back) const;

 private:
  const FormHost& host_;
  const AdmissionAttributes& attributes_;
  mutable std::optional<std::vector<ResourceForm>> forms_;
};

struct RequestRule {
  api::RuleWithOperations rule;
  std::vector<std::string> names = {};  // of objects; empty: all
};
// The form in which a rule matches the request: that of the request, or else, if others are
// equivalent to it, the first that matches. nullopt: no rule matches.
std::optional<ResourceForm> matchedForm(const std::vector<RequestRule>& rules, bool equivalent,
                                        const AdmissionAttributes& attributes,
                                        const RequestForms& forms);

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
