#pragma once

// An API server's behaviour in memory, for tests on virtual time: objects of any kind, resource
// versions, generations, the status subresource, merge patches, lists and watches. No schemas, no
// admission.

#include <fmt/format.h>

#include <list>
#include <map>
#include <set>
#include <vector>

#include "api/patch/merge_patch.h"
#include "kube/fake_api.h"

namespace koord::manager {

class FakeCluster final : public kube::Api {
 public:
  explicit FakeCluster(Executor& executor) : executor_(executor) {}

  std::vector<kube::Request> writes;  // every one, failed ones included
  std::function<std::optional<Error>(const kube::Request&)> failure;  // answers instead, when set

  // Writes that tests make behind the components' backs. The text is a whole object.
  void put(const api::ResourceType& type, std::string_view text) {
    json::value object = parseJson(text).value();
    const std::string key =
        keyOf(textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name"));
    store(kindOf(type.group, type.plural), key, std::move(object));
  }
  void remove(const api::ResourceType& type, const std::string& name, const std::string& ns = "") {
    erase(kindOf(type.group, type.plural), keyOf(ns, name));
  }
  // nullptr when there is none. Valid until the next write.
  const json::value* get(const api::ResourceType& type, const std::string& name,
                         const std::string& ns = "") {
    auto& objects = kinds_[kindOf(type.group, type.plural)];
    const auto it = objects.find(keyOf(ns, name));
    return it == objects.end() ? nullptr : &it->second;
  }
  std::size_t count(const api::ResourceType& type) {
    return kinds_[kindOf(type.group, type.plural)].size();
  }

  Task<Result<std::string>> call(kube::Request request) override {
    auto pause = sleepFor(executor_, std::chrono::milliseconds(1));
    co_await pause;
    co_return answer(request);
  }

  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    if (request.query.contains("sendInitialEvents"))
      return std::make_unique<kube::RefusedWatch>(executor_, std::move(sink));
    watches_.push_back({kindOf(request.group, request.resource), request, std::move(sink)});
    return std::make_unique<Handle>(watches_, std::prev(watches_.end()));
  }

 private:
  struct OpenWatch {
    std::string kind;
    kube::Request request;
    kube::WatchSink sink;
  };
  struct Handle final : kube::Watch {
    Handle(std::list<OpenWatch>& a, std::list<OpenWatch>::iterator m) : all(a), mine(m) {}
    ~Handle() override { all.erase(mine); }
    std::list<OpenWatch>& all;
    std::list<OpenWatch>::iterator mine;
  };

  static std::string kindOf(std::string_view group, std::string_view plural) {
    return fmt::format("{}/{}", group, plural);
  }
  static std::string keyOf(std::string_view ns, std::string_view name) {
    return fmt::format("{}/{}", ns, name);
  }

  static bool inScope(const kube::Request& request, const json::value& object) {
    if (!request.namespace_.empty() &&
        textAt(object, "metadata", "namespace") != request.namespace_)
      return false;
    const auto* selector = api::findIn(request.query, "fieldSelector");
    constexpr std::string_view kByName = "metadata.name=";
    return !selector || !selector->starts_with(kByName) ||
           textAt(object, "metadata", "name") == std::string_view(*selector).substr(kByName.size());
  }

  Result<std::string> answer(const kube::Request& request) {
    using kube::Verb;
    const bool write = request.verb != Verb::Get && request.verb != Verb::List;
    if (write) writes.push_back(request);
    if (failure)
      if (auto error = failure(request)) return fail(*std::move(error));
    const std::string kind = kindOf(request.group, request.resource);
    auto& objects = kinds_[kind];
    if (request.verb == Verb::List) {
      json::array items;
      for (const auto& [key, object] : objects)
        if (inScope(request, object)) items.push_back(object);
      return toJson(json::object{{"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                 {"items", std::move(items)}});
    }
    if (request.verb == Verb::Create) return create(request, kind);
    const std::string key = keyOf(request.namespace_, request.name);
    const auto it = objects.find(key);
    if (it == objects.end())
      return fail(ErrorCode::NotFound,
                  fmt::format("{} \"{}\" not found", request.resource, request.name));
    if (request.verb == Verb::Get) return toJson(it->second);
    if (request.verb == Verb::Delete) {
      erase(kind, key);
      return std::string("{}");
    }
    return patch(request, kind, key, it->second);
  }

  Result<std::string> create(const kube::Request& request, const std::string& kind) {
    json::value object = parseJson(request.body).value();
    const std::string key = keyOf(request.namespace_, textAt(object, "metadata", "name"));
    if (kinds_[kind].contains(key)) return fail(ErrorCode::AlreadyExists, key + " already exists");
    store(kind, key, std::move(object));
    return toJson(kinds_[kind][key]);
  }

  Result<std::string> patch(const kube::Request& request, const std::string& kind,
                            const std::string& key, json::value object) {
    const json::value change = parseJson(request.body).value();
    const auto wanted = textAt(change, "metadata", "resourceVersion");
    if (!wanted.empty() && wanted != textAt(object, "metadata", "resourceVersion"))
      return fail(ErrorCode::Conflict, key + " has changed");
    json::value patched = api::applyMergePatch(object, change).value();
    // A status write leaves the spec alone, any other write the status.
    const char* kept = request.subresource == "status" ? "spec" : "status";
    const json::value* old = find(object, kept);
    if (old) {
      patched.as_object()[kept] = *old;
    } else {
      patched.as_object().erase(kept);
    }
    if (patched != object) store(kind, key, std::move(patched));
    return toJson(kinds_[kind][key]);
  }

  void store(const std::string& kind, const std::string& key, json::value object) {
    auto& objects = kinds_[kind];
    const auto it = objects.find(key);
    const bool added = it == objects.end();
    auto& meta = object.as_object()["metadata"].as_object();
    meta["resourceVersion"] = std::to_string(++version_);
    if (added && !meta.contains("uid")) meta["uid"] = fmt::format("uid-{}", version_);
    if (!added) meta["uid"] = it->second.at("metadata").at("uid");
    const auto* oldSpec = added ? nullptr : find(it->second, "spec");
    const auto* newSpec = find(object, "spec");
    const bool changed = added || (oldSpec && newSpec ? *oldSpec != *newSpec : oldSpec != newSpec);
    const std::int64_t generation =
        added ? 0 : it->second.at("metadata").at("generation").to_number<std::int64_t>();
    meta["generation"] = generation + (changed ? 1 : 0);
    objects[key] = object;
    notify(kind, added ? "ADDED" : "MODIFIED", object);
  }

  void erase(const std::string& kind, const std::string& key) {
    auto node = kinds_[kind].extract(key);
    if (node.empty()) return;
    node.mapped().as_object()["metadata"].as_object()["resourceVersion"] =
        std::to_string(++version_);
    notify(kind, "DELETED", node.mapped());
  }

  void notify(const std::string& kind, const char* type, const json::value& object) {
    const std::string event = toJson(json::object{{"type", type}, {"object", object}});
    for (auto& open : watches_)
      if (open.kind == kind && inScope(open.request, object)) open.sink.onEvent(event);
  }

  Executor& executor_;
  std::map<std::string, std::map<std::string, json::value>> kinds_;
  std::list<OpenWatch> watches_;
  std::int64_t version_ = 100;
};

}  // namespace koord::manager
