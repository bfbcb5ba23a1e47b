#include "apiserver/admission/matching.h"

#include <algorithm>

namespace koord::apiserver {
namespace {

bool listed(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::any_of(list,
                             [&](const std::string& item) { return item == "*" || item == value; });
}

bool matchesResource(const std::vector<std::string>& patterns, std::string_view plural,
                     std::string_view subresource) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    const auto slash = pattern.find('/');
    const auto resource = pattern.substr(0, slash);
    if (resource != "*" && resource != plural) return false;
    if (slash == std::string_view::npos) return subresource.empty();
    const auto sub = pattern.substr(slash + 1);
    return sub == "*" || sub == subresource;
  });
}

api::StringMap labelsOf(const json::value& object) {
  api::StringMap out;
  if (const auto* labels = at(object, "metadata", "labels"); labels && labels->is_object())
    for (const auto& label : labels->get_object())
      if (label.value().is_string())
        out.emplace(std::string(label.key()), std::string(label.value().get_string()));
  return out;
}

json::object kindOf(const AdmissionAttributes& a, const Resource& resource,
                    std::string_view version) {
  if (a.objectKind.empty())
    return {{"group", resource.group}, {"version", version}, {"kind", resource.kind}};
  const auto slash = a.objectVersion.find('/');
  const bool core = slash == std::string::npos;
  return {{"group", core ? "" : a.objectVersion.substr(0, slash)},
          {"version", core ? a.objectVersion : a.objectVersion.substr(slash + 1)},
          {"kind", a.objectKind}};
}

json::object resourceOf(const Resource& resource, std::string_view version) {
  return {{"group", resource.group}, {"version", version}, {"resource", resource.plural}};
}

}  // namespace

json::object requestOf(const AdmissionAttributes& a, const ResourceForm& form) {
  const Resource& asked = form.resource ? *form.resource : *a.resource;
  json::object user{{"username", a.user.name},
                    {"groups", json::array(a.user.groups.begin(), a.user.groups.end())}};
  if (!a.user.uid.empty()) user["uid"] = a.user.uid;
  json::object request{{"kind", kindOf(a, asked, form.version)},
                       {"resource", resourceOf(asked, form.version)},
                       {"requestKind", kindOf(a, *a.resource, a.version)},
                       {"requestResource", resourceOf(*a.resource, a.version)}};
  if (!a.subresource.empty()) {
    request["subResource"] = a.subresource;
    request["requestSubResource"] = a.subresource;
  }
  if (!a.name.empty()) request["name"] = a.name;
  if (!a.namespace_.empty()) request["namespace"] = a.namespace_;
  request["operation"] = a.operation;
  request["userInfo"] = std::move(user);
  request["dryRun"] = a.dryRun;
  const char* options = a.operation == "CREATE"   ? "CreateOptions"
                        : a.operation == "UPDATE" ? "UpdateOptions"
                                                  : "DeleteOptions";
  request["options"] = {{"apiVersion", "meta.k8s.io/v1"}, {"kind", options}};
  return request;
}

bool matchesRule(const api::RuleWithOperations& rule, const AdmissionAttributes& a,
                 const Resource& resource, std::string_view version) {
  if (!rule.scope.empty() && rule.scope != "*" &&
      (rule.scope == "Namespaced") == a.namespace_.empty())
    return false;
  return listed(rule.operations, a.operation) && listed(rule.apiGroups, resource.group) &&
         listed(rule.apiVersions, version) &&
         matchesResource(rule.resources, resource.plural, a.subresource);
}

bool selectsObject(const api::Selector& selector, const AdmissionAttributes& a) {
  if (selector.empty()) return true;
  return (!a.object.is_null() && selector.matches(labelsOf(a.object))) ||
         (!a.oldObject.is_null() && selector.matches(labelsOf(a.oldObject)));
}

bool selectsNamespace(const api::Selector& selector, const AdmissionAttributes& a,
                      const NamespaceLabels& labels) {
  if (selector.empty()) return true;
  if (a.resource->isCore("namespaces"))
    return selector.matches(labelsOf(a.object.is_null() ? a.oldObject : a.object));
  return a.namespace_.empty() || !labels || selector.matches(labels(a.namespace_));
}

cel::AuthorizationDecision UserAuthorizer::authorize(
    const cel::AuthorizationRequest& request) const {
  if (!authorize_) return {.allowed = true, .reason = {}, .error = {}};
  return authorize_(user_, request);
}

}  // namespace koord::apiserver
