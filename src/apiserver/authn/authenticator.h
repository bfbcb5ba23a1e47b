#pragma once

// Authenticates bearer tokens: tokens configured for the server, and service account tokens that it
// issued itself.
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
  ServiceAccountTokens* accounts() { return accounts_.get(); }  // null: no tokens are issued here

  struct Bearer {
    User user;
    std::vector<std::string> audiences;  // the accepted part of the requested audiences
  };
  // Without audiences the token must be for this server. The error is for logs, not for the client.
  Result<Bearer> bearerOf(std::string_view token, std::vector<std::string> audiences = {});

 private:
  Tokens tokens_;
  std::unique_ptr<ServiceAccountTokens> accounts_;
};

}  // namespace koord::apiserver
