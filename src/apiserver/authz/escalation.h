#pragma once

// Nobody may grant what he does not have: who writes a role must have all of its rules or the verb
// "escalate" on it, who binds one must have all rules of the role or the verb "bind" on it.

#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/resource.h"

namespace koord::apiserver {

// Before `object` is stored over `old` (null: it is new); objects of other kinds pass.
Outcome<> admitGrant(Authorizer& authorizer, const User& user, const Resource& resource,
                     const json::value& object, const json::value* old);

}  // namespace koord::apiserver
