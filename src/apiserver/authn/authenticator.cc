#include "apiserver/authn/authenticator.h"

#include <algorithm>

#include "net/tls.h"

namespace koord::apiserver {

Result<Authenticator::Bearer> Authenticator::bearerOf(std::string_view token,
                                                      std::vector<std::string> audiences) {
  const std::string own = accounts_ ? accounts_->issuer() : kServiceAccountIssuer;
  if (audiences.empty()) audiences = {own};
  for (const auto& [known, user] : tokens_)
    if (net::equalConstantTime(known, token)) {
      // Tokens configured for this server are valid for its audience only.
      if (std::ranges::find(audiences, own) == audiences.end())
        return fail(ErrorCode::Unauthorized, "the token is for other audiences");
      Bearer bearer{user, {own}};
      if (std::ranges::find(bearer.user.groups, "system:authenticated") == bearer.user.groups.end())
        bearer.user.groups.emplace_back("system:authenticated");
      return bearer;
    }
  if (!accounts_) return fail(ErrorCode::Unauthorized, "unknown token");
  auto user = accounts_->authenticate(token, audiences);
  if (!user) return fail(std::move(user.error()));
  return Bearer{*std::move(user), accounts_->audiencesOf(token, audiences)};
}

}  // namespace koord::apiserver
