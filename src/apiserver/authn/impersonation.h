#pragma once

// Impersonation: the headers Impersonate-User, -Group, -Uid and -Extra-KEY. Each requested user,
// group, uid or extra value needs the verb "impersonate" on it.

#include <expected>
#include <optional>

#include "apiserver/authz/authorizer.h"
#include "net/http_types.h"

namespace koord::apiserver {

// The user that the request acts as; nullopt without impersonation headers. The error is the answer
// to a request that is not allowed. A null authorizer allows everything.
std::expected<std::optional<User>, Reply> impersonated(const net::Headers& headers,
                                                       const User& user, Authorizer* authorizer);

}  // namespace koord::apiserver
