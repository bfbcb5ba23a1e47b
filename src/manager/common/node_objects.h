#pragma once

// Keeps one object of a kind for every Node, under the node's name: creates it, keeps its spec up
// to date, deletes it with the node. It never writes the status, which belongs to other components.

#include "api/core.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::manager {

struct NodeObjectRules {
  std::string name;  // of the controller, for logs
  // Returns false while no object may be written. After a change call enqueueAll().
  std::function<bool()> ready;
  // Returns the desired spec; nullopt leaves the object as it is. `current` is the present spec,
  // null without an object.
  std::function<std::optional<json::value>(const api::Node& node, const json::value& current)>
      specOf;
  // Counts a write; `reason` names the action ("" for the reconcile as a whole).
  std::function<void(bool ok, std::string_view reason)> count;
  kube::Metrics* queueMetrics = nullptr;
};

// The merge patch from one spec to the other, nullopt if they are equal.
std::optional<json::value> specPatch(const json::value& from, const json::value& to);
// Returns true if a field of the node changed that specs depend on.
bool nodeChanged(const api::Node& before, const api::Node& after);

template <class T>
class NodeObjectController {
 public:
  NodeObjectController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                       kube::Informer<T>& objects, NodeObjectRules rules)
      : api_(api),
        nodes_(nodes),
        objects_(objects),
        rules_(std::move(rules)),
        queue_(
            executor, rules_.name, [this](std::string key) { return reconcile(std::move(key)); },
            rules_.queueMetrics) {
    nodes_.addHandler({[this](const auto& node) { queue_.add(node->metadata.name); },
                       [this](const auto& before, const auto& after) {
                         if (nodeChanged(*before, *after)) queue_.add(after->metadata.name);
                       },
                       [this](const auto& node) { queue_.add(node->metadata.name); }});
    objects_.addHandler({[this](const auto& object) { queue_.add(object->metadata.name); },
                         [this](const auto& before, const auto& after) {
                           if (before->metadata.generation != after->metadata.generation)
                             queue_.add(after->metadata.name);
                         },
                         [this](const auto& object) { queue_.add(object->metadata.name); }});
    nodes_.onSynced([this] { startWhenSynced(); });
    objects_.onSynced([this] { startWhenSynced(); });
  }

  void enqueueAll() {
    for (const auto& node : nodes_.objects()) queue_.add(node->metadata.name);
  }

 private:
  void startWhenSynced() {
    if (nodes_.synced() && objects_.synced()) queue_.start();
  }

  Task<Result<>> reconcile(std::string name) {
    if (!rules_.ready()) co_return Result<>();
    const api::ObjectKey key{"", std::move(name)};
    const auto node = nodes_.get(key);
    const auto object = objects_.get(key);
    if (!node && !object) co_return Result<>();
    if (!node) {
      auto task = kube::deleteObject(api_, T::kType, key, {.uid = object->metadata.uid});
      auto deleted = co_await task;
      if (!deleted && deleted.error().code == ErrorCode::NotFound) deleted = {};
      co_return finish(std::move(deleted), "delete");
    }
    const json::value current = object ? api::encode(object->spec) : json::value();
    auto spec = rules_.specOf(*node, current);
    if (!spec) co_return Result<>();
    if (!object) {
      auto task = kube::createObject(api_, T::kType, {}, newObject(key.name, *std::move(spec)));
      auto created = co_await task;
      // Created by another replica, or by an earlier request whose answer was lost: the informer
      // delivers it, and then the spec is compared.
      if (!created && created.error().code != ErrorCode::AlreadyExists)
        co_return finish(fail(std::move(created.error())), "create");
      co_return finish({}, "create");
    }
    auto patch = specPatch(current, *spec);
    if (!patch) co_return Result<>();
    json::value document = json::object{{"spec", *std::move(patch)}};
    auto task = kube::mergePatch(api_, T::kType, key, std::move(document));
    auto patched = co_await task;
    if (!patched) co_return finish(fail(std::move(patched.error())), "update");
    co_return finish({}, "update");
  }

  static json::value newObject(const std::string& name, json::value spec) {
    return json::object{{"apiVersion", api::apiVersionOf(T::kType)},
                        {"kind", json::string_view(T::kType.kind.data(), T::kType.kind.size())},
                        {"metadata", json::object{{"name", name}}},
                        {"spec", std::move(spec)}};
  }

  // Counts a write; its reason is the verb and the kind: createNodeMetric.
  Result<> finish(Result<> result, std::string_view verb) {
    rules_.count(result.has_value(), std::string(verb) + std::string(T::kType.kind));
    return result;
  }

  kube::Api& api_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<T>& objects_;
  NodeObjectRules rules_;
  kube::WorkQueue queue_;
};

}  // namespace koord::manager
