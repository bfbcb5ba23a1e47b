#include "apiserver/authz/role_use.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::apiserver {

namespace {

std::string describePiece(const PolicyRule& piece) {
  if (!piece.urls.empty()) return fmt::format("{} {}", piece.verbs.front(), piece.urls.front());
  const std::string& group = piece.groups.front();
  return fmt::format("{} {}{}{}", piece.verbs.front(), piece.resources.front(),
                     group.empty() ? "" : " ", group);
}

}  // namespace

void RoleUse::note(const Attributes& attributes) {
  uses_.insert({std::string(attributes.verb), std::string(attributes.path),
                std::string(attributes.group), std::string(attributes.resource),
                std::string(attributes.subresource)});
}

bool RoleUse::covers(const PolicyRule& piece) const {
  static const User nobody;
  return std::ranges::any_of(uses_, [&](const Use& use) {
    const Attributes attributes{.user = nobody,
                                .verb = use.verb,
                                .path = use.path,
                                .group = use.group,
                                .resource = use.resource,
                                .subresource = use.subresource,
                                .namespace_ = {},
                                .name = {},
                                .selectedNode = {}};
    return allows(piece, attributes);
  });
}

std::vector<std::string> RoleUse::unused(const std::vector<PolicyRule>& rules) const {
  std::vector<std::string> out;
  for (PolicyRule rule : rules) {
    rule.names.clear();
    for (const auto& piece : elementaryRules(rule)) {
      auto watching = piece;
      if (piece.verbs.front() == "list") watching.verbs = {"watch"};
      if (!covers(piece) && !covers(watching)) out.push_back(describePiece(piece));
    }
  }
  return out;
}

}  // namespace koord::apiserver
