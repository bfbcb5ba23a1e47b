#pragma once

// Authorisation as kube-apiserver does it with --authorization-mode=Node,RBAC: the group
// system:masters may do everything; else kubelets are judged by what runs on their node, and
// everybody by roles and bindings. Whoever is allowed by one of these is allowed.
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
  // The 403 of what is not allowed.
  Outcome<> require(const Attributes& attributes);

  // What somebody may do, as far as rules say it. What a kubelet may do, rules do not say.
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
