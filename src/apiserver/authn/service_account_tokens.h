#pragma once

// Tokens of service accounts: JSON Web Tokens, signed with ES256, that name a ServiceAccount and,
// when they are bound, the pod, secret or node that they live and die with.
//
// A token is good while its signature, issuer, audience and times are, and the objects that it
// names are there with the uids that it names; so a deletion ends it at once. What is costly about
// that, the signature, is verified once per token and remembered.
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
  // The first key signs, all of them verify. There must be one.
  ServiceAccountTokens(Store& store, const Clock& clock, std::vector<net::SigningKey> keys,
                       std::string issuer);

  const std::string& issuer() const { return issuer_; }
  Result<std::string> sign(const TokenClaims& claims) const;
  // Who the bearer is. An audience must be one of `audiences`; the error says what is wrong.
  Result<User> authenticate(std::string_view token, const std::vector<std::string>& audiences);
  // Of a token that authenticate() took, those of `audiences` that it is for.
  std::vector<std::string> audiencesOf(std::string_view token,
                                       const std::vector<std::string>& audiences);

  // The documents of OpenID Connect discovery, by which others can verify tokens.
  std::string discoveryDocument() const;
  std::string keySet() const;

 private:
  struct Known {
    TokenClaims claims;
    EntryPtr account, bound;  // as they were when their uids were compared
  };
  Result<TokenClaims> verify(std::string_view token) const;
  Result<> checkTimes(const TokenClaims& claims) const;
  // Compares the uid of a stored object, unless the entry is the one that was compared before.
  bool isThere(const char* table, std::string_view key, const TokenReference& reference,
               EntryPtr& compared) const;
  Result<> checkObjects(Known& known) const;

  Store& store_;
  const Clock& clock_;
  std::vector<net::SigningKey> keys_;
  std::string issuer_;
  BoundedMap<std::string, Known> known_;  // by SHA-256 of the token
};

// system:serviceaccount:NAMESPACE:NAME with its groups.
User serviceAccountUser(std::string_view namespace_, std::string_view name);
// Namespace and name of such a user; nothing for others.
std::optional<std::pair<std::string, std::string>> serviceAccountOf(std::string_view userName);

}  // namespace koord::apiserver
