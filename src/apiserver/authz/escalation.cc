#include "apiserver/authz/escalation.h"

#include <fmt/format.h>

#include "apiserver/objects/edit.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {
namespace {

// Returns true if only finalizers and owners change. A user who may write the object may write
// these; otherwise a role whose author has lost permissions could not be deleted.
bool changesOnlyForDeletion(const json::value& object, const json::value* old) {
  if (!old || !object.is_object() || !old->is_object()) return false;
  const auto rest = [](const json::value& value) {
    json::object out = value.get_object();
    auto& metadata = objectAt(out, "metadata");
    for (const auto* name : {"finalizers", "ownerReferences", "managedFields", "resourceVersion"})
      eraseMember(metadata, name);
    return out;
  };
  return rest(object) == rest(*old);
}

bool aggregates(const json::value* role) {
  const auto* rule = role ? find(*role, "aggregationRule") : nullptr;
  return rule && !rule->is_null();
}

struct Grant {
  Authorizer& authorizer;
  const User& user;
  const Resource& resource;
  std::string_view namespace_;
  std::string_view name;  // of the written object

  bool may(std::string_view verb, std::string_view plural, std::string_view role) const {
    return authorizer
        .authorize({.user = user,
                    .verb = verb,
                    .path = {},
                    .group = kRbacGroup,
                    .resource = plural,
                    .subresource = {},
                    .namespace_ = namespace_,
                    .name = role,
                    .selectedNode = {}})
        .allowed;
  }

  std::unexpected<Failure> forbidden(std::string_view why) const {
    return refuse(ErrorCode::Forbidden,
                  fmt::format("{} \"{}\" is forbidden: {}", resource.qualified(), name, why));
  }

  Outcome<> confirm(const std::vector<PolicyRule>& rules) const {
    auto grants = authorizer.grantsOf(user, namespace_);
    const auto missing = notCovered(grants.rules, rules);
    if (missing.empty()) return {};
    std::string message = fmt::format(
        "user \"{}\" (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name, quotedList(user.groups),
        cutText(describe(missing), FieldErrors::kMaxMessageBytes));
    if (!grants.problems.empty()) {
      std::string problems = problemText(std::move(grants.problems));
      problems.erase(0, std::string_view("RBAC: ").size());
      if (!problems.starts_with('[')) problems = "[" + problems + "]";
      message += "; resolution errors: " + problems;
    }
    return forbidden(message);
  }
};

}  // namespace

Outcome<> admitGrant(Authorizer& authorizer, const User& user, const Resource& resource,
                     const json::value& object, const json::value* old) {
  if (resource.group != kRbacGroup || isMaster(user) || changesOnlyForDeletion(object, old))
    return {};
  const Grant grant{
      authorizer, user, resource,
      resource.namespaced ? textAt(object, "metadata", "namespace") : std::string_view{},
      textAt(object, "metadata", "name")};
  if (resource.plural == "roles" || resource.plural == "clusterroles") {
    if (grant.may("escalate", resource.plural, grant.name)) return {};
    // The rules that an aggregation adds later are not known.
    if (aggregates(&object) || aggregates(old))
      if (!grant.confirm({{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}}))
        return grant.forbidden("must have cluster-admin privileges to use the aggregationRule");
    return grant.confirm(rulesOf(object));
  }
  const auto kind = textAt(object, "roleRef", "kind");
  const auto role = textAt(object, "roleRef", "name");
  const bool cluster = kind == "ClusterRole";
  if (!cluster && kind != "Role") return {};  // validation reports it
  if (grant.may("bind", cluster ? "clusterroles" : "roles", role)) return {};
  const auto* rules = authorizer.rbac().rulesOfRole(kind, grant.namespace_, role);
  if (!rules)
    return refuse(ErrorCode::NotFound,
                  fmt::format("{} \"{}\" not found", cluster ? kClusterRoles : kRoles, role));
  return grant.confirm(*rules);
}

}  // namespace koord::apiserver
