#pragma once

// Prevents privilege escalation. A user who writes a role needs all of its rules or the verb
// "escalate" on it; a user who binds a role needs all of its rules or the verb "bind" on it.

#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/resource.h"

namespace koord::apiserver {

// Called before `object` is stored over `old` (null: it is new). Objects of other kinds pass.
Outcome<> admitGrant(Authorizer& authorizer, const User& user, const Resource& resource,
                     const json::value& object, const json::value* old);

}  // namespace koord::apiserver
