#pragma once

// Authorization as in kube-apiserver with --authorization-mode=Node,RBAC. The group system:masters
// may do everything. Kubelets may do what the pods on their node need, and all users what roles and
// bindings allow. A request is allowed if one of these allows it.
//
// On the store's executor.

#include "apiserver/authz/node_authorizer.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

class Authorizer {
 public:
  Authorizer(Store& store, const Registry& registry);  // which must outlive it

  Decision authorize(const Attributes& attributes);
  // Returns the 403 failure if the request is not allowed.
  Outcome<> require(const Attributes& attributes);

  // The rules that apply to a user. They do not include what the node authorizer allows a kubelet.
  Rbac::Grants grantsOf(const User& user, std::string_view namespace_) const {
    return rbac_.grantsOf(user, namespace_);
  }
  const Rbac& rbac() const { return rbac_; }

 private:
  Rbac rbac_;
  NodeAuthorizer nodes_;
};

bool isMaster(const User& user);

}  // namespace koord::apiserver
