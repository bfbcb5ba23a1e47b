#include "apiserver/admission/matching.h"
#include "api/group_version.h"

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
  const auto [group, ownVersion] = api::splitApiVersion(a.objectVersion);
  return {{"group", group}, {"version", ownVersion}, {"kind", a.objectKind}};
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

const std::vector<ResourceForm>& RequestForms::all() const {
  if (!forms_)
    forms_ = host_.forms ? host_.forms(*attributes_.resource) : std::vector<ResourceForm>();
  return *forms_;
}

json::value RequestForms::converted(json::value object, const ResourceForm& form, bool back) const {
  // The object of a subresource that has a kind of its own is the same in all forms.
  if (form.resource && host_.convert && attributes_.objectKind.empty() && !object.is_null())
    host_.convert(object, *attributes_.resource, attributes_.version, form, back);
  return object;
}

namespace {

// As a request to this version of the resource.
bool matchesRule(const RequestRule& request, const AdmissionAttributes& a, const Resource& resource,
                 std::string_view version) {
  const api::RuleWithOperations& rule = request.rule;
  if (!rule.scope.empty() && rule.scope != "*" &&
      (rule.scope == "Namespaced") == a.namespace_.empty())
    return false;
  return matchesResource(rule.resources, resource.plural, a.subresource) &&
         listed(rule.operations, a.operation) && listed(rule.apiGroups, resource.group) &&
         listed(rule.apiVersions, version) &&
         (request.names.empty() || std::ranges::count(request.names, a.name) > 0);
}

}  // namespace

std::optional<ResourceForm> matchedForm(const std::vector<RequestRule>& rules, bool equivalent,
                                        const AdmissionAttributes& a, const RequestForms& forms) {
  for (const RequestRule& rule : rules)
    if (matchesRule(rule, a, *a.resource, a.version)) return ResourceForm{nullptr, a.version};
  if (!equivalent) return std::nullopt;
  for (const RequestRule& rule : rules)
    for (const ResourceForm& form : forms.all())
      if (matchesRule(rule, a, *form.resource, form.version)) return form;
  return std::nullopt;
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
