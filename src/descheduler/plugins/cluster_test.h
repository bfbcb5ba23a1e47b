#pragma once

// A cluster for tests of plugins: the embedded API server on virtual time and a descheduler that
// runs one cycle at a time.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/slo.h"
#include "apiserver/embedded_cluster.h"
#include "base/time.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/plugins/registry.h"
#include "kube/client.h"

namespace koord::descheduler {

using namespace std::chrono_literals;

inline constexpr const char* kTaints =
    "deschedule: {enabled: [{name: RemovePodsViolatingNodeTaints}]}";
inline constexpr const char* kTainted =
    R"({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})";

struct PodSpecText {
  std::string node = "a";
  std::string labels = "";       // "k": "v"
  std::string annotations = "";  // likewise
  std::string spec = "";         // further members
  std::string requests = R"("cpu": "100m")";
  std::string status = "";
  std::string owner = "set";  // "" = none
  std::string image = "web:1";
  std::string metadata = "";  // further members, with a comma at the end
};

// An evict plugin that evicts no pods and records which nodes would not be better for the pod.
class Judge final : public Plugin, public EvictPlugin {
 public:
  using Judgement = std::map<std::string, std::string>;
  explicit Judge(Judgement& said) : said_(said) {}
  static PluginKind kind(Judgement& said) {
    return {.prepare =
                [&said](Fields&) {
                  return PreparedPlugin{{}, [&said](Handle&) -> std::shared_ptr<Plugin> {
                                          return std::make_shared<Judge>(said);
                                        }};
                },
            .evict = true};
  }
  std::string_view name() const override { return "Judge"; }
  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) override {
    for (auto& [node, words] : said_) words = options.rejectTarget(*pod, node);
    co_return fail(ErrorCode::Forbidden, "nobody is evicted");
  }

 private:
  Judgement& said_;
};

// An evict plugin that moves pods to one node, if it is better for them.
class Mover final : public Plugin, public EvictPlugin {
 public:
  struct World {
    std::string landing;
    std::vector<std::string> moved;    // names of pods
    std::vector<std::string> helped;   // "pod for waiting pod"
    std::vector<std::string> refused;  // why
    std::string protectedMeanwhile;    // a pod
    std::set<std::string> stay;        // names of pods that it refuses
    std::string moving;                // a plugin whose moves have not ended
  };
  Mover(World& world, Handle& handle) : world_(world), handle_(handle) {}
  static PluginKind kind(World& world) {
    return {.prepare =
                [&world](Fields&) {
                  return PreparedPlugin{{}, [&world](Handle& handle) -> std::shared_ptr<Plugin> {
                                          return std::make_shared<Mover>(world, handle);
                                        }};
                },
            .evict = true};
  }
  std::string_view name() const override { return "Mover"; }
  bool movesPodsOf(std::string_view plugin) const override { return world_.moving == plugin; }
  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) override {
    std::string why = options.rejectTarget ? options.rejectTarget(*pod, world_.landing) : "";
    if (world_.stay.contains(pod->metadata.name)) why = pod->metadata.name;
    if (why.empty()) {
      world_.moved.push_back(pod->metadata.name);
      for (const PodPtr& other : options.together) world_.moved.push_back(other->metadata.name);
      if (options.beneficiary)
        world_.helped.push_back(pod->metadata.name + " for " + options.beneficiary->metadata.name);
      auto protecting = protect(std::exchange(world_.protectedMeanwhile, ""));
      co_await protecting;
      co_return Evicted{.node = world_.landing, .job = {}, .together = {}};
    }
    world_.refused.push_back(why);
    co_return fail(ErrorCode::Forbidden, std::move(why));
  }

 private:
  // The owner of another pod protects it while a pod is moved.
  Task<void> protect(std::string name) {
    if (name.empty()) co_return;
    json::value patch = parseJson(R"({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1",
        "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]}})")
                            .value();
    auto patching = kube::patchOnly(handle_.api(), api::Pod::kType, {"default", name},
                                    kube::PatchType::Merge, std::move(patch));
    const Result<> done = co_await patching;
    EXPECT_TRUE(done);
    auto pause = sleepFor(handle_.executor(), 1s);  // the watch delivers it
    co_await pause;
  }

  World& world_;
  Handle& handle_;
};

class Cluster {
 public:
  // plugins: "balance: {enabled: [...]}", args: the list pluginConfig.
  explicit Cluster(const std::string& plugins, const std::string& args = "[]",
                   const std::string& top = "", const std::string& evictor = "DefaultEvictor")
      : cluster_(loop_) {
    registry_.emplace("Judge", Judge::kind(judged));
    registry_.emplace("Mover", Mover::kind(mover));
    cluster_.install(KOORD_DEPLOY "/crds/slo.koordinator.sh_nodemetrics.yaml");
    const std::string text = fmt::format(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n{}\nprofiles:\n"
        "- name: test\n  plugins:\n    evict: {{disabled: [{{name: '*'}}], enabled: [{{name: "
        "{}}}]}}\n    filter: {{disabled: [{{name: '*'}}], enabled: [{{name: "
        "DefaultEvictor}}]}}\n    {}\n  pluginConfig: {}\n",
        top, evictor, plugins, args);
    auto prepared = prepare(readConfiguration(text, errors), registry_, errors);
    if (!errors.empty()) return;
    descheduler_.emplace(cluster_, loop_, Random(1), Descheduler::Options{std::move(prepared)},
                         registry_, metrics_);
    // Without an interval one cycle runs here, before there are nodes; tests run the others.
    descheduler_->start();
    loop_.advance(1s);
  }
  ~Cluster() {
    descheduler_.reset();
    loop_.runReady();
  }

  void node(const std::string& name, const std::string& labels = "", const std::string& spec = "{}",
            const std::string& allocatable = R"("cpu": "4", "memory": "8Gi", "pods": "20")",
            const std::string& annotations = "") {
    cluster_.put(api::Node::kType,
                 fmt::format(R"({{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{}",
          "labels": {{{}}}, "annotations": {{{}}}}}, "spec": {}, "status": {{"allocatable": {{{}}}}}}})",
                             name, labels, annotations, spec, allocatable));
  }
  void pod(const std::string& name, const PodSpecText& text = {}) {
    const std::string owner =
        text.owner.empty()
            ? ""
            : fmt::format(R"("ownerReferences": [{{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "{0}", "uid": "{0}", "controller": true}}],)",
                          text.owner);
    cluster_.put(
        api::Pod::kType,
        fmt::format(R"({{"apiVersion": "v1", "kind": "Pod", "metadata": {{"namespace": "default",
          {}{} "name": "{}", "labels": {{{}}}, "annotations": {{{}}}}}, "spec": {{"nodeName": "{}", {}
          "containers": [{{"name": "main", "image": "{}", "resources": {{"requests": {{{}}}}}}}]}},
          "status": {{{}}}}})",
                    owner, text.metadata, name, text.labels, text.annotations, text.node,
                    text.spec.empty() ? "" : text.spec + ",", text.image, text.requests,
                    text.status.empty() ? R"("phase": "Running")" : text.status));
  }
  // Reports the usage of a node and its pods ("name": milli-cores).
  void usage(const std::string& node, const std::map<std::string, int>& pods, int system = 100) {
    std::string list;
    for (const auto& [name, milli] : pods)
      list += fmt::format(R"({}{{"namespace": "default", "name": "{}", "podUsage": {{"resources":
        {{"cpu": "{}m", "memory": "1Mi"}}}}}})",
                          list.empty() ? "" : ", ", name, milli);
    cluster_.put(api::NodeMetric::kType,
                 fmt::format(R"({{"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric",
          "metadata": {{"name": "{}"}}, "spec": {{}}, "status": {{"updateTime": "{}",
          "nodeMetric": {{"systemUsage": {{"resources": {{"cpu": "{}m", "memory": "1Mi"}}}}}},
          "podsMetric": [{}]}}}})",
                             node, formatTime(loop_.wallNow()), system, list));
  }

  // Runs cycles and returns the evicted pods, in order.
  std::vector<std::string> cycle(int count = 1) {
    loop_.advance(1s);  // the informers receive the objects
    std::vector<std::string> left;
    for (int i = 0; i < count; ++i) {
      const std::size_t before = cluster_.writes.size();
      std::optional<Result<>> done;
      TaskGroup tasks;
      tasks.spawn(run(&done));
      EXPECT_TRUE(loop_.advanceUntil([&] { return done.has_value(); }, 10s));
      result = *done;
      for (std::size_t w = before; w < cluster_.writes.size(); ++w)
        if (cluster_.writes[w].subresource == "eviction") left.push_back(cluster_.writes[w].name);
      loop_.advance(10s);
    }
    return left;
  }

  VirtualLoop& loop() { return loop_; }
  apiserver::EmbeddedCluster& api() { return cluster_; }
  Descheduler& descheduler() { return *descheduler_; }
  std::vector<std::string> errors;
  Result<> result;
  Judge::Judgement judged;  // by node, if the evictor is Judge
  Mover::World mover;       // if it is Mover
  const std::vector<std::string>& notes() const { return descheduler_->prepared().notes; }

 private:
  Task<void> run(std::optional<Result<>>* out) {
    auto task = descheduler_->cycle();
    auto done = co_await task;
    *out = std::move(done);
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_;
  Registry registry_ = makeRegistry();
  Metrics metrics_;
  std::optional<Descheduler> descheduler_;
};

}  // namespace koord::descheduler
