#include "apiserver/admission/policy_request.h"

#include "apiserver/admission/builtin.h"

namespace koord::apiserver {

Outcome<json::value> namespaceObjectOf(const AdmissionHost& host, const AdmissionAttributes& a) {
  if (a.namespace_.empty() || a.resource->isCore("namespaces")) return json::value();
  json::value object = host.namespaceObject(a.namespace_);
  if (!object.is_object()) return refuse(namespaceNotFound(a.namespace_));
  if (auto* metadata = object.get_object().if_contains("metadata");
      metadata && metadata->is_object())
    for (const char* hidden : {"managedFields", "ownerReferences", "selfLink"})
      metadata->get_object().erase(hidden);
  return object;
}

PolicyRequest::PolicyRequest(const AdmissionHost& host, const AdmissionAttributes& a,
                             const RequestForms& forms, json::value namespaceObject)
    : host_(host),
      attributes_(a),
      forms_(forms),
      authorizer_(host.authorize, a.user),
      namespaceObject_(std::move(namespaceObject)),
      object_(a.object) {}

PolicyRequest::Shown& PolicyRequest::shownIn(const ResourceForm& form) {
  const auto [it, isNew] = shown_.try_emplace(
      {form.resource ? form.resource->group : attributes_.resource->group, form.version});
  Shown& shown = it->second;
  if (isNew) {
    shown.oldObject = forms_.converted(attributes_.oldObject, form, false);
    shown.request = requestOf(attributes_, form);
  }
  if (!shown.isCurrent) {
    shown.object = forms_.converted(object_, form, false);
    shown.isCurrent = true;
  }
  return shown;
}

PolicyInputs PolicyRequest::inputs(const ResourceForm& form, const json::value* param) {
  static const json::value kNone;
  const Shown& shown = shownIn(form);
  return {shown.object,     shown.oldObject,        shown.request,
          namespaceObject_, param ? *param : kNone, authorizer_};
}

void PolicyRequest::setObject(json::value object) {
  object_ = std::move(object);
  for (auto& [form, shown] : shown_) shown.isCurrent = false;
}

const api::Schema* PolicyRequest::schema(const ResourceForm& form) const {
  if (!attributes_.objectKind.empty())
    return host_.kindSchema ? host_.kindSchema(attributes_.objectKind) : nullptr;
  const Resource& resource = form.resource ? *form.resource : *attributes_.resource;
  const ResourceVersion* version = resource.version(form.version);
  return version ? version->schema : nullptr;
}

}  // namespace koord::apiserver
