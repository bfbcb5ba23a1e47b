#pragma once

// A user who writes an admission policy with a paramKind needs the verb "get" on all objects of
// that kind. A user who writes a binding with a paramRef needs "get" (or "list", for a selector) on
// what it names. Otherwise expressions would show users what they may not read.

#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// Called before `object` is stored over `old` (null: it is new). Objects of other kinds pass.
Outcome<> admitParamAccess(Authorizer& authorizer, const Registry& registry, Store& store,
                           const User& user, const Resource& resource, const json::value& object,
                           const json::value* old);

}  // namespace koord::apiserver
