#pragma once

// A cluster on virtual time for tests: an embedded API server in memory, its objects written and
// read as YAML, and a minimal scheduler that binds every pod to one node.

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "api/group_version.h"
#include "apiserver/local_api.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "cluster/controllers/garbage_collector.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace koord::cluster {

using namespace std::chrono_literals;

class TestCluster {
 public:
  TestCluster()
      : server_(openServer(loop)), api(*server_, loop), pods(api, loop), nodes(api, loop) {}

  // Runs a task to its end.
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    std::optional<Result<T>> out;
    TaskGroup group;
    group.spawn(keep<T>(std::move(task), &out));
    EXPECT_TRUE(loop.advanceUntil([&] { return out.has_value(); }, 30s));
    if (!out) return fail(ErrorCode::Timeout, "the task did not end");
    return std::move(*out);
  }

  // Creates every object of a YAML text.
  void create(std::string_view yaml) {
    auto documents = parseYamlDocuments(yaml);
    ASSERT_TRUE(documents) << documents.error().message;
    for (auto& document : *documents) {
      const auto resource = resourceOf(document);
      ASSERT_TRUE(resource) << toJson(document);
      const std::string namespace_ =
          namespaceOf(*resource, textAt(document, "metadata", "namespace"));
      const auto type = typeOf(*resource);
      auto created = run(kube::createObject(api, type, {namespace_, ""}, std::move(document)));
      ASSERT_TRUE(created) << created.error().message;
    }
  }
  template <class T>
  std::optional<T> get(std::string name, std::string namespace_ = "default") {
    auto object = run(kube::get<T>(api, {T::kType.namespaced ? namespace_ : "", std::move(name)}));
    if (!object) return std::nullopt;
    return *std::move(object);
  }
  template <class T>
  std::vector<T> list(std::string labelSelector = "") {
    auto listed = run(kube::list<T>(api, "", std::move(labelSelector)));
    EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
    return listed ? std::move(listed->items) : std::vector<T>{};
  }
  template <class T>
  void patch(std::string name, std::string_view yaml, std::string subresource = "") {
    auto document = parseYaml(yaml);
    ASSERT_TRUE(document) << document.error().message;
    const api::ObjectKey key{T::kType.namespaced ? "default" : "", std::move(name)};
    auto patched =
        run(kube::mergePatch(api, T::kType, key, *std::move(document), std::move(subresource)));
    ASSERT_TRUE(patched) << patched.error().message;
  }
  template <class T>
  void remove(std::string name, kube::DeleteOptions options = {}) {
    const api::ObjectKey key{T::kType.namespaced ? "default" : "", std::move(name)};
    auto removed = run(kube::deleteObject(api, T::kType, key, std::move(options)));
    ASSERT_TRUE(removed) << removed.error().message;
  }
  // Runs until a condition of the API's objects holds, on virtual time.
  bool until(const std::function<bool()>& condition, Duration limit = 60s) {
    for (const SteadyTime end = loop.steadyNow() + limit; loop.steadyNow() < end;) {
      if (condition()) return true;
      loop.advance(100ms);
    }
    return condition();
  }

  // Binds every pod that has no node yet.
  void bindTo(std::string node) {
    pods.addHandler({[this, node](const auto& pod) {
                       if (pod->spec.nodeName.empty()) tasks_.spawn(bind(pod, node));
                     },
                     {},
                     {}});
  }

  apiserver::Server& server() { return *server_; }

  VirtualLoop loop;

 private:
  // Delivers what destroyed watches post to the server while it exists.
  struct Drain {
    VirtualLoop& loop;
    ~Drain() { loop.runReady(); }
  };
  std::unique_ptr<apiserver::Server> server_;
  Drain drain_{loop};

 public:
  apiserver::LocalApi api;
  kube::Informer<api::Pod> pods;
  kube::Informer<api::Node> nodes;

 private:
  template <class T>
  static Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>* out) {
    auto result = co_await task;
    *out = std::move(result);
  }
  static std::unique_ptr<apiserver::Server> openServer(VirtualLoop& loop) {
    apiserver::ServerOptions options;
    options.inlineCommits = true;
    auto server = apiserver::Server::open(loop, std::move(options));
    EXPECT_TRUE(server) << (server ? "" : server.error().message);
    return *std::move(server);
  }
  Task<void> bind(std::shared_ptr<const api::Pod> pod, std::string node) {
    auto binding = kube::bindPod(api, api::keyOf(pod->metadata), pod->metadata.uid, node);
    auto bound = co_await binding;
    EXPECT_TRUE(bound) << (bound ? "" : bound.error().message);
  }
  apiserver::ResourcePtr resourceOf(const json::value& document) {
    return server_->registry().findByKind(
        api::splitApiVersion(textAt(document, "apiVersion")).group, textAt(document, "kind"));
  }
  static std::string namespaceOf(const apiserver::Resource& resource, std::string_view given) {
    if (!resource.namespaced) return {};
    return given.empty() ? "default" : std::string(given);
  }

  TaskGroup tasks_;
};

}  // namespace koord::cluster
