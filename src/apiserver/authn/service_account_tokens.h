#pragma once

// Service account tokens: JSON Web Tokens, signed with ES256, that name a ServiceAccount and, if
// they are bound, the pod, secret or node whose deletion ends them.
//
// A token is valid if its signature, issuer, audience and times are valid, and the objects that it
// names exist with the same uids; so a deletion ends it at once. The costly part, the signature, is
// verified once per token and cached.
//
// On the store's executor.

#include <optional>
#include <string>
#include <vector>

#include "apiserver/objects/failure.h"
#include "apiserver/server/call.h"
#include "apiserver/store/store.h"
#include "base/bounded_map.h"
#include "base/random.h"
#include "net/signing.h"

namespace koord::apiserver {

inline constexpr const char* kServiceAccountIssuer = "https://kubernetes.default.svc.cluster.local";

struct TokenReference {
  std::string name;  // "" = none
  std::string uid;
};

struct TokenClaims {
  std::string namespace_;
  TokenReference account, pod, secret, node;
  std::vector<std::string> audiences;
  std::int64_t issued = 0, notBefore = 0, expires = 0;  // seconds since 1970
  std::string id;                                       // jti
};

class ServiceAccountTokens {
 public:
  // The first key signs, all keys verify. At least one key is required.
  ServiceAccountTokens(Store& store, const Clock& clock, std::vector<net::SigningKey> keys,
                       std::string issuer);

  const std::string& issuer() const { return issuer_; }
  Result<std::string> sign(const TokenClaims& claims) const;
  // Returns the user of a token. The token must be for one of `audiences`; the error says what is
  // wrong.
  Result<User> authenticate(std::string_view token, const std::vector<std::string>& audiences);
  // Those of `audiences` that a token is for. authenticate() must have accepted the token.
  std::vector<std::string> audiencesOf(std::string_view token,
                                       const std::vector<std::string>& audiences);

  // The OpenID Connect discovery documents, with which other servers verify tokens.
  std::string discoveryDocument() const;
  std::string keySet() const;

 private:
  struct Known {
    TokenClaims claims;
    EntryPtr account, bound;  // the entries whose uids were compared
  };
  Result<TokenClaims> verify(std::string_view token) const;
  Result<> checkTimes(const TokenClaims& claims) const;
  // Returns true if the stored object has the uid. Compares only if the entry has changed since the
  // last call.
  bool isThere(const char* table, std::string_view key, const TokenReference& reference,
               EntryPtr& compared) const;
  Result<> checkObjects(Known& known) const;

  Store& store_;
  const Clock& clock_;
  std::vector<net::SigningKey> keys_;
  std::string issuer_;
  BoundedMap<std::string, Known> known_;  // by SHA-256 of the token
};

// The user system:serviceaccount:NAMESPACE:NAME with its groups.
User serviceAccountUser(std::string_view namespace_, std::string_view name);
// Namespace and name of such a user; nullopt for other users.
std::optional<std::pair<std::string, std::string>> serviceAccountOf(std::string_view userName);

}  // namespace koord::apiserver
