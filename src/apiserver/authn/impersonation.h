#pragma once

// Acting as somebody else: the headers Impersonate-User, -Group, -Uid and -Extra-KEY, of which each
// thing asked for takes the verb "impersonate" on it.

#include <expected>
#include <optional>

#include "apiserver/authz/authorizer.h"
#include "net/http_types.h"

namespace koord::apiserver {

// Who the request is carried out as; nothing when the headers ask for nobody else. The error is the
// answer to a request that may not. A null authorizer allows everything.
std::expected<std::optional<User>, Reply> impersonated(const net::Headers& headers,
                                                       const User& user, Authorizer* authorizer);

}  // namespace koord::apiserver
