#pragma once

// Reviews: a client asks who it is (SelfSubjectReview), who a token belongs to (TokenReview) and
// what it or somebody else may do (SelfSubjectAccessReview and its kin, SelfSubjectRulesReview).
//
// Whoever is known here may do everything, but for kubelets, which may write only what is theirs.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/server/call.h"

namespace koord::apiserver {

using TokenLookup = std::function<const User*(std::string_view token)>;

// The answer to a POST of a review, or nothing when the path is not one of a review. The body is
// JSON.
std::optional<Reply> answerReview(std::string_view path, const std::string& body, const User& user,
                                  const TokenLookup& tokens);

struct Access {
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string namespace_;
  std::string name;  // "" = any
};
struct AccessVerdict {
  bool allowed = true;
  std::string reason;
};
AccessVerdict mayAccess(const User& user, const Access& access);

}  // namespace koord::apiserver
