#include "apiserver/authz/rbac.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace koord::apiserver {
namespace {

json::value documentOf(const Entry& entry) {
  auto document = parseJson(entry.text);
  return document ? *std::move(document) : json::value(json::object{});
}

void change(std::map<std::string, std::vector<PolicyRule>, std::less<>>& roles,
            const Event& event) {
  if (event.now) {
    roles[event.now->key] = rulesOf(documentOf(*event.now));
  } else {
    roles.erase(event.before->key);
  }
}

}  // namespace

Rbac::Rbac(Store& store) : store_(store) {
  follow(kRoles, &Rbac::roleChanged);
  follow(kClusterRoles, &Rbac::clusterRoleChanged);
  follow(kRoleBindings, &Rbac::bindingChanged);
  follow(kClusterRoleBindings, &Rbac::bindingChanged);
}

void Rbac::follow(const char* name, void (Rbac::*change)(const Event&)) {
  auto& table = store_.table(name);
  for (const auto& [key, entry] : table.entries())
    (this->*change)({entry->version, EventType::Added, nullptr, entry});
  store_.derive(table, [this, change](const Event& event) { (this->*change)(event); });
}

void Rbac::roleChanged(const Event& event) {
  change(roles_, event);
}

void Rbac::clusterRoleChanged(const Event& event) {
  change(clusterRoles_, event);
}

void Rbac::bindingChanged(const Event& event) {
  const std::string& key = (event.now ? event.now : event.before)->key;
  if (const auto it = bindings_.find(key); it != bindings_.end()) {
    index(it->second, false);
    bindings_.erase(it);
  }
  if (!event.now) return;
  const auto document = documentOf(*event.now);
  auto binding = std::make_shared<Binding>();
  binding->name = event.now->name();
  binding->namespace_ = event.now->namespace_();
  binding->roleKind = textAt(document, "roleRef", "kind");
  binding->roleName = textAt(document, "roleRef", "name");
  if (const auto* subjects = find(document, "subjects"); subjects && subjects->is_array())
    for (const auto& subject : subjects->get_array())
      binding->subjects.push_back({std::string(textAt(subject, "kind")),
                                   std::string(textAt(subject, "name")),
                                   std::string(textAt(subject, "namespace"))});
  index(binding, true);
  bindings_.emplace(key, std::move(binding));
}

void Rbac::index(const BindingPtr& binding, bool present) {
  auto& bindings = binding->namespace_.empty() ? clusterWide_ : byNamespace_[binding->namespace_];
  for (const auto& subject : binding->subjects) {
    ByName* names = nullptr;
    std::string name = subject.name;
    if (subject.kind == "User") names = &bindings.users;
    if (subject.kind == "Group") names = &bindings.groups;
    if (subject.kind == "ServiceAccount") {
      const auto& namespace_ =
          subject.namespace_.empty() ? binding->namespace_ : subject.namespace_;
      if (namespace_.empty()) continue;
      names = &bindings.users;
      name = fmt::format("system:serviceaccount:{}:{}", namespace_, subject.name);
    }
    if (!names) continue;
    auto& list = (*names)[name];
    std::erase(list, binding);  // named twice
    if (present) list.push_back(binding);
    if (list.empty()) names->erase(name);
  }
  if (bindings.users.empty() && bindings.groups.empty()) byNamespace_.erase(binding->namespace_);
}

const std::vector<PolicyRule>* Rbac::rulesOfRole(std::string_view kind, std::string_view namespace_,
                                                 std::string_view name) const {
  const bool cluster = kind == "ClusterRole";
  if (!cluster && (kind != "Role" || namespace_.empty())) return nullptr;
  const auto& roles = cluster ? clusterRoles_ : roles_;
  const auto it = cluster ? roles.find(name) : roles.find(makeKey(namespace_, name));
  return it == roles.end() ? nullptr : &it->second;
}

bool Rbac::visit(const std::vector<BindingPtr>& bindings, std::string_view subjectName,
                 const Visitor& visitor, std::vector<std::string>& problems) const {
  for (const auto& binding : bindings) {
    const auto* rules = rulesOfRole(binding->roleKind, binding->namespace_, binding->roleName);
    if (!rules) {
      problems.push_back(fmt::format("{}.{} \"{}\" not found",
                                     binding->roleKind == "Role" ? "role" : "clusterrole",
                                     kRbacGroup, binding->roleName));
      continue;
    }
    const auto subject = std::ranges::find_if(binding->subjects, [&](const Subject& candidate) {
      return candidate.name == subjectName ||
             (candidate.kind == "ServiceAccount" && subjectName.ends_with(":" + candidate.name));
    });
    if (subject == binding->subjects.end()) continue;
    for (const auto& rule : *rules)
      if (!visitor(*binding, *subject, rule)) return false;
  }
  return true;
}

bool Rbac::visit(const User& user, std::string_view namespace_, const Visitor& visitor,
                 std::vector<std::string>& problems) const {
  const auto visitAll = [&](const Bindings& bindings) {
    if (const auto it = bindings.users.find(user.name); it != bindings.users.end())
      if (!visit(it->second, user.name, visitor, problems)) return false;
    for (const auto& group : user.groups)
      if (const auto it = bindings.groups.find(group); it != bindings.groups.end())
        if (!visit(it->second, group, visitor, problems)) return false;
    return true;
  };
  if (!visitAll(clusterWide_)) return false;
  if (namespace_.empty()) return true;
  const auto it = byNamespace_.find(namespace_);
  return it == byNamespace_.end() || visitAll(it->second);
}

Decision Rbac::authorize(const Attributes& attributes) const {
  Decision decision;
  std::vector<std::string> problems;
  const auto judge = [&](const Binding& binding, const Subject& subject, const PolicyRule& rule) {
    if (!allows(rule, attributes)) return true;
    const bool cluster = binding.namespace_.empty();
    std::string to = subject.name;
    if (subject.kind == "ServiceAccount")
      to += "/" + (subject.namespace_.empty() ? binding.namespace_ : subject.namespace_);
    decision = {true, fmt::format("RBAC: allowed by {} \"{}{}{}\" of {} \"{}\" to {} \"{}\"",
                                  cluster ? "ClusterRoleBinding" : "RoleBinding", binding.name,
                                  cluster ? "" : "/", binding.namespace_, binding.roleKind,
                                  binding.roleName, subject.kind, to)};
    return false;
  };
  // By reference: the closure is too large for std::function without an allocation.
  visit(attributes.user, attributes.namespace_, std::ref(judge), problems);
  if (!decision.allowed) decision.reason = problemText(std::move(problems));
  return decision;
}

Rbac::Grants Rbac::grantsOf(const User& user, std::string_view namespace_) const {
  Grants grants;
  std::set<const PolicyRule*> seen;  // may come through the user and a group
  visit(
      user, namespace_,
      [&](const Binding&, const Subject&, const PolicyRule& rule) {
        if (seen.insert(&rule).second) grants.rules.push_back(rule);
        return true;
      },
      grants.problems);
  return grants;
}

std::string problemText(std::vector<std::string> problems) {
  if (problems.empty()) return "";
  std::vector<std::string> unique;
  for (auto& problem : problems)
    if (std::ranges::find(unique, problem) == unique.end()) unique.push_back(std::move(problem));
  if (unique.size() == 1) return "RBAC: " + unique.front();
  return fmt::format("RBAC: [{}]", fmt::join(unique, ", "));
}

}  // namespace koord::apiserver
