#pragma once

// Who may do what with ResourceClaims, in addition to what roles say about the resource: the
// namespace must be labeled for administrative access to devices, and a change of a claim's status
// needs permissions for the parts that it changes.

#include "apiserver/authz/authorizer.h"
#include "apiserver/objects/failure.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// Returns Invalid, with the field, if a new claim or template requests administrative access, or a
// new allocation has it, and the namespace lacks the label. `before` is null for a new object.
Outcome<> admitAdminAccess(const json::value& object, const json::value* before,
                           const Resource& resource, Store& store);

// For an update of a claim's status. Changes of `allocation` and `reservedFor` need the permission
// for resourceclaims/binding; changes of `devices` that for resourceclaims/driver of each driver,
// with the verb "arbitrary-node:VERB", or "associated-node:VERB" for a service account of a pod on
// the claim's node.
Outcome<> admitClaimStatus(const Call& call, const json::value& object, const json::value& before,
                           Authorizer& authorizer);

}  // namespace koord::apiserver
