#include "cel/library/kubernetes_authz.h"

#include <fmt/format.h>

#include "cel/library/compiled_regex.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

// What has been said of a check so far: an authorizer, a group, a resource or a path, by its type.
class CheckOpaque final : public Opaque {
 public:
  CheckOpaque(const Type& type, const Authorizer& authorizer, AuthorizationRequest request)
      : type_(type), authorizer(authorizer), request(std::move(request)) {}
  const Type& type() const override { return type_; }
  bool equals(const Opaque& other) const override { return this == &other; }
  std::string toString() const override { return std::string(type_.name()); }

 private:
  const Type& type_;

 public:
  const Authorizer& authorizer;
  const AuthorizationRequest request;
};

class DecisionOpaque final : public Opaque {
 public:
  DecisionOpaque(const Type& type, AuthorizationDecision made)
      : type_(type), decision(std::move(made)) {}
  const Type& type() const override { return type_; }
  bool equals(const Opaque& other) const override { return this == &other; }
  std::string toString() const override { return decision.allowed ? "allowed" : "not allowed"; }

 private:
  const Type& type_;

 public:
  const AuthorizationDecision decision;
};

const Type& pathCheckType() {
  static const Type kType = Type::opaque("kubernetes.authorization.PathCheck");
  return kType;
}
const Type& groupCheckType() {
  static const Type kType = Type::opaque("kubernetes.authorization.GroupCheck");
  return kType;
}
const Type& decisionType() {
  static const Type kType = Type::opaque("kubernetes.authorization.Decision");
  return kType;
}

const CheckOpaque& checkOf(const Value& value) {
  return static_cast<const CheckOpaque&>(value.asOpaque());
}
const AuthorizationDecision& decisionOf(const Value& value) {
  return static_cast<const DecisionOpaque&>(value.asOpaque()).decision;
}

// The check with more said of it.
Value extendedCheck(const Type& type, const Value& before,
                    const std::function<void(AuthorizationRequest&)>& change) {
  AuthorizationRequest request = checkOf(before).request;
  change(request);
  return Value::adopt(static_cast<const Opaque*>(
      new CheckOpaque(type, checkOf(before).authorizer, std::move(request))));
}

using TextField = std::string AuthorizationRequest::*;

Overload setter(std::string id, const Type& from, const Type& to, TextField field) {
  Overload overload =
      memberOverload(std::move(id), {from, Type::string()}, to, [&to, field](Arguments x) {
        return extendedCheck(to, x[0],
                             [&](AuthorizationRequest& request) { request.*field = x[1].text(); });
      });
  overload.pure = false;
  return overload;
}

Value toPath(Arguments x) {
  if (x[1].text().empty()) return Value::error("path must not be empty");
  return extendedCheck(pathCheckType(), x[0],
                       [&](AuthorizationRequest& request) { request.path = x[1].text(); });
}

Value toServiceAccount(Arguments x) {
  for (const auto& [name, pattern] : {std::pair(x[1].text(), "[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
                                      std::pair(x[2].text(), "[a-z0-9]([-a-z0-9.]*[a-z0-9])?")}) {
    const auto regex = compileRegex(pattern);
    if (name.size() > 253 || !re2::RE2::FullMatch(asPiece(name), **regex))
      return Value::error(fmt::format("invalid service account \"{}\"", name));
  }
  return extendedCheck(authorizerType(), x[0], [&](AuthorizationRequest& request) {
    request.serviceAccount = fmt::format("system:serviceaccount:{}:{}", x[1].text(), x[2].text());
  });
}

Value checkAccess(Arguments x) {
  AuthorizationRequest request = checkOf(x[0]).request;
  request.verb = x[1].text();
  return Value::adopt(static_cast<const Opaque*>(
      new DecisionOpaque(decisionType(), checkOf(x[0]).authorizer.authorize(request))));
}

void addBuilders(Library& library) {
  const Type &authorizer = authorizerType(), &path = pathCheckType(), &group = groupCheckType(),
             &resource = resourceCheckType(), &decision = decisionType();
  const Type s = Type::string();
  library.add("path", {memberOverload("authorizer_path", {authorizer, s}, path, toPath)});
  library.add("group",
              {setter("authorizer_group", authorizer, group, &AuthorizationRequest::group)});
  library.add("serviceAccount", {memberOverload("authorizer_serviceaccount", {authorizer, s, s},
                                                authorizer, toServiceAccount)});
  library.add("resource",
              {setter("groupcheck_resource", group, resource, &AuthorizationRequest::resource)});
  library.add("subresource", {setter("resourcecheck_subresource", resource, resource,
                                     &AuthorizationRequest::subresource)});
  library.add("namespace", {setter("resourcecheck_namespace", resource, resource,
                                   &AuthorizationRequest::nameSpace)});
  library.add("name",
              {setter("resourcecheck_name", resource, resource, &AuthorizationRequest::name)});
  library.add("fieldSelector", {setter("authorizer_fieldselector", resource, resource,
                                       &AuthorizationRequest::fieldSelector)});
  library.add("labelSelector", {setter("authorizer_labelselector", resource, resource,
                                       &AuthorizationRequest::labelSelector)});
  Overload checkPath = memberOverload("pathcheck_check", {path, s}, decision, checkAccess);
  Overload checkResource =
      memberOverload("resourcecheck_check", {resource, s}, decision, checkAccess);
  checkPath.pure = checkResource.pure = false;
  library.add("check", {std::move(checkPath), std::move(checkResource)});
}

}  // namespace

const Type& authorizerType() {
  static const Type kType = Type::opaque("kubernetes.authorization.Authorizer");
  return kType;
}

const Type& resourceCheckType() {
  static const Type kType = Type::opaque("kubernetes.authorization.ResourceCheck");
  return kType;
}

Value resourceCheckValue(const Authorizer& authorizer, AuthorizationRequest request) {
  return Value::adopt(static_cast<const Opaque*>(
      new CheckOpaque(resourceCheckType(), authorizer, std::move(request))));
}

Value authorizerValue(const Authorizer& authorizer) {
  return Value::adopt(
      static_cast<const Opaque*>(new CheckOpaque(authorizerType(), authorizer, {})));
}

const Library& authzLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.authz";
    addBuilders(library);
    const Type& decision = decisionType();
    for (const Type* type :
         {&authorizerType(), &pathCheckType(), &groupCheckType(), &resourceCheckType(), &decision})
      library.addType(type->name(), *type);
    const Type s = Type::string(), flag = Type::boolean();
    library.add("allowed", {memberOverload("decision_allowed", {decision}, flag, [](Arguments x) {
                  return Value::boolean(decisionOf(x[0]).allowed);
                })});
    library.add("reason", {memberOverload("decision_reason", {decision}, s, [](Arguments x) {
                  return Value::string(decisionOf(x[0]).reason);
                })});
    library.add("errored", {memberOverload("decision_errored", {decision}, flag, [](Arguments x) {
                  return Value::boolean(!decisionOf(x[0]).error.empty());
                })});
    library.add("error", {memberOverload("decision_error", {decision}, s, [](Arguments x) {
                  return Value::string(decisionOf(x[0]).error);
                })});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
