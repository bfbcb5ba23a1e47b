#include "apiserver/server/scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"

namespace koord::apiserver {
namespace {

constexpr const char* kScaleApiVersion = "autoscaling/v1";

// ".spec.replicas"
std::vector<std::string> namesOf(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const auto dot = path.find('.');
    out.emplace_back(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  return out;
}

const json::value* valueAt(const json::value& object, std::string_view path) {
  const json::value* value = &object;
  for (const auto& name : namesOf(path)) {
    value = find(*value, name);
    if (!value) return nullptr;
  }
  return value;
}

api::FieldSet fieldAt(std::string_view path) {
  api::FieldSet out;
  api::FieldSet* level = &out;
  api::FieldNode* node = nullptr;
  for (auto& name : namesOf(path)) {
    node = &level->at({api::PathElement::Kind::Field, std::move(name)});
    level = &node->children;
  }
  if (node) node->member = true;
  return out;
}

// The status.selector of a Scale: the text of a selector that the object has as text or as an
// object.
std::string selectorText(const json::value& object, const ScalePaths& paths) {
  const auto* selector =
      valueAt(object, paths.labelSelector.empty() ? ".spec.selector" : paths.labelSelector);
  if (!selector) return "";
  if (selector->is_string()) return std::string(selector->get_string());
  auto decoded = api::decode<api::LabelSelector>(*selector);
  if (!decoded) return "";
  auto compiled = api::Selector::compile(*decoded);
  return compiled ? compiled->toString() : "";
}

Outcome<> checkScale(const json::value& wanted, const json::value& object, const Target& target,
                     const api::Schema& schema) {
  if (const auto problem = api::checkTypes(wanted, schema))
    return refuse(ErrorCode::BadRequest,
                  fmt::format("Scale in version \"v1\" cannot be handled as a Scale: {}{}{}",
                              problem->path, problem->path.empty() ? "" : ": ", problem->message));
  const auto name = textAt(object, "metadata", "name");
  if (const auto replicas = integerAt(wanted, 0, "spec", "replicas"); replicas < 0)
    return refuse(FieldErrors()
                      .invalid("spec.replicas", replicas, "must be greater than or equal to 0")
                      .failure("Scale.autoscaling", name));
  const auto uid = textAt(wanted, "metadata", "uid");
  if (const auto is = textAt(object, "metadata", "uid"); !uid.empty() && uid != is)
    return refuse(
        conflict(*target.resource, name,
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             uid, is)));
  return {};
}

// The object with the replicas of `scale`.
Outcome<json::value> scaled(const json::value& object, const json::value& scale,
                            const Target& target, const api::Schema& schema) {
  if (auto good = checkScale(scale, object, target, schema); !good)
    return std::unexpected(std::move(good.error()));
  json::value next = object;
  json::value* value = &next;
  for (const auto& name : namesOf(target.version->scale->specReplicas)) {
    if (!value->is_object()) *value = json::object{};
    value = &value->get_object()[name];
  }
  *value = integerAt(scale, 0, "spec", "replicas");
  if (const auto* version = at(scale, "metadata", "resourceVersion"))
    objectAt(next.get_object(), "metadata")["resourceVersion"] = *version;
  return next;
}

bool sameWriter(const ManagedEntry& a, const ManagedEntry& b) {
  return a.manager == b.manager && a.applied == b.applied && a.subresource == b.subresource;
}

// The managers of an object's replicas, as managers of the Scale.
ManagedFields managersOfScale(const ManagedFields& managed, const ScalePaths& paths) {
  const auto replicas = fieldAt(paths.specReplicas);
  ManagedFields out;
  for (const auto& entry : managed) {
    if (intersect(entry.fields, replicas).empty()) continue;
    auto& copy = out.emplace_back(entry);
    copy.apiVersion = kScaleApiVersion;
    copy.fields = api::fieldSetOf({"spec", "replicas"});
  }
  return out;
}

// The managers of the object after those of its Scale became `ofScale`. New entries get this
// apiVersion.
ManagedFields withManagersOfScale(ManagedFields managed, const ManagedFields& ofScale,
                                  const ScalePaths& paths, const std::string& apiVersion) {
  const auto replicas = fieldAt(paths.specReplicas);
  const auto inScale = api::fieldSetOf({"spec", "replicas"});
  for (auto& entry : managed) entry.fields = subtract(std::move(entry.fields), replicas);
  for (const auto& owner : ofScale) {
    if (intersect(owner.fields, inScale).empty()) continue;
    auto it = std::ranges::find_if(
        managed, [&](const ManagedEntry& entry) { return sameWriter(entry, owner); });
    if (it == managed.end()) {
      managed.push_back(owner);
      it = std::prev(managed.end());
      it->apiVersion = apiVersion;
      it->fields = {};
    }
    it->fields = unite(std::move(it->fields), replicas);
    it->time = owner.time;
  }
  std::erase_if(managed, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  return managed;
}

}  // namespace

json::value scaleOf(const json::value& object, const ScalePaths& paths) {
  const auto number = [&](const std::string& path) -> json::value {
    const auto* value = valueAt(object, path);
    return value && value->is_int64() ? *value : json::value(0);
  };
  json::object metadata;
  for (const auto* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const auto* member = at(object, "metadata", name)) metadata[name] = *member;
  json::object status{{"replicas", number(paths.statusReplicas)}};
  if (auto text = selectorText(object, paths); !text.empty()) status["selector"] = text;
  return json::object{{"kind", "Scale"},
                      {"apiVersion", kScaleApiVersion},
                      {"metadata", std::move(metadata)},
                      {"spec", {{"replicas", number(paths.specReplicas)}}},
                      {"status", std::move(status)}};
}

Outcome<json::value> WriteCall::applyScale(ManagedFields& managed, const json::value& old,
                                           const json::value& config, bool force) const {
  const auto& paths = *target_.version->scale;
  auto write = managedWrite();
  const auto apiVersion = std::exchange(write.apiVersion, kScaleApiVersion);
  write.schema = server_.registry_.builtinSchemas()->find("Scale");
  write.ignored = nullptr;
  auto owners = managersOfScale(managed, paths);
  auto scale = applyConfig(owners, scaleOf(old, paths), config, write, force);
  if (!scale) return scale;
  managed = withManagersOfScale(std::move(managed), owners, paths, apiVersion);
  return scaled(old, *scale, target_, *write.schema);
}

void WriteCall::showScale(AdmissionAttributes& attributes, const json::value& object,
                          const json::value& old) const {
  attributes.objectKind = "Scale";
  attributes.objectVersion = kScaleApiVersion;
  attributes.object = scaleOf(object, *target_.version->scale);
  attributes.oldObject = scaleOf(old, *target_.version->scale);
}

Task<Outcome<json::value>> WriteCall::mutateScale(AdmissionAttributes attributes,
                                                  json::value object, json::value old) {
  showScale(attributes, object, old);
  auto mutating = server_.admission_.mutate(
      std::move(attributes),
      [this](json::value& scale, bool) { return completeSubresourceKind(scale, "Scale"); },
      notes());
  auto mutated = co_await mutating;
  if (!mutated) co_return std::unexpected(std::move(mutated.error()));
  if (!*mutated) co_return std::move(object);
  auto next =
      scaled(object, **mutated, target_, *server_.registry_.builtinSchemas()->find("Scale"));
  co_return next;
}

Task<Outcome<Written>> WriteCall::scale() {
  const auto& request = call_.request;
  if (request.verb == kube::Verb::Get) {
    const auto entry = target_.table->find(makeKey(request.namespace_, request.name));
    if (!entry) co_return refuse(notFound(*target_.resource, request.name));
    co_return answer(*entry, 200);
  }
  const bool patches = request.verb == kube::Verb::Patch;
  if (patches && request.patchType == kube::PatchType::Apply) {
    auto applying = apply();
    co_return co_await applying;
  }
  if (!patches && request.verb != kube::Verb::Update)
    co_return refuse(ErrorCode::MethodNotAllowed,
                     "the server does not allow this method on the requested resource");
  auto body = parseJson(request.body);
  if (!body) co_return refuse(std::move(body.error()).within("error decoding the scale"));
  auto changing = modify([body = *std::move(body), patches](
                             const json::value& old, WriteCall& call) -> Outcome<json::value> {
    const auto& schema = *call.server_.registry_.builtinSchemas()->find("Scale");
    if (!patches) return scaled(old, body, call.target_, schema);
    const auto before = scaleOf(old, *call.target_.version->scale);
    auto patched = call.call_.request.patchType == kube::PatchType::Json
                       ? api::applyJsonPatch(before, body)
                       : api::applyMergePatch(before, body);
    if (!patched) return refuse(std::move(patched.error()));
    return scaled(old, *patched, call.target_, schema);
  });
  co_return co_await changing;
}

}  // namespace koord::apiserver
