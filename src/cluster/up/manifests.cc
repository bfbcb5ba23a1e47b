#include "cluster/up/manifests.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "api/group_version.h"
#include "cluster/controllers/garbage_collector.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kFieldManager = "koordctl";

Task<Result<>> applyServerSide(kube::Api& api, const api::ResourceType& type, api::ObjectKey key,
                               json::value object) {
  kube::Request request = kube::makeRequest(kube::Verb::Patch, type, std::move(key));
  request.patchType = kube::PatchType::Apply;
  request.query = {{"fieldManager", kFieldManager}, {"force", "true"}};
  request.body = toJson(object);
  auto calling = api.call(std::move(request));
  auto reply = co_await calling;
  if (!reply) co_return fail(std::move(reply.error()));
  co_return Result<>{};
}

}  // namespace

Task<Result<>> applyObject(kube::Api& api, const apiserver::Registry& registry, json::value object,
                           ApplyMode mode) {
  const std::string apiVersion(textAt(object, "apiVersion"));
  const std::string kind(textAt(object, "kind"));
  const auto resource = registry.findByKind(api::splitApiVersion(apiVersion).group, kind);
  if (!resource)
    co_return fail(ErrorCode::NotFound, fmt::format("kind {} of {} is unknown", kind, apiVersion));
  const api::ResourceType type = typeOf(*resource);
  std::string namespace_(textAt(object, "metadata", "namespace"));
  if (resource->namespaced && namespace_.empty()) namespace_ = "default";
  const api::ObjectKey key{resource->namespaced ? namespace_ : "",
                           std::string(textAt(object, "metadata", "name"))};
  const std::string label = fmt::format("{} {}", kind, key.toString());
  if (mode == ApplyMode::Apply) {
    auto applying = applyServerSide(api, type, key, std::move(object));
    auto applied = co_await applying;
    if (!applied) co_return fail(std::move(applied.error()).within(label));
    co_return Result<>{};
  }
  json::value patch = object;
  auto creating = kube::createObject(api, type, key, std::move(object));
  auto created = co_await creating;
  if (created) co_return Result<>{};
  if (created.error().code != ErrorCode::AlreadyExists)
    co_return fail(std::move(created.error()).within(label));
  if (mode == ApplyMode::CreateOnly) co_return Result<>{};
  patch.get_object().erase("status");
  auto patching = kube::mergePatch(api, type, key, std::move(patch));
  auto patched = co_await patching;
  if (!patched) co_return fail(std::move(patched.error()).within(label));
  co_return Result<>{};
}

Task<Result<>> applySet(kube::Api& api, const apiserver::Registry& registry, std::string_view set,
                        ApplyMode mode) {
  Result<> problems;
  for (const auto& manifest : embeddedManifests()) {
    if (manifest.set != set) continue;
    auto object = parseJson(manifest.json);
    if (!object) co_return fail(std::move(object.error()));
    auto applying = applyObject(api, registry, *std::move(object), mode);
    auto applied = co_await applying;
    if (applied) continue;
    if (mode != ApplyMode::Apply) co_return applied;
    if (!problems)
      applied.error().message = problems.error().message + "; " + applied.error().message;
    problems = std::move(applied);
  }
  co_return problems;
}

}  // namespace koord::cluster
