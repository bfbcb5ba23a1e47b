#include "cluster/controllers/namespaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
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
      executor_(executor),
      registry_(registry),
      namespaces_(namespaces),
      queue_(executor, "namespace", [this](std::string name) { return sync(std::move(name)); }) {
  const auto seen = [this](const auto& object) {
    if (object->metadata.deletionTimestamp) queue_.add(object->metadata.name);
  };
  namespaces_.addHandler({seen, [seen](const auto&, const auto& object) { seen(object); }, {}});
}

Task<Result<NamespaceController::Remaining>> NamespaceController::empty(std::string name) {
  std::vector<apiserver::ResourcePtr> resources;
  for (const auto& [table, resource] : registry_.all())
    if (resource->namespaced) resources.push_back(resource);
  Remaining remaining;
  for (const auto& resource : resources) {
    const api::ResourceType type = typeOf(*resource);
    auto listing = kube::listObjects(api_, type, name, "", "");
    auto listed = co_await listing;
    if (!listed) co_return fail(std::move(listed.error()));
    const auto* items = at(*listed, "items");
    if (!items || !items->is_array()) continue;
    for (const auto& item : items->get_array()) {
      ++remaining.objects[resource->plural + "." + resource->group];
      if (const auto* finalizers = at(item, "metadata", "finalizers");
          finalizers && finalizers->is_array())
        for (const auto& finalizer : finalizers->get_array())
          if (finalizer.is_string()) ++remaining.finalizers[std::string(finalizer.get_string())];
      if (at(item, "metadata", "deletionTimestamp")) continue;
      const api::ObjectKey key{name, std::string(textAt(item, "metadata", "name"))};
      auto deleting = kube::deleteObject(api_, type, key);
      auto deleted = co_await deleting;
      if (!deleted && deleted.error().code != ErrorCode::NotFound && remaining.failure.empty())
        remaining.failure = deleted.error().message;
    }
  }
  co_return remaining;
}

Task<Result<>> NamespaceController::report(std::shared_ptr<const api::Namespace> object,
                                           Remaining remaining) {
  std::string objects, finalizers;
  for (const auto& [resource, count] : remaining.objects)
    objects +=
        fmt::format("{}{} has {} resource instances", objects.empty() ? "" : ", ", resource, count);
  for (const auto& [finalizer, count] : remaining.finalizers)
    finalizers += fmt::format("{}{} in {} resource instances", finalizers.empty() ? "" : ", ",
                              finalizer, count);
  const bool failed = !remaining.failure.empty();
  const auto& before = object->status.conditions;
  json::array conditions;
  bool changed = false;
  const auto add = [&](const char* type, bool holds, const char* reason, std::string message) {
    const char* status = holds ? "True" : "False";
    WallTime since = executor_.wallNow();
    const auto old = std::ranges::find(before, type, &api::Condition::type);
    if (old != before.end() && old->status == status)
      since = old->lastTransitionTime.value_or(since);
    changed |= old == before.end() || old->status != status || old->message != message;
    conditions.push_back(json::object{{"type", type},
                                      {"status", status},
                                      {"lastTransitionTime", formatTime(since)},
                                      {"reason", reason},
                                      {"message", std::move(message)}});
  };
  add("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
      "All resources successfully discovered");
  add("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
      "All legacy kube types successfully parsed");
  add("NamespaceDeletionContentFailure", failed,
      failed ? "ContentDeletionFailed" : "ContentDeleted",
      failed ? "Failed to delete all resource types, 1 remaining: " + remaining.failure
             : "All content successfully deleted, may be waiting on finalization");
  add("NamespaceContentRemaining", !objects.empty(),
      objects.empty() ? "ContentRemoved" : "SomeResourcesRemain",
      objects.empty() ? "All content successfully removed"
                      : "Some resources are remaining: " + objects);
  add("NamespaceFinalizersRemaining", !finalizers.empty(),
      finalizers.empty() ? "ContentHasNoFinalizers" : "SomeFinalizersRemain",
      finalizers.empty() ? "All content-preserving finalizers finished"
                         : "Some content in the namespace has finalizers remaining: " + finalizers);
  if (!changed) co_return Result<>{};
  json::value patch = json::object{{"status", {{"conditions", std::move(conditions)}}}};
  auto patching = kube::mergePatch(api_, api::Namespace::kType, {"", object->metadata.name},
                                   std::move(patch), "status");
  auto patched = co_await patching;
  if (patched || patched.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(std::move(patched.error()));
}

Task<Result<>> NamespaceController::sync(std::string name) {
  const auto object = namespaces_.get({"", name});
  if (!object || !object->metadata.deletionTimestamp) co_return Result<>{};
  auto emptying = empty(name);
  auto remaining = co_await emptying;
  if (!remaining) co_return fail(std::move(remaining.error()));
  if (!remaining->objects.empty()) {
    // Objects that are deleted at once are gone at the next check, and not reported.
    queue_.addAfter(name, kRecheck);
    if (executor_.wallNow() < *object->metadata.deletionTimestamp + kRecheck) co_return Result<>{};
    auto reporting = report(object, *std::move(remaining));
    co_return co_await reporting;
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
