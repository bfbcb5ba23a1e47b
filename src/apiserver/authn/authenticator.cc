#include "apiserver/authn/authenticator.h"

#include <algorithm>

#include "net/tls.h"

namespace koord::apiserver {

Result<Authenticator::Bearer> Authenticator::bearerOf(std::string_view token,
                                                      std::vector<std::string> audiences) {
  if (audiences.empty()) audiences = {accounts_ ? accounts_->issuer() : kServiceAccountIssuer};
  for (const auto& [known, user] : tokens_)
    if (net::equalConstantTime(known, token)) {
      Bearer bearer{user, std::move(audiences)};
      if (std::ranges::find(bearer.user.groups, "system:authenticated") == bearer.user.groups.end())
        bearer.user.groups.emplace_back("system:authenticated");
      return bearer;
    }
  if (!accounts_) return fail(ErrorCode::Unauthorized, "not a token that is known here");
  auto user = accounts_->authenticate(token, audiences);
  if (!user) return fail(std::move(user.error()));
  return Bearer{*std::move(user), accounts_->audiencesOf(token, audiences)};
}

}  // namespace koord::apiserver
