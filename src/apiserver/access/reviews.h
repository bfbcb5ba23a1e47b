#pragma once

// Reviews: a client asks who it is (SelfSubjectReview), to whom a token belongs (TokenReview) and
// what it or another user may do (SelfSubjectAccessReview and related kinds,
// SelfSubjectRulesReview). The server's own authentication and authorization give the answers.

#include "apiserver/server/server.h"

namespace koord::apiserver {

constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
constexpr std::string_view kAuthorizationGroup = "authorization.k8s.io";

// The kinds of the two groups that can be posted; for discovery.
struct ReviewKind {
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = false;
};
const std::vector<ReviewKind>& reviewKinds();

// Returns true if the request is for one of these groups, which have reviews only.
bool isReview(const kube::Request& request);
// Call on the server's executor.
Reply answerReview(Server& server, const Call& call);

}  // namespace koord::apiserver
