#pragma once

// Reviews: a client asks who it is (SelfSubjectReview), who a token belongs to (TokenReview) and
// what it or somebody else may do (SelfSubjectAccessReview and its kin, SelfSubjectRulesReview).
// The answers are those of the server's own authentication and authorisation.

#include "apiserver/server/server.h"

namespace koord::apiserver {

constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
constexpr std::string_view kAuthorizationGroup = "authorization.k8s.io";

// What of the two groups can be posted, for discovery.
struct ReviewKind {
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = false;
};
const std::vector<ReviewKind>& reviewKinds();

// Whether a request is for one of these groups, which have reviews only.
bool isReview(const kube::Request& request);
// On the server's executor.
Reply answerReview(Server& server, const Call& call);

}  // namespace koord::apiserver
