#include "apiserver/authz/bootstrap_policy.h"

#include <algorithm>
#include <optional>

#include "apiserver/authz/bootstrap_roles.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/objects/edit.h"
#include "base/split.h"

namespace koord::apiserver {
namespace {

constexpr const char* kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr const char* kAggregate = "rbac.authorization.k8s.io/aggregate-to-";

using Words = std::vector<std::string>;

Words verbsOf(const std::string& text) {
  Words out;
  for (auto& word : splitWords(text, ' ')) {
    if (word == "read" || word == "all") out.insert(out.end(), {"get", "list", "watch"});
    if (word == "write" || word == "all")
      out.insert(out.end(), {"create", "delete", "deletecollection", "patch", "update"});
    if (word != "read" && word != "write" && word != "all") out.push_back(std::move(word));
  }
  std::ranges::sort(out);
  return out;
}

// " read | core apps | pods deployments | names" or " get | /healthz"
PolicyRule ruleOf(const std::string& line) {
  const auto parts = splitWords(line, '|');
  PolicyRule rule;
  rule.verbs = verbsOf(parts.at(0));
  if (parts.size() == 2) {
    rule.urls = splitWords(parts[1], ' ');
    return rule;
  }
  rule.groups = splitWords(parts.at(1), ' ');
  for (auto& group : rule.groups)
    if (group == "core") group.clear();
  rule.resources = splitWords(parts.at(2), ' ');
  if (parts.size() > 3) rule.names = splitWords(parts[3], ' ');
  return rule;
}

json::object objectOf(const char* kind, std::string_view name, std::string_view namespace_ = {}) {
  json::object metadata{{"name", name},
                        {"labels", {{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
                        {"annotations", {{kAutoUpdate, "true"}}}};
  if (!namespace_.empty()) metadata["namespace"] = namespace_;
  return {{"apiVersion", std::string(kRbacGroup) + "/v1"},
          {"kind", kind},
          {"metadata", std::move(metadata)}};
}

struct RoleText {
  std::string name, namespace_;
  Words labels;            // "edit": aggregated to it
  std::string aggregates;  // label of the roles that it aggregates
  std::vector<PolicyRule> rules;
};

// A line that is not indented begins a role: NAME [+LABEL]... [<LABEL] [@NAMESPACE].
std::vector<RoleText> readRoles(std::string_view text) {
  std::vector<RoleText> out;
  for (const auto& line : splitWords(text, '\n')) {
    if (line.front() == ' ') {
      out.back().rules.push_back(ruleOf(line));
      continue;
    }
    auto& role = out.emplace_back();
    for (auto& word : splitWords(line, ' ')) {
      if (role.name.empty()) {
        role.name = std::move(word);
      } else if (word.front() == '+') {
        role.labels.push_back(word.substr(1));
      } else if (word.front() == '<') {
        role.aggregates = word.substr(1);
      } else {
        role.namespace_ = word.substr(1);
      }
    }
  }
  return out;
}

json::value roleObject(const RoleText& role) {
  auto object =
      objectOf(role.namespace_.empty() ? "ClusterRole" : "Role", role.name, role.namespace_);
  auto& labels = object["metadata"].get_object()["labels"].get_object();
  for (const auto& label : role.labels) labels[kAggregate + label] = "true";
  if (!role.aggregates.empty())
    object["aggregationRule"] = {
        {"clusterRoleSelectors",
         json::array{
             json::object{{"matchLabels", json::object{{kAggregate + role.aggregates, "true"}}}}}}};
  object["rules"] = jsonOf(role.rules);
  return object;
}

// "Group:system:masters", "User:system:kube-proxy", "ServiceAccount:kube-system:NAME"
json::object subjectOf(const std::string& text) {
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon);
  auto name = text.substr(colon + 1);
  if (kind != "ServiceAccount") return {{"kind", kind}, {"apiGroup", kRbacGroup}, {"name", name}};
  const auto end = name.find(':');
  return {{"kind", kind}, {"name", name.substr(end + 1)}, {"namespace", name.substr(0, end)}};
}

json::value bindingObject(std::string_view name, std::string_view namespace_, std::string_view role,
                          const Words& subjects) {
  const bool cluster = namespace_.empty();
  auto object = objectOf(cluster ? "ClusterRoleBinding" : "RoleBinding", name, namespace_);
  object["roleRef"] = {
      {"apiGroup", kRbacGroup}, {"kind", cluster ? "ClusterRole" : "Role"}, {"name", role}};
  json::array list;
  for (const auto& subject : subjects) list.push_back(subjectOf(subject));
  if (!list.empty()) object["subjects"] = std::move(list);
  return object;
}

// NAME [@NAMESPACE] SUBJECT...; the role has the binding's name, but for "ROLE=NAME".
json::value readBinding(const std::string& line) {
  auto words = splitWords(line, ' ');
  std::string name = words.front(), role = name, namespace_;
  if (const auto equals = name.find('='); equals != std::string::npos) {
    role = name.substr(0, equals);
    name = name.substr(equals + 1);
  }
  words.erase(words.begin());
  if (!words.empty() && words.front().front() == '@') {
    namespace_ = words.front().substr(1);
    words.erase(words.begin());
  }
  return bindingObject(name, namespace_, role, words);
}

bool addMissing(json::object& to, const json::value& wanted, const char* what) {
  bool changed = false;
  const auto* members = at(wanted, "metadata", what);
  if (!members || !members->is_object()) return false;
  auto& own = objectAt(objectAt(to, "metadata"), what);
  for (const auto& member : members->get_object())
    changed |= own.emplace(member.key(), member.value()).second;
  return changed;
}

}  // namespace

std::vector<json::value> bootstrapPolicy() {
  std::vector<json::value> out;
  for (const auto& role : readRoles(kBootstrapRoles)) out.push_back(roleObject(role));
  constexpr std::string_view kController = "system:controller:";
  for (const auto& role : readRoles(kControllerRoles)) {
    out.push_back(roleObject(role));
    out.push_back(
        bindingObject(role.name, "", role.name,
                      {"ServiceAccount:kube-system:" + role.name.substr(kController.size())}));
  }
  for (const auto& line : splitWords(kBootstrapBindings, '\n')) out.push_back(readBinding(line));
  return out;
}

std::vector<PolicyRule> nodeRules() {
  for (auto& role : readRoles(kBootstrapRoles))
    if (role.name == "system:node") return std::move(role.rules);
  return {};
}

std::optional<json::value> reconciled(const json::value& existing, const json::value& wanted) {
  if (textAt(existing, "metadata", "annotations", kAutoUpdate) == "false") return std::nullopt;
  json::value next = existing;
  auto& object = next.get_object();
  bool changed = addMissing(object, wanted, "labels");
  changed |= addMissing(object, wanted, "annotations");
  if (!find(wanted, "aggregationRule")) {
    const auto missing = notCovered(rulesOf(existing), rulesOf(wanted));
    if (!missing.empty()) {
      auto& rules = object["rules"];
      if (!rules.is_array()) rules = json::array{};
      for (auto& rule : jsonOf(missing)) rules.get_array().push_back(std::move(rule));
      changed = true;
    }
  }
  if (const auto* subjects = arrayAt(wanted, "subjects")) {
    auto& own = object["subjects"];
    if (!own.is_array()) own = json::array{};
    for (const auto& subject : *subjects)
      if (std::ranges::find(own.get_array(), subject) == own.get_array().end()) {
        own.get_array().push_back(subject);
        changed = true;
      }
  }
  if (!changed) return std::nullopt;
  return next;
}

}  // namespace koord::apiserver
