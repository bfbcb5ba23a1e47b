// Server-side apply.

#include <fmt/format.h>

#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"

namespace koord::apiserver {
namespace {

void dropNulls(json::value& value) {
  if (auto* object = value.if_object()) {
    for (auto it = object->begin(); it != object->end();) {
      if (it->value().is_null()) {
        it = object->stable_erase(it);
      } else {
        dropNulls(it->value());
        ++it;
      }
    }
  } else if (auto* list = value.if_array()) {
    for (auto& item : *list) dropNulls(item);
  }
}

std::unexpected<Failure> notTyped(const json::value& config, const Target& target,
                                  std::string_view why) {
  const auto namespace_ = textAt(config, "metadata", "namespace");
  return refuse(
      ErrorCode::Internal,
      fmt::format("failed to create typed patch object ({}{}{}; {}, Kind={}): {}", namespace_,
                  namespace_.empty() ? "" : "/", textAt(config, "metadata", "name"),
                  target.apiVersion(), target.resource->kind, why));
}

// The configuration of a request, in stored form.
Outcome<json::value> readConfig(const kube::Request& request, const Target& target) {
  auto parsed = parseJson(request.body);
  if (!parsed) return refuse(std::move(parsed.error()).within("error decoding YAML"));
  json::value config = *std::move(parsed);
  if (!config.is_object())
    return refuse(ErrorCode::BadRequest, "error decoding YAML: an object is expected");
  const auto version = textAt(config, "apiVersion");
  const auto kind = textAt(config, "kind");
  if (kind.empty())
    return refuse(ErrorCode::BadRequest, "error decoding YAML: Object 'Kind' is missing");
  if (version != target.apiVersion())
    return refuse(
        ErrorCode::BadRequest,
        fmt::format("Incorrect version specified in apply patch. Specified patch version: "
                    "{}, expected: {}",
                    version, target.apiVersion()));
  if (kind != target.resource->kind)
    return refuse(ErrorCode::BadRequest,
                  fmt::format("the kind in the data ({}) does not match the expected kind ({})",
                              kind, target.resource->kind));
  if (at(config, "metadata", "managedFields"))
    return refuse(ErrorCode::BadRequest, "metadata.managedFields must be nil");
  auto& metadata = objectAt(config.get_object(), "metadata");
  for (const auto& [name, wanted] :
       {std::pair{"name", std::string_view(request.name)},
        std::pair{"namespace", std::string_view(request.namespace_)}}) {
    const auto given = textAt(config, "metadata", name);
    if (!given.empty() && given != wanted)
      return refuse(ErrorCode::BadRequest,
                    fmt::format("the {} of the object ({}) does not match the {} on the URL ({})",
                                name, given, name, wanted));
    if (!wanted.empty()) metadata[name] = wanted;
  }
  if (!target.resource->custom) dropNulls(config);
  const auto* schema = target.version->schema;
  if (schema)
    if (auto problem = api::checkTypes(config, *schema))
      return notTyped(config, target, fmt::format(".{}: {}", problem->path, problem->message));
  if (auto good = api::checkApplied(config, schema); !good)
    return notTyped(config, target, good.error().message);
  toStoredForm(config, target);
  return config;
}

}  // namespace

Task<Outcome<Written>> WriteCall::apply() {
  const auto& request = call_.request;
  if (queryOf(request, "fieldManager").empty())
    co_return refuse(ErrorCode::Invalid,
                     "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                     "required for apply patch");
  const auto forced = queryOf(request, "force");
  const bool force = forced == "true" || forced == "1";
  auto config = readConfig(request, target_);
  if (!config) co_return std::unexpected(std::move(config.error()));

  Change change = [config = *std::move(config), force](const json::value& old,
                                                       WriteCall& call) -> Outcome<json::value> {
    ManagedFields managed;
    if (const auto list = parseJson(call.managed_.empty() ? "null" : call.managed_))
      managed = parseManagedFields(*list).value_or(ManagedFields{});
    auto next = applyConfig(managed, old, config, call.managedWrite(), force);
    if (!next) return next;
    toRequestedForm(*next, call.target_);
    call.applied_ = std::move(managed);
    call.warnings_.clear();
    if (auto good = admitObject(*next, call.call_.request, call.target_, call.warnings_); !good)
      return std::unexpected(std::move(good.error()));
    return next;
  };
  const auto key = makeKey(target_.resource->namespaced ? request.namespace_ : "", request.name);
  if (target_.table->find(key) || !request.subresource.empty()) {
    auto changing = modify(std::move(change));
    co_return co_await changing;
  }
  auto object = change(json::object{}, *this);
  if (!object) co_return std::unexpected(std::move(object.error()));
  if (const auto uid = textAt(*object, "metadata", "uid"); !uid.empty())
    co_return refuse(conflict(*target_.resource, request.name,
                              fmt::format("uid mismatch: the provided object specified uid {}, and "
                                          "no existing object was found",
                                          uid)));
  auto creating = createObject(*std::move(object));
  co_return co_await creating;
}

}  // namespace koord::apiserver
