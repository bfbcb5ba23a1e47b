#include "apiserver/authz/authorizer.h"

#include <algorithm>

#include "apiserver/authz/bootstrap_policy.h"

namespace koord::apiserver {

bool isMaster(const User& user) {
  return std::ranges::find(user.groups, "system:masters") != user.groups.end();
}

Authorizer::Authorizer(Store& store, const Registry& registry)
    : rbac_(store), nodes_(store, registry, nodeRules()) {}

Decision Authorizer::authorize(const Attributes& attributes) {
  if (isMaster(attributes.user)) return {true, ""};
  auto byNode = nodes_.authorize(attributes);
  if (byNode.allowed) return byNode;
  auto byRole = rbac_.authorize(attributes);
  if (byRole.allowed || byNode.reason.empty()) return byRole;
  if (!byRole.reason.empty()) byNode.reason += "\n" + byRole.reason;
  return byNode;
}

Outcome<> Authorizer::require(const Attributes& attributes) {
  const auto decision = authorize(attributes);
  if (decision.allowed) return {};
  auto reply = forbiddenReply(attributes, decision.reason);
  return refuse(*std::move(reply.error));
}

}  // namespace koord::apiserver
