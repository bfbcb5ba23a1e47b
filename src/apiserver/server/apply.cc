// Server-side apply.

#include <fmt/format.h>

#include "api/patch/merge_patch.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"

namespace koord::apiserver {
namespace {

// The type that a configuration must have.
struct ConfigType {
  std::string apiVersion;
  std::string kind;
  const api::Schema* schema = nullptr;
  bool custom = false;
};

std::unexpected<Failure> notTyped(const json::value& config, const ConfigType& type,
                                  std::string_view why) {
  const auto namespace_ = textAt(config, "metadata", "namespace");
  return refuse(ErrorCode::Internal,
                fmt::format("failed to create typed patch object ({}{}{}; {}, Kind={}): {}",
                            namespace_, namespace_.empty() ? "" : "/",
                            textAt(config, "metadata", "name"), type.apiVersion, type.kind, why));
}

// Reads the configuration of a request.
Outcome<json::value> readConfig(const kube::Request& request, const ConfigType& type) {
  auto parsed = parseJson(request.body);
  if (!parsed) return refuse(std::move(parsed.error()).within("error decoding YAML"));
  json::value config = *std::move(parsed);
  if (!config.is_object())
    return refuse(ErrorCode::BadRequest, "error decoding YAML: an object is expected");
  const auto version = textAt(config, "apiVersion");
  const auto kind = textAt(config, "kind");
  if (kind.empty())
    return refuse(ErrorCode::BadRequest, "error decoding YAML: Object 'Kind' is missing");
  if (version != type.apiVersion)
    return refuse(
        ErrorCode::BadRequest,
        fmt::format("Incorrect version specified in apply patch. Specified patch version: "
                    "{}, expected: {}",
                    version, type.apiVersion));
  if (kind != type.kind)
    return refuse(ErrorCode::BadRequest,
                  fmt::format("the kind in the data ({}) does not match the expected kind ({})",
                              kind, type.kind));
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
  if (!type.custom) api::dropNulls(config);
  if (type.schema)
    if (auto problem = api::checkTypes(config, *type.schema))
      return notTyped(config, type, fmt::format(".{}: {}", problem->path, problem->message));
  if (auto good = api::checkApplied(config, type.schema); !good)
    return notTyped(config, type, good.error().message);
  return config;
}

}  // namespace

Task<Outcome<Written>> WriteCall::apply() {
  const auto& request = call_.request;
  if (queryOf(request, "fieldManager").empty())
    co_return refuse(FieldErrors()
                         .required("fieldManager", "is required for apply patch")
                         .failure("PatchOptions.meta.k8s.io", ""));
  const auto forced = queryOf(request, "force");
  const bool force = forced == "true" || forced == "1";
  const bool scale = request.subresource == "scale";
  auto config =
      readConfig(request, scale ? ConfigType{"autoscaling/v1", "Scale",
                                             server_.registry_.builtinSchemas()->find("Scale")}
                                : ConfigType{target_.apiVersion(), target_.resource->kind,
                                             target_.version->schema, target_.resource->custom});
  if (!config) co_return std::unexpected(std::move(config.error()));
  if (!scale) toStoredForm(*config, target_);

  Change change = [config = *std::move(config), force, scale](
                      const json::value& old, WriteCall& call) -> Outcome<json::value> {
    auto managed = call.knownManagers();
    auto next = scale ? call.applyScale(managed, old, config, force)
                      : applyConfig(managed, old, config, call.managedWrite(), force);
    if (!next) return next;
    call.applied_ = std::move(managed);
    if (scale) return next;
    toRequestedForm(*next, call.target_);
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
