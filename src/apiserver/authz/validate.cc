#include "apiserver/authz/validate.h"

#include <fmt/format.h>

#include "apiserver/authz/rbac.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

bool isBinding(const Resource& resource) {
  return resource.group == kRbacGroup && resource.plural.ends_with("bindings");
}

void validateRule(const json::value& rule, bool namespaced, const std::string& path,
                  FieldErrors& errors) {
  const auto count = [&](const char* name) {
    const auto* list = arrayAt(rule, name);
    return list ? list->size() : 0;
  };
  if (count("verbs") == 0)
    errors.required(path + ".verbs", "verbs must contain at least one value");
  if (count("nonResourceURLs") > 0) {
    const auto& urls = memberOf(rule, "nonResourceURLs");
    if (namespaced)
      errors.invalid(path + ".nonResourceURLs", urls,
                     "namespaced rules cannot apply to non-resource URLs");
    if (count("apiGroups") + count("resources") + count("resourceNames") > 0)
      errors.invalid(path + ".nonResourceURLs", urls,
                     "rules cannot apply to both regular resources and non-resource URLs");
    return;
  }
  if (count("apiGroups") == 0)
    errors.required(path + ".apiGroups", "resource rules must supply at least one api group");
  if (count("resources") == 0)
    errors.required(path + ".resources", "resource rules must supply at least one resource");
}

void validateSubject(const json::value& subject, bool namespaced, const std::string& path,
                     FieldErrors& errors) {
  const auto group = textAt(subject, "apiGroup");
  const auto kind = textAt(subject, "kind");
  if (textAt(subject, "name").empty()) errors.required(path + ".name");
  if (kind == "ServiceAccount") {
    if (!group.empty()) errors.unsupported(path + ".apiGroup", group, {""});
    if (!namespaced && textAt(subject, "namespace").empty()) errors.required(path + ".namespace");
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbacGroup) errors.unsupported(path + ".apiGroup", group, {kRbacGroup});
  } else {
    errors.unsupported(path + ".kind", kind, {"ServiceAccount", "User", "Group"});
  }
}

json::value shownRole(const json::value& object) {
  const auto text = [&](const char* name) { return textAt(object, "roleRef", name); };
  return json::object{
      {"APIGroup", text("apiGroup")}, {"Kind", text("kind")}, {"Name", text("name")}};
}

void validateBinding(const json::value& object, const json::value* old, bool namespaced,
                     FieldErrors& errors) {
  const auto group = textAt(object, "roleRef", "apiGroup");
  const auto kind = textAt(object, "roleRef", "kind");
  if (group != kRbacGroup) errors.unsupported("roleRef.apiGroup", group, {kRbacGroup});
  if (namespaced && kind != "Role" && kind != "ClusterRole")
    errors.unsupported("roleRef.kind", kind, {"Role", "ClusterRole"});
  if (!namespaced && kind != "ClusterRole")
    errors.unsupported("roleRef.kind", kind, {"ClusterRole"});
  if (textAt(object, "roleRef", "name").empty()) errors.required("roleRef.name");
  if (const auto* subjects = arrayAt(object, "subjects"))
    for (std::size_t i = 0; i < subjects->size(); ++i)
      validateSubject((*subjects)[i], namespaced, fmt::format("subjects[{}]", i), errors);
  if (old && shownRole(object) != shownRole(*old))
    errors.invalid("roleRef", shownRole(object), "cannot change roleRef");
}

}  // namespace

void completeRbac(json::value& object, const Resource& resource) {
  if (!isBinding(resource)) return;
  auto& members = object.get_object();
  if (auto* role = memberObject(members, "roleRef"))
    if (textAt(object, "roleRef", "apiGroup").empty()) (*role)["apiGroup"] = kRbacGroup;
  if (auto* subjects = arrayAt(members, "subjects"))
    for (auto& subject : *subjects)
      if (const auto kind = textAt(subject, "kind"); kind == "User" || kind == "Group")
        if (textAt(subject, "apiGroup").empty()) subject.get_object()["apiGroup"] = kRbacGroup;
}

Outcome<> validateRbac(const json::value& object, const json::value* old,
                       const Resource& resource) {
  if (resource.group != kRbacGroup) return {};
  FieldErrors errors;
  if (isBinding(resource)) {
    validateBinding(object, old, resource.namespaced, errors);
  } else if (const auto* rules = arrayAt(object, "rules")) {
    for (std::size_t i = 0; i < rules->size(); ++i)
      validateRule((*rules)[i], resource.namespaced, fmt::format("rules[{}]", i), errors);
  }
  return errors.verdict(resource.kind + "." + resource.group, textAt(object, "metadata", "name"));
}

}  // namespace koord::apiserver
