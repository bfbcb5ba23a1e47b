#pragma once

// Who the bearer of a token is: tokens that were given to the server, and those of service accounts
// that it issued itself.
//
// On the store's executor.

#include <map>
#include <memory>
#include <string>

#include "apiserver/authn/service_account_tokens.h"

namespace koord::apiserver {

class Authenticator {
 public:
  using Tokens = std::map<std::string, User, std::less<>>;

  void setTokens(Tokens tokens) { tokens_ = std::move(tokens); }
  void setAccounts(std::unique_ptr<ServiceAccountTokens> accounts) {
    accounts_ = std::move(accounts);
  }
  ServiceAccountTokens* accounts() { return accounts_.get(); }  // null: none are issued here

  struct Bearer {
    User user;
    std::vector<std::string> audiences;  // of those asked for
  };
  // Without audiences the token must be for this server. The error is for logs, not for the bearer.
  Result<Bearer> bearerOf(std::string_view token, std::vector<std::string> audiences = {});

 private:
  Tokens tokens_;
  std::unique_ptr<ServiceAccountTokens> accounts_;
};

}  // namespace koord::apiserver
