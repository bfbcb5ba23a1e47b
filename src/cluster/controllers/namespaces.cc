#include "cluster/controllers/namespaces.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/controllers/garbage_collector.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {
constexpr Duration kRecheck = std::chrono::milliseconds(500);
}

NamespaceController::NamespaceController(kube::Api& api, Executor& executor,
                                         const apiserver::Registry& registry,
                                         kube::Informer<api::Namespace>& namespaces)
    : api_(api),
      registry_(registry),
      namespaces_(namespaces),
      queue_(executor, "namespace", [this](std::string name) { return sync(std::move(name)); }) {
  const auto seen = [this](const auto& object) {
    if (object->metadata.deletionTimestamp) queue_.add(object->metadata.name);
  };
  namespaces_.addHandler({seen, [seen](const auto&, const auto& object) { seen(object); }, {}});
}

Task<Result<bool>> NamespaceController::empty(std::string name) {
  std::vector<apiserver::ResourcePtr> resources;
  for (const auto& [table, resource] : registry_.all())
    if (resource->namespaced) resources.push_back(resource);
  bool nothingLeft = true;
  for (const auto& resource : resources) {
    const api::ResourceType type = typeOf(*resource);
    auto listing = kube::listObjects(api_, type, name, "", "");
    auto listed = co_await listing;
    if (!listed) co_return fail(std::move(listed.error()));
    const auto* items = at(*listed, "items");
    if (!items || !items->is_array()) continue;
    for (const auto& item : items->get_array()) {
      nothingLeft = false;
      if (at(item, "metadata", "deletionTimestamp")) continue;
      const api::ObjectKey key{name, std::string(textAt(item, "metadata", "name"))};
      auto deleting = kube::deleteObject(api_, type, key);
      auto deleted = co_await deleting;
      if (!deleted && deleted.error().code != ErrorCode::NotFound)
        co_return fail(std::move(deleted.error()));
    }
  }
  co_return nothingLeft;
}

Task<Result<>> NamespaceController::sync(std::string name) {
  const auto object = namespaces_.get({"", name});
  if (!object || !object->metadata.deletionTimestamp) co_return Result<>{};
  auto emptying = empty(name);
  auto done = co_await emptying;
  if (!done) co_return fail(std::move(done.error()));
  if (!*done) {
    queue_.addAfter(name, kRecheck);
    co_return Result<>{};
  }
  json::array finalizers;
  for (const auto& finalizer : object->spec.finalizers)
    if (finalizer != "kubernetes") finalizers.emplace_back(finalizer);
  json::value patched = json::object{{"apiVersion", "v1"},
                                     {"kind", "Namespace"},
                                     {"metadata",
                                      {{"name", name},
                                       {"uid", object->metadata.uid},
                                       {"resourceVersion", object->metadata.resourceVersion}}},
                                     {"spec", {{"finalizers", std::move(finalizers)}}}};
  auto finalizing =
      kube::updateObject(api_, api::Namespace::kType, {"", name}, std::move(patched), "finalize");
  auto finalized = co_await finalizing;
  if (finalized || finalized.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(std::move(finalized.error()));
}

}  // namespace koord::cluster
