#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cel/library.h"

namespace koord::cel {

// authorizer.group("apps").resource("deployments").check("create").allowed(): Kubernetes' library
// of authorization checks. The host answers the checks.
const Library& authzLibrary();

const Type& authorizerType();  // kubernetes.authorization.Authorizer: the type of the variable
// kubernetes.authorization.ResourceCheck: what authorizer.group(g).resource(r) is.
const Type& resourceCheckType();

struct AuthorizationRequest {
  std::string verb;
  // A path that is not a resource, or a resource.
  std::optional<std::string> path;
  std::string group, resource, subresource, nameSpace, name;
  std::string fieldSelector, labelSelector;
  // The subject if it is not the user of the request: system:serviceaccount:NAMESPACE:NAME.
  std::optional<std::string> serviceAccount;
};

struct AuthorizationDecision {
  bool allowed = false;
  std::string reason;
  std::string error;  // empty if the check could be made
};

// Answers checks. Called during an evaluation, on its thread.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual AuthorizationDecision authorize(const AuthorizationRequest& request) const = 0;
};

// The value of the variable. `authorizer` outlives it.
Value authorizerValue(const Authorizer& authorizer);
// A check of the resource that `request` names: Kubernetes' variable authorizer.requestResource.
Value resourceCheckValue(const Authorizer& authorizer, AuthorizationRequest request);

}  // namespace koord::cel
