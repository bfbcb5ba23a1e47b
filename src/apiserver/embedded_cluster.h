#pragma once

// A cluster for the tests of components: the API server in memory on virtual time, behind an Api
// that records the writes of components and can return failures instead. Schemas of custom
// resources, defaults, admission, validation, generations, versions and watches are the real ones.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/group_version.h"
#include "apiserver/local_api.h"
#include "base/file.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "kube/client.h"

namespace koord::apiserver {

class EmbeddedCluster final : public kube::Api {
 public:
  // rbac: access reviews answer by roles; the cluster's own calls are those of an administrator.
  explicit EmbeddedCluster(VirtualLoop& loop, bool rbac = false)
      : loop_(loop),
        server_(Server::open(loop, {.inlineCommits = true, .rbac = rbac}).value()),
        api_(*server_, loop) {}
  // Delivers the ends of watches to the server.
  ~EmbeddedCluster() override { loop_.runReady(); }

  std::vector<kube::Request> writes;  // of components, failed ones included
  std::function<std::optional<Error>(const kube::Request&)> failure;  // answers instead, if set
  std::string mutedResource;  // watches of this resource ("pods") receive nothing while set

  // The test's own reads and writes, apart from those of components. A failure fails the test.

  // Creates every object of a file.
  void install(const std::filesystem::path& file) {
    const auto text = readFile(file);
    ASSERT_TRUE(text) << text.error().message;
    auto documents = parseYamlDocuments(*text);
    ASSERT_TRUE(documents) << file << ": " << documents.error().message;
    for (auto& document : *documents) {
      const auto type = typeOf(document);
      ASSERT_TRUE(type) << file << ": " << toJson(document);
      create(*type, std::move(document));
    }
  }
  // Creates or replaces an object, with its status.
  void put(const api::ResourceType& type, std::string_view text) {
    auto object = parseJson(text);
    ASSERT_TRUE(object) << text;
    const auto* given = find(*object, "status");
    const json::value status = given ? *given : json::value();
    const api::ObjectKey key = keyOf(*object);
    if (const auto before = get(type, key.name, key.namespace_)) {
      object->get_object()["metadata"].get_object()["resourceVersion"] =
          textAt(*before, "metadata", "resourceVersion");
      done(kube::updateObject(api_, type, key, *std::move(object)));
    } else {
      create(type, *std::move(object));
    }
    if (!status.is_object()) return;
    auto now = get(type, key.name, key.namespace_);
    ASSERT_TRUE(now) << key.toString();
    now->get_object()["status"] = status;
    done(kube::updateObject(api_, type, key, *std::move(now), "status"));
  }
  // Also removes namespaces at once: there is no controller here that empties them.
  void remove(const api::ResourceType& type, const std::string& name,
              const std::string& namespace_ = "") {
    const api::ObjectKey key{namespace_, name};
    done(kube::deleteObject(api_, type, key, {.gracePeriodSeconds = 0}));
    if (type.plural != api::Namespace::kType.plural) return;
    auto left = get(type, name);
    ASSERT_TRUE(left) << name;
    left->get_object()["spec"].get_object()["finalizers"] = json::array{};
    done(kube::updateObject(api_, type, key, *std::move(left), "finalize"));
  }
  std::optional<json::value> get(const api::ResourceType& type, const std::string& name,
                                 const std::string& namespace_ = "") {
    auto object = run(kube::getObject(api_, type, {namespace_, name}));
    if (!object) return std::nullopt;
    return *std::move(object);
  }
  std::size_t count(const api::ResourceType& type) {
    const auto listed = run(kube::listObjects(api_, type, "", "", ""));
    EXPECT_TRUE(listed);
    return listed ? find(*listed, "items")->get_array().size() : 0;
  }

  Task<Result<std::string>> call(kube::Request request) override {
    if (request.verb != kube::Verb::Get && request.verb != kube::Verb::List)
      writes.push_back(request);
    if (failure)
      if (auto error = failure(request)) co_return fail(*std::move(error));
    auto calling = api_.call(std::move(request));
    co_return co_await calling;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    sink.onEvent = [this, resource = request.resource,
                    onEvent = std::move(sink.onEvent)](std::string_view event) {
      if (resource != mutedResource) onEvent(event);
    };
    return api_.watch(std::move(request), std::move(sink));
  }

 private:
  template <class T>
  static Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>* out) {
    auto result = co_await task;
    *out = std::move(result);
  }
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    std::optional<Result<T>> out;
    TaskGroup group;
    group.spawn(keep<T>(std::move(task), &out));
    EXPECT_TRUE(loop_.advanceUntil([&] { return out.has_value(); }, std::chrono::seconds(10)));
    if (!out) return fail(ErrorCode::Timeout, "the task did not end");
    return *std::move(out);
  }
  template <class T>
  void done(Task<Result<T>> task) {
    const auto result = run(std::move(task));
    ASSERT_TRUE(result) << result.error().message;
  }
  void create(const api::ResourceType& type, json::value object) {
    const api::ObjectKey key{keyOf(object).namespace_, ""};
    done(kube::createObject(api_, type, key, std::move(object)));
  }

  static api::ObjectKey keyOf(const json::value& object) {
    return {std::string(textAt(object, "metadata", "namespace")),
            std::string(textAt(object, "metadata", "name"))};
  }
  std::optional<api::ResourceType> typeOf(const json::value& object) const {
    const auto resource = server_->registry().findByKind(
        api::splitApiVersion(textAt(object, "apiVersion")).group, textAt(object, "kind"));
    if (!resource) return std::nullopt;
    return api::ResourceType{resource->group, resource->storageVersion().name, resource->plural,
                             resource->kind, resource->namespaced};
  }

  VirtualLoop& loop_;
  std::unique_ptr<Server> server_;
  LocalApi api_;
};

}  // namespace koord::apiserver
