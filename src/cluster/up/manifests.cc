#include "cluster/up/manifests.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "cluster/controllers/garbage_collector.h"
#include "kube/client.h"

namespace koord::cluster {

Task<Result<>> applyObject(kube::Api& api, const apiserver::Registry& registry, json::value object,
                           ApplyMode mode) {
  const std::string apiVersion(textAt(object, "apiVersion"));
  const std::string kind(textAt(object, "kind"));
  const auto slash = apiVersion.find('/');
  const auto resource =
      registry.findByKind(slash == std::string::npos ? "" : apiVersion.substr(0, slash), kind);
  if (!resource)
    co_return fail(ErrorCode::NotFound, fmt::format("no kind {} in {}", kind, apiVersion));
  const api::ResourceType type = typeOf(*resource);
  std::string namespace_(textAt(object, "metadata", "namespace"));
  if (resource->namespaced && namespace_.empty()) namespace_ = "default";
  const api::ObjectKey key{resource->namespaced ? namespace_ : "",
                           std::string(textAt(object, "metadata", "name"))};
  const std::string label = fmt::format("{} {}", kind, key.toString());
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
  for (const auto& manifest : embeddedManifests()) {
    if (manifest.set != set) continue;
    auto object = parseJson(manifest.json);
    if (!object) co_return fail(std::move(object.error()));
    auto applying = applyObject(api, registry, *std::move(object), mode);
    auto applied = co_await applying;
    if (!applied) co_return applied;
  }
  co_return Result<>{};
}

}  // namespace koord::cluster
