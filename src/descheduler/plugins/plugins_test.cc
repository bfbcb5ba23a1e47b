#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/slo.h"
#include "apiserver/embedded_cluster.h"
#include "base/time.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/plugins/registry.h"
#include "kube/client.h"

// Tests every plugin with the embedded API server, one cycle at a time.

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

struct PodSpecText {
  std::string node = "a";
  std::string labels = "";       // "k": "v"
  std::string annotations = "";  // likewise
  std::string spec = "";         // further members
  std::string requests = R"("cpu": "100m")";
  std::string status = "";
  std::string owner = "set";  // "" = none
  std::string image = "web:1";
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
    for (auto& [node, words] : said_) words = options.noBetter(*pod, node);
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
    std::vector<std::string> refused;  // why
    std::string protectedMeanwhile;    // a pod
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
  Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) override {
    std::string why = options.noBetter ? options.noBetter(*pod, world_.landing) : "";
    if (why.empty()) {
      world_.moved.push_back(pod->metadata.name);
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
          {} "name": "{}", "labels": {{{}}}, "annotations": {{{}}}}}, "spec": {{"nodeName": "{}", {}
          "containers": [{{"name": "main", "image": "{}", "resources": {{"requests": {{{}}}}}}}]}},
          "status": {{{}}}}})",
                    owner, name, text.labels, text.annotations, text.node,
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

// --- Configuration.

std::string problemsOf(const std::string& plugins, const std::string& args = "[]") {
  const Cluster cluster(plugins, args);
  return fmt::format("{}", fmt::join(cluster.errors, "\n"));
}

TEST(DeschedulerConfigurationTest, everyProblemIsToldWithItsPath) {
  const std::string problems = problemsOf(
      "balance: {enabled: [{name: LowNodeLoad}, {name: Nope}, {name: PodLifeTime}]}",
      "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 80}, highThresholds: {cpu: 50}, foo: 1}}]");
  EXPECT_THAT(problems, HasSubstr("profiles[0].plugins.balance.enabled[1].name: BalancePlugin "
                                  "\"Nope\" does not exist"));
  EXPECT_THAT(problems, HasSubstr("plugin \"PodLifeTime\" does not extend BalancePlugin plugin"));
  EXPECT_THAT(problems, HasSubstr("profiles[0].pluginConfig[0].args.lowThresholds[cpu]"));
  EXPECT_THAT(problems, HasSubstr("profiles[0].pluginConfig[0].args.foo: unknown field"));
}

TEST(DeschedulerConfigurationTest, argumentsThatContradictEachOtherAreRefused) {
  const auto with = [](const char* plugin, const char* point, const char* args) {
    return problemsOf(fmt::format("{}: {{enabled: [{{name: {}}}]}}", point, plugin),
                      fmt::format("[{{name: {}, args: {}}}]", plugin, args));
  };
  EXPECT_THAT(with("PodLifeTime", "deschedule", "{}"), HasSubstr("at least one of"));
  EXPECT_THAT(with("RemovePodsHavingTooManyRestarts", "deschedule", "{}"),
              HasSubstr("podRestartThreshold: Required value"));
  EXPECT_THAT(with("RemovePodsViolatingNodeTaints", "deschedule",
                   "{excludedTaints: [a], includedTaints: [b]}"),
              HasSubstr("only one of"));
  EXPECT_THAT(with("RemoveFailedPods", "deschedule", "{namespaces: {include: [a], exclude: [b]}}"),
              HasSubstr("args.namespaces: only one of Include/Exclude"));
  EXPECT_THAT(with("LowNodeUtilization", "balance",
                   "{thresholds: {cpu: 60}, targetThresholds: {cpu: 50, memory: 1}}"),
              HasSubstr("thresholds[cpu]: Invalid value: 60"));
  EXPECT_THAT(with("CustomPriority", "balance", "{autoCordon: true}"),
              HasSubstr("autoCordon: has no effect without mode DrainNode"));
  EXPECT_THAT(with("ScaleDownBinPack", "balance", "{strategy: EvictDirectly}"),
              HasSubstr("maxPodsToEvict: Required value"));
  EXPECT_THAT(with("FragmentationAware", "balance", "{resources: [cpu, cpu]}"),
              HasSubstr("resources: Duplicate value"));
}

TEST(DeschedulerConfigurationTest, twoEvictPluginsAreOneTooMany) {
  Registry registry = makeRegistry();
  std::vector<std::string> errors;
  prepare(readConfiguration("apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
                            "profiles: [{plugins: {evict: {enabled: [{name: DefaultEvictor}]}}}]",
                            errors),
          registry, errors);
  EXPECT_THAT(errors, testing::Contains(HasSubstr("only one evict plugin can be enabled")));
}

TEST(DeschedulerConfigurationTest, whatWasWrittenReadsTheSame) {
  std::vector<std::string> errors;
  const auto first = readConfiguration(
      "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\ndeschedulingInterval: "
      "10s\n"
      "maxNoOfPodsToEvictTotal: 3\nhealthzBindAddress: ':8080'\nprofiles: [{plugins: {balance: "
      "{enabled: [{name: LowNodeLoad}]}}}]",
      errors);
  const auto again = readConfiguration(writeConfiguration(first), errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(configurationDocument(again), configurationDocument(first));
  EXPECT_EQ(again.healthzBindAddress, "0.0.0.0:8080");
}

// --- Cycles.

constexpr const char* kTaints = "deschedule: {enabled: [{name: RemovePodsViolatingNodeTaints}]}";
constexpr const char* kTainted =
    R"({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})";

TEST(CycleTest, limitsPerNodeNamespaceAndInAllHold) {
  Cluster cluster(kTaints, "[]", "maxNoOfPodsToEvictPerNode: 2\nmaxNoOfPodsToEvictTotal: 3");
  cluster.node("a", "", kTainted);
  cluster.node("b", "", kTainted);
  for (const char* name : {"a1", "a2", "a3"}) cluster.pod(name, {.node = "a"});
  for (const char* name : {"b1", "b2"}) cluster.pod(name, {.node = "b"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("a1", "a2", "b1"));
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("a3", "b2"));
}

TEST(CycleTest, aDryRunPlansAndWritesNothing) {
  Cluster cluster(kTaints, "[]", "dryRun: true");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), IsEmpty());
  ASSERT_THAT(cluster.descheduler().journal().all(), SizeIs(1));
  const Decision& plan = cluster.descheduler().journal().all().front();
  EXPECT_EQ(plan.pod, "web");
  EXPECT_EQ(plan.node, "a");
  EXPECT_EQ(plan.plugin, "RemovePodsViolatingNodeTaints");
  EXPECT_EQ(plan.outcome, "planned");
}

TEST(CycleTest, aSingleNodeIsNoCluster) {
  Cluster cluster(kTaints);
  cluster.node("a", "", kTainted);
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), IsEmpty());
  EXPECT_THAT(cluster.result.error().message, HasSubstr("the cluster size is 0 or 1"));
}

TEST(CycleTest, twoPluginsEvictAPodOnce) {
  Cluster cluster(
      "deschedule: {enabled: [{name: RemovePodsViolatingNodeTaints}, {name: PodLifeTime}]}",
      "[{name: PodLifeTime, args: {states: [Running]}}]");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), ElementsAre("web"));
}

TEST(CycleTest, anEvictionThatTheServerRefusesIsNotCounted) {
  Cluster cluster(kTaints, "[]", "maxNoOfPodsToEvictTotal: 1");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("one");
  cluster.pod("two");
  cluster.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource == "eviction" && request.name == "one")
      return Error{ErrorCode::TooManyRequests, "a budget", {}};
    return std::nullopt;
  };
  EXPECT_THAT(cluster.cycle(), ElementsAre("one", "two"));
}

TEST(CycleTest, aPodThatItsOwnerProtectsWhileTheCycleRunsStays) {
  Cluster cluster(kTaints, "[]", "", "Mover");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("one");
  cluster.pod("two");
  cluster.mover.protectedMeanwhile = "two";
  cluster.cycle();
  EXPECT_THAT(cluster.mover.moved, ElementsAre("one"));
  ASSERT_THAT(cluster.descheduler().journal().all(), SizeIs(2));
  EXPECT_EQ(cluster.descheduler().journal().all().back().outcome, "its filters forbid it now");
}

// --- DefaultEvictor.

TEST(DefaultEvictorTest, protectsWhatItIsToldTo) {
  Cluster cluster(kTaints,
                  "[{name: DefaultEvictor, args: {priorityThreshold: {value: 100}, "
                  "minReplicas: 2, labelSelector: {matchLabels: {go: 'yes'}}}}]");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  const std::string go = R"("go": "yes")";
  cluster.pod("goes1", {.labels = go, .owner = "two"});
  cluster.pod("goes2", {.labels = go, .owner = "two"});
  cluster.pod("alone", {.labels = go, .owner = "one"});
  cluster.pod("bare", {.labels = go, .owner = ""});
  cluster.pod("other", {.owner = "two"});
  cluster.pod(
      "local",
      {.labels = go, .spec = R"("volumes": [{"name": "v", "emptyDir": {}}])", .owner = "two"});
  cluster.pod("told",
              {.annotations = R"("descheduler.alpha.kubernetes.io/evict": "")", .owner = ""});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("goes1", "goes2", "told"));
}

// --- The plugins of Kubernetes.

constexpr const char* kSpread =
    "balance: {enabled: [{name: RemovePodsViolatingTopologySpreadConstraint}]}";

int evictedFrom(const std::vector<int>& sizes, int maxSkew) {
  Cluster cluster(kSpread,
                  "[{name: RemovePodsViolatingTopologySpreadConstraint, args: "
                  "{topologyBalanceNodeFit: false}}]");
  const std::string spec = fmt::format(
      R"("topologySpreadConstraints": [{{"maxSkew": {}, "topologyKey": "zone", "whenUnsatisfiable":
        "DoNotSchedule", "labelSelector": {{"matchLabels": {{"app": "web"}}}}}}])",
      maxSkew);
  for (std::size_t zone = 0; zone < sizes.size(); ++zone) {
    cluster.node(fmt::format("n{}", zone), fmt::format(R"("zone": "z{}")", zone));
    for (int i = 0; i < sizes[zone]; ++i)
      cluster.pod(fmt::format("p{}-{}", zone, i),
                  {.node = fmt::format("n{}", zone), .labels = R"("app": "web")", .spec = spec});
  }
  return static_cast<int>(cluster.cycle().size());
}

TEST(TopologySpreadTest, movesAsManyAsItTakes) {
  EXPECT_EQ(evictedFrom({1, 3, 5}, 1), 2);
  EXPECT_EQ(evictedFrom({0, 1, 3, 5}, 1), 3);
  EXPECT_EQ(evictedFrom({2, 6}, 2), 1);
  EXPECT_EQ(evictedFrom({2, 3, 5, 5, 7, 8}, 1), 5);
  EXPECT_EQ(evictedFrom({2, 2, 3}, 1), 0);
}

TEST(DuplicatesTest, leaveNoNodeMoreThanItsShare) {
  const auto evicted = [](const std::vector<int>& copies) {
    Cluster cluster("balance: {enabled: [{name: RemoveDuplicates}]}");
    for (std::size_t node = 0; node < copies.size(); ++node) {
      cluster.node(fmt::format("n{}", node));
      for (int i = 0; i < copies[node]; ++i)
        cluster.pod(fmt::format("p{}-{}", node, i), {.node = fmt::format("n{}", node)});
    }
    return cluster.cycle().size();
  };
  EXPECT_EQ(evicted({4, 2, 0}), 2U);
  EXPECT_EQ(evicted({3, 0}), 1U);
  EXPECT_EQ(evicted({2, 2}), 0U);
}

TEST(UtilizationTest, movesPodsUntilTheNodeIsAtItsTarget) {
  Cluster cluster("balance: {enabled: [{name: LowNodeUtilization}]}",
                  "[{name: LowNodeUtilization, args: {thresholds: {cpu: 20, memory: 20, pods: 20}, "
                  "targetThresholds: {cpu: 50, memory: 50, pods: 50}}}]");
  for (const char* name : {"n1", "n2", "n3"}) cluster.node(name);
  const std::string requests = R"("cpu": "400m", "memory": "300Mi")";
  for (int i = 0; i < 8; ++i)
    cluster.pod(fmt::format("a{}", i), {.node = "n1", .requests = requests});
  cluster.pod("b", {.node = "n2", .requests = requests});
  for (int i = 0; i < 2; ++i)
    cluster.pod(fmt::format("c{}", i), {.node = "n3", .requests = requests});
  EXPECT_THAT(cluster.cycle(), SizeIs(3));
}

TEST(UtilizationTest, clearsNodesThatHardlyAnybodyAsksFor) {
  Cluster cluster("balance: {enabled: [{name: HighNodeUtilization}]}",
                  "[{name: HighNodeUtilization, args: {thresholds: {cpu: 20, memory: 20}}}]");
  cluster.node("a");
  cluster.node("b");
  cluster.pod("one", {.node = "a"});
  cluster.pod("two", {.node = "a"});
  cluster.pod("large", {.node = "b", .requests = R"("cpu": "2")"});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("one", "two"));
}

TEST(NodeAffinityTest, aPodLeavesForANodeThatItPrefersOrRequires) {
  Cluster cluster("deschedule: {enabled: [{name: RemovePodsViolatingNodeAffinity}]}",
                  "[{name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType: "
                  "[requiredDuringSchedulingIgnoredDuringExecution, "
                  "preferredDuringSchedulingIgnoredDuringExecution]}}]");
  cluster.node("a");
  cluster.node("b", R"("zone": "x")");
  const std::string term =
      R"({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x"]}]})";
  cluster.pod("required", {.spec = fmt::format(R"("affinity": {{"nodeAffinity":
                {{"requiredDuringSchedulingIgnoredDuringExecution": {{"nodeSelectorTerms": [{}]}}}}}})",
                                               term)});
  cluster.pod("preferred", {.spec = fmt::format(R"("affinity": {{"nodeAffinity":
                {{"preferredDuringSchedulingIgnoredDuringExecution": [{{"weight": 10, "preference": {}}}]}}}})",
                                                term)});
  cluster.pod("content", {.node = "b"});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("required", "preferred"));
}

TEST(PodStatesTest, ageRestartsAndFailuresDecide) {
  Cluster cluster(
      "deschedule: {enabled: [{name: PodLifeTime}, {name: RemoveFailedPods}, {name: "
      "RemovePodsHavingTooManyRestarts}]}",
      "[{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 600, labelSelector: {matchLabels: {l: "
      "'1'}}}}, {name: RemoveFailedPods, args: {minPodLifetimeSeconds: 0, reasons: [Evicted]}}, "
      "{name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 10}}]");
  cluster.node("a");
  cluster.node("b");
  cluster.pod("old", {.labels = R"("l": "1")"});
  cluster.pod("failed", {.status = R"("phase": "Failed", "reason": "Evicted")"});
  cluster.pod("kept", {.status = R"("phase": "Failed", "reason": "Other")"});
  const auto restarted = [](int count) {
    return fmt::format(R"("phase": "Running", "containerStatuses": [{{"name": "main", "image": "i",
      "imageID": "i", "ready": true, "restartCount": {}}}])",
                       count);
  };
  cluster.pod("r12", {.status = restarted(12)});
  cluster.pod("r9", {.status = restarted(9)});
  EXPECT_THAT(cluster.cycle(), ElementsAre("failed", "r12"));
  cluster.loop().advance(11min);
  EXPECT_THAT(cluster.cycle(), ElementsAre("old"));
}

TEST(PodStatesTest, whatContainersWaitForAndWhatConditionsSayIsStillKnown) {
  const auto left = [](const std::string& args) {
    Cluster cluster("deschedule: {enabled: [{name: PodLifeTime}]}",
                    fmt::format("[{{name: PodLifeTime, args: {}}}]", args));
    cluster.node("a");
    cluster.node("b");
    cluster.pod("crashing", {.status = R"("phase": "Running", "containerStatuses": [{"name": "main",
        "image": "i", "imageID": "i", "ready": false, "restartCount": 3, "state": {"waiting":
        {"reason": "CrashLoopBackOff"}}}])"});
    cluster.pod("unready", {.status = R"("phase": "Running", "conditions": [{"type": "Ready",
        "status": "False", "reason": "ContainersNotReady"}])"});
    cluster.pod("fine", {.status = R"("phase": "Running", "conditions": [{"type": "Ready",
        "status": "True"}])"});
    return cluster.cycle();
  };
  EXPECT_THAT(left("{states: [CrashLoopBackOff]}"), ElementsAre("crashing"));
  EXPECT_THAT(left("{conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]}"),
              ElementsAre("unready"));
}

TEST(InterPodAntiAffinityTest, aPodLeavesWhomItsTermRepelsInTheDomainOrOnTheNode) {
  Cluster cluster("deschedule: {enabled: [{name: RemovePodsViolatingInterPodAntiAffinity}]}");
  cluster.node("a", R"("zone": "x")");
  cluster.node("b", R"("zone": "x")");
  cluster.node("c", R"("zone": "y")");
  cluster.node("d");  // in no zone
  cluster.node("e");
  const std::string shy = R"("affinity": {"podAntiAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector":
      {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}]}})";
  const auto put = [&](const std::string& name, const std::string& node, const std::string& spec,
                       const std::string& app) {
    cluster.pod(name, {.node = node, .labels = fmt::format(R"("app": "{}")", app), .spec = spec});
  };
  put("near", "a", shy, "db");
  put("web", "b", "", "web");
  put("far", "c", shy, "db");
  put("beside", "d", shy, "db");
  put("web-d", "d", "", "web");
  put("elsewhere", "e", shy, "db");  // d is in no domain: it has no zone
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("near", "beside"));
}

// --- Koordinator's own.

TEST(FragmentationAwareTest, takesThePodThatMakesTheNodeUneven) {
  Cluster cluster("balance: {enabled: [{name: FragmentationAware}]}");
  const std::string room = R"("cpu": "10", "memory": "20Gi", "pods": "20")";
  cluster.node("a", "", "{}", room);
  cluster.node("b", "", "{}", room);
  cluster.pod("aa", {.requests = R"("cpu": "6", "memory": "2Gi")"});
  cluster.pod("bb", {.requests = R"("cpu": "2", "memory": "4Gi")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("aa"));
}

TEST(CustomPriorityTest, movesNoMoreThanCheaperNodesCanTake) {
  Cluster cluster("balance: {enabled: [{name: CustomPriority}]}",
                  "[{name: CustomPriority, args: {mode: DrainNode, evictionOrder: [{name: dear, "
                  "nodeSelector: {matchLabels: {t: dear}}}, {name: cheap, nodeSelector: "
                  "{matchLabels: {t: cheap}}}]}}]");
  cluster.node("s1", R"("t": "dear")");
  cluster.node("s2", R"("t": "dear")");
  cluster.node("t1", R"("t": "cheap")", "{}", R"("cpu": "1", "memory": "8Gi", "pods": "20")");
  cluster.pod("p1", {.node = "s1", .requests = R"("cpu": "300m")"});
  cluster.pod("p2", {.node = "s1", .requests = R"("cpu": "500m")"});
  cluster.pod("p3", {.node = "s2", .requests = R"("cpu": "300m")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("p1", "p2"));
}

constexpr const char* kLoad = "balance: {enabled: [{name: LowNodeLoad}]}";
std::string loadArgs(const std::string& more = "") {
  return "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 30}, highThresholds: {cpu: 50}, "
         "nodeMetricExpirationSeconds: 3600, anomalyCondition: {timeout: 5m, "
         "consecutiveAbnormalities: 2, consecutiveNormalities: 1}" +
         more + "}}]";
}

TEST(LowNodeLoadTest, aNodeThatIsHotForAWhileGivesThePodThatJustCuresIt) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  cluster.pod("tiny");
  cluster.pod("right");
  cluster.pod("large");
  cluster.usage("a",
                {{"tiny", 200}, {"right", 900}, {"large", 1600}});  // 2800 of 4000, 2000 is high
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(), IsEmpty()) << "once is a moment";
  EXPECT_THAT(cluster.cycle(), ElementsAre("right"));
}

TEST(LowNodeLoadTest, anOldReportDoesNotMakeItGiveMore) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  for (const char* name : {"one", "two", "three"}) cluster.pod(name);
  cluster.usage("a", {{"one", 900}, {"two", 900}, {"three", 900}});
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(8), SizeIs(1));
}

TEST(LowNodeLoadTest, whatIsLeftOutWasNotNeeded) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b", "", "{}", R"("cpu": "8", "memory": "8Gi", "pods": "20")");
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  cluster.pod("small", {.labels = batch});
  cluster.pod("prod");
  cluster.usage("a", {{"small", 300}, {"prod", 2600}});  // 3000: an excess of 1000
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(2), ElementsAre("prod"));
}

TEST(LowNodeLoadTest, noTargetBecomesHot) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  cluster.pod("huge");
  cluster.usage("a", {{"huge", 3500}});
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(4), IsEmpty()) << "it would be hot there, too";
}

TEST(LowNodeLoadTest, aPlaceIsBetterOnlyWhereTheLoadIsLessWithThePodThanItIsHereWithIt) {
  Cluster cluster(kLoad, loadArgs(), "", "Judge");
  for (const char* name : {"a", "free", "busy", "nearly", "unknown"}) cluster.node(name);
  cluster.pod("mover");
  cluster.usage("a", {{"mover", 900}}, 1500);  // 2400 of 4000, 2000 is high
  cluster.usage("free", {});
  cluster.usage("busy", {}, 1900);
  cluster.usage("nearly", {}, 1200);  // over with the mover
  for (const char* name : {"free", "busy", "nearly", "unknown", "nobody"}) cluster.judged[name];
  EXPECT_THAT(cluster.cycle(2), IsEmpty());
  EXPECT_EQ(cluster.judged["free"], "");
  EXPECT_THAT(cluster.judged["busy"], HasSubstr("node busy would be over: node cpu usage(70.00%)"));
  EXPECT_THAT(cluster.judged["nearly"], HasSubstr("would be over: node cpu usage(52.50%)"));
  EXPECT_EQ(cluster.judged["unknown"] + cluster.judged["nobody"], "");
}

TEST(ScaleDownBinPackTest, ranksPodsAndTakesBackWhatItWrote) {
  Cluster cluster("balance: {enabled: [{name: ScaleDownBinPack}]}",
                  "[{name: ScaleDownBinPack, args: {podSelectors: [{name: s, selector: "
                  "{matchLabels: {go: 'yes'}}}]}}]");
  cluster.node("a");
  cluster.node("b");
  const std::string go = R"("go": "yes")";
  cluster.pod("first", {.node = "b", .labels = go});
  cluster.pod("second", {.node = "a", .labels = go});
  cluster.pod("other", {.node = "a"});
  cluster.cycle();
  const auto costOf = [&](const char* name) {
    return std::string(textAt(*cluster.api().get(api::Pod::kType, name, "default"), "metadata",
                              "annotations", "controller.kubernetes.io/pod-deletion-cost"));
  };
  EXPECT_EQ(costOf("first"), "0");
  EXPECT_EQ(costOf("second"), "1");
  EXPECT_EQ(costOf("other"), "");
}

TEST(ScaleDownBinPackTest, emptiesFirstWhatHoldsLeastThatStays) {
  // The worked example of the rule: 6 of 10 CPUs stay on n1, 1 on n2.
  const std::string room = R"("cpu": "10", "memory": "10Gi", "pods": "20")";
  const auto build = [&](Cluster& cluster) {
    cluster.node("n1", "", "{}", room);
    cluster.node("n2", "", "{}", room);
    const std::string go = R"("go": "yes")", one = R"("cpu": "1", "memory": "1Gi")";
    cluster.pod("stays1", {.node = "n1", .requests = R"("cpu": "6", "memory": "6Gi")"});
    cluster.pod("stays2", {.node = "n2", .requests = one});
    for (const char* name : {"n1-a", "n1-b"})
      cluster.pod(name, {.node = "n1", .labels = go, .requests = one});
    for (const char* name : {"n2-a", "n2-b", "n2-c"})
      cluster.pod(name, {.node = "n2", .labels = go, .requests = one});
  };
  const auto args = [](const char* more) {
    return fmt::format(
        "[{{name: ScaleDownBinPack, args: {{podSelectors: [{{name: s, selector: "
        "{{matchLabels: {{go: 'yes'}}}}}}]{}}}}}]",
        more);
  };
  const std::string plugin = "balance: {enabled: [{name: ScaleDownBinPack}]}";
  Cluster evicts(plugin, args(", strategy: EvictDirectly, maxPodsToEvict: 4"));
  build(evicts);
  EXPECT_THAT(evicts.cycle(), ElementsAre("n2-a", "n2-b", "n2-c", "n1-a"));
  Cluster dry(plugin, args(""), "dryRun: true");
  build(dry);
  const std::size_t writes = dry.api().writes.size();
  dry.cycle();
  EXPECT_EQ(dry.api().writes.size(), writes);
}

constexpr const char* kTiers = "balance: {enabled: [{name: CustomPriority}]}";
std::string tierArgs(const std::string& more) {
  return "[{name: CustomPriority, args: {evictionOrder: [{name: dear, nodeSelector: {matchLabels: "
         "{t: dear}}}, {name: cheap, nodeSelector: {matchLabels: {t: cheap}}}]" +
         more + "}}]";
}

TEST(CustomPriorityTest, closesANodeOnlyWhileItIsEmptied) {
  const auto closed = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto build = [](Cluster& cluster) {
    cluster.node("s", R"("t": "dear")");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p1", {.node = "s"});
    cluster.pod("p2", {.node = "s"});
  };
  const std::string drain = tierArgs(", mode: DrainNode, autoCordon: true");
  Cluster drains(kTiers, drain);
  build(drains);
  EXPECT_THAT(drains.cycle(), ElementsAre("p1", "p2"));
  EXPECT_TRUE(closed(drains));
  Cluster dry(kTiers, drain, "dryRun: true");
  build(dry);
  EXPECT_THAT(dry.cycle(), IsEmpty());
  EXPECT_FALSE(closed(dry)) << "upstream cordons in a dry run, too";
  Cluster refused(kTiers, drain);
  build(refused);
  refused.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource == "eviction" && request.name == "p2")
      return Error{ErrorCode::TooManyRequests, "a budget", {}};
    return std::nullopt;
  };
  refused.cycle();
  EXPECT_FALSE(closed(refused)) << "it is opened again where not all of them may go";
}

TEST(CustomPriorityTest, aProcessThatComesAfterOneThatDiedFinishesOrGivesUpItsDrain) {
  const std::string drain = tierArgs(", mode: DrainNode, autoCordon: true");
  const auto closed = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto noted = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    return !textAt(*node, "metadata", "annotations", "descheduler.koordinator.sh/drained-by")
                .empty();
  };
  // The state after a process died after the first of two evictions.
  const auto inTheMiddle = [&](Cluster& cluster) {
    cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")",
                 R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p2", {.node = "s"});
  };
  Cluster finishes(kTiers, drain);
  inTheMiddle(finishes);
  EXPECT_THAT(finishes.cycle(), ElementsAre("p2"));
  EXPECT_TRUE(closed(finishes)) << "as after a drain that nothing disturbed";
  EXPECT_FALSE(noted(finishes));
  Cluster refused(kTiers, drain);
  inTheMiddle(refused);
  refused.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource != "eviction") return std::nullopt;
    return Error{ErrorCode::TooManyRequests, "a budget", {}};
  };
  refused.cycle();
  EXPECT_FALSE(closed(refused)) << "as a drain that failed without a restart";
  Cluster full(kTiers, drain);
  inTheMiddle(full);
  full.pod("filler", {.node = "c", .requests = R"("cpu": "4")"});
  EXPECT_THAT(full.cycle(), IsEmpty());
  EXPECT_FALSE(closed(full)) << "the room is gone meanwhile";
  Cluster somebodyElses(kTiers, drain);
  somebodyElses.node("s", R"("t": "dear")", R"({"unschedulable": true})");
  somebodyElses.node("c", R"("t": "cheap")");
  somebodyElses.pod("p", {.node = "s"});
  somebodyElses.pod("filler", {.node = "c", .requests = R"("cpu": "4")"});
  somebodyElses.cycle();
  EXPECT_TRUE(closed(somebodyElses)) << "who closed it opens it";
}

TEST(CustomPriorityTest, aNodeWhoseDrainNobodyWantsAnyMoreIsUncordoned) {
  const auto isCordoned = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto left = [&](const std::string& plugins, const std::string& args, const char* labels,
                        const std::string& top = "", bool annotated = true) {
    Cluster cluster(plugins, args, top);
    cluster.node("s", labels, R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")",
                 annotated ? R"("descheduler.koordinator.sh/drained-by": "CustomPriority")" : "");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p", {.node = "s"});
    cluster.cycle();
    const auto node = cluster.api().get(api::Node::kType, "s");
    const bool has =
        !textAt(*node, "metadata", "annotations", "descheduler.koordinator.sh/drained-by").empty();
    return std::pair(isCordoned(cluster), has);
  };
  const std::pair kReleased(false, false), kUntouched(true, true);
  const char* const dear = R"("t": "dear")";
  const std::string drains = ", mode: DrainNode, autoCordon: true";
  EXPECT_EQ(left("", "[]", dear), kReleased) << "the plugin is switched off";
  EXPECT_EQ(left(kTiers, tierArgs(drains + ", paused: true"), dear), kReleased);
  EXPECT_EQ(left(kTiers, tierArgs(drains), R"("t": "other")"), kReleased) << "of no level";
  EXPECT_EQ(left(kTiers, tierArgs(drains), R"("t": "cheap")"), kReleased) << "of the last level";
  EXPECT_EQ(left(kTiers, tierArgs(""), dear), kReleased) << "mode BestEffort drains nothing";
  EXPECT_EQ(left("", "[]", dear, "nodeSelector: {matchLabels: {t: cheap}}"), kReleased)
      << "out of its sight";
  EXPECT_EQ(left("", "[]", dear, "dryRun: true"), kUntouched);
  EXPECT_EQ(left("", "[]", dear, "", false), std::pair(true, false)) << "cordoned by somebody else";
}

TEST(CustomPriorityTest, aDrainThatHasEndedMeanwhileIsNotUndone) {
  Cluster cluster("");
  const auto put = [&](const char* annotations) {
    cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")", annotations);
  };
  put(R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
  cluster.node("c", R"("t": "cheap")");
  cluster.loop().advance(1s);
  cluster.api().deafTo = "nodes";
  put("");
  const std::size_t before = cluster.api().writes.size();
  cluster.cycle();
  ASSERT_EQ(cluster.api().writes.size(), before + 1) << "it tries to uncordon the node";
  const auto node = cluster.api().get(api::Node::kType, "s");
  const auto* value = at(*node, "spec", "unschedulable");
  EXPECT_TRUE(value && value->is_bool() && value->get_bool());
}

TEST(CustomPriorityTest, givesUpANodeAfterFivePodsThatFitNowhere) {
  Cluster cluster(kTiers, tierArgs(""));
  cluster.node("s", R"("t": "dear")", "{}", R"("cpu": "64", "memory": "8Gi", "pods": "20")");
  cluster.node("c", R"("t": "cheap")");
  const std::string picky = R"("nodeSelector": {"no-node": "has-this"})";
  for (int i = 0; i < 5; ++i) cluster.pod(fmt::format("picky{}", i), {.node = "s", .spec = picky});
  cluster.pod("small", {.node = "s", .requests = R"("cpu": "50m")"});
  cluster.pod("large", {.node = "s", .requests = R"("cpu": "1")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("small")) << "the smallest first; large comes too late";
}

TEST(LowNodeLoadTest, nodesAreHeldAgainstTheThresholdsOfTheirPool) {
  Cluster cluster(kLoad,
                  loadArgs(", nodeSelector: {matchLabels: {p: one}}, nodePools: [{name: two, "
                           "nodeSelector: {matchLabels: {p: two}}, lowThresholds: {cpu: 10}, "
                           "highThresholds: {cpu: 20}}]"));
  for (const char* name : {"a", "free1"}) cluster.node(name, R"("p": "one")");
  for (const char* name : {"b", "free2"}) cluster.node(name, R"("p": "two")");
  cluster.node("nobodys");
  cluster.pod("warm", {.node = "a"});
  cluster.pod("hot", {.node = "b"});
  cluster.pod("left", {.node = "nobodys"});
  cluster.usage("a", {{"warm", 1100}});        // 30 % of 4000: fine in the first pool
  cluster.usage("b", {{"hot", 700}}, 300);     // 25 %: over in the second
  cluster.usage("nobodys", {{"left", 3900}});  // in no pool
  cluster.usage("free1", {});
  cluster.usage("free2", {}, 50);
  EXPECT_THAT(cluster.cycle(2), ElementsAre("hot"));
}

TEST(LowNodeLoadTest, leavesAloneWhatItsArgumentsSay) {
  const auto evicted = [](const std::string& more, int age = 0) {
    Cluster cluster(kLoad, loadArgs(more));
    cluster.node("a");
    cluster.node("b");
    cluster.pod("web", {.labels = R"("app": "web")"});
    cluster.usage("a", {{"web", 900}}, 1500);
    cluster.usage("b", {});
    cluster.loop().advance(std::chrono::seconds(age));
    return cluster.cycle(2);
  };
  EXPECT_THAT(evicted(""), ElementsAre("web"));
  EXPECT_THAT(evicted(", paused: true"), IsEmpty());
  EXPECT_THAT(evicted(", dryRun: true"), IsEmpty());
  EXPECT_THAT(evicted(", numberOfNodes: 1"), IsEmpty());
  EXPECT_THAT(evicted(", evictableNamespaces: {exclude: [default]}"), IsEmpty());
  EXPECT_THAT(evicted(", evictableNamespaces: {include: [default]}"), ElementsAre("web"));
  EXPECT_THAT(evicted(", podSelectors: [{name: db, selector: {matchLabels: {app: db}}}]"),
              IsEmpty());
  EXPECT_THAT(
      evicted(", podSelectors: [{name: db, selector: {matchLabels: {app: db}}}, {name: web, "
              "selector: {matchLabels: {app: web}}}]"),
      ElementsAre("web"));
  EXPECT_THAT(evicted("", 3590), IsEmpty()) << "the report is an hour old";
}

TEST(LowNodeLoadTest, oneNodeThatIsOverByAllAndOneByProdAreBothRelievedInOneCycle) {
  Cluster cluster(kLoad,
                  "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 30}, highThresholds: {cpu: 70},"
                  " prodLowThresholds: {cpu: 20}, prodHighThresholds: {cpu: 40}, anomalyCondition: "
                  "{consecutiveAbnormalities: 1}}}]",
                  "", "Mover");
  cluster.mover.landing = "c";
  for (const char* name : {"a", "b", "c"}) cluster.node(name);
  const std::string prod = R"("koordinator.sh/priority-class": "koord-prod")";
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  cluster.pod("large", {.labels = batch});
  cluster.pod("web1", {.node = "b", .labels = prod});
  cluster.pod("web2", {.node = "b", .labels = prod});
  cluster.usage("a", {{"large", 900}}, 2000);               // 73 % of 4000
  cluster.usage("b", {{"web1", 600}, {"web2", 1200}}, 50);  // 46 %, 45 % of it by prod
  cluster.usage("c", {}, 1100);                             // 28 %; with large it has more than b
  cluster.cycle();
  EXPECT_THAT(cluster.mover.moved, ElementsAre("large", "web1"));
  EXPECT_THAT(cluster.mover.refused, IsEmpty());
}

TEST(LowNodeLoadTest, aProdThresholdAboveThatOfAllPodsIsToldAndTaken) {
  Cluster cluster(kLoad, loadArgs(", prodLowThresholds: {cpu: 20}, prodHighThresholds: {cpu: 60}"));
  EXPECT_THAT(cluster.errors, IsEmpty());
  EXPECT_THAT(cluster.notes(),
              ElementsAre(HasSubstr("profiles[0].pluginConfig[0].args.prodHighThresholds[cpu]: is "
                                    "more than highThresholds")));
}

TEST(LowNodeLoadTest, takesTheLeastImportantOfThoseThatCureTheNode) {
  // The worked example of the rule: an excess of 2500m; C does not relieve the node alone, B does;
  // prod pods stay.
  Cluster cluster(kLoad,
                  "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 45}, highThresholds: "
                  "{cpu: 75}, nodeFit: false, anomalyCondition: "
                  "{consecutiveAbnormalities: 1}}}]");
  const std::string large = R"("cpu": "16", "memory": "8Gi", "pods": "20")";
  cluster.node("a", "", "{}", large);
  cluster.node("b", "", "{}", large);
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  const std::string prod = R"("koordinator.sh/priority-class": "koord-prod")";
  cluster.pod("pa", {.labels = prod});
  cluster.pod("pb", {.labels = batch});
  cluster.pod("pc", {.labels = batch});
  cluster.pod("pd", {.labels = prod});
  cluster.usage("a", {{"pa", 6000}, {"pb", 3000}, {"pc", 2000}, {"pd", 2500}}, 1000);
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(), ElementsAre("pb"));
}

}  // namespace
}  // namespace koord::descheduler
