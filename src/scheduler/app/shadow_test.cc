// Whole shadows: an incumbent and its shadow on one API server, on virtual time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "scheduler/app/instance.h"
#include "scheduler/config/shipped.h"
#include "scheduler/plugins/registry.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kIncumbent = "default-scheduler";

// Requests of one component.
class CountedApi final : public kube::Api {
 public:
  explicit CountedApi(kube::Api& inner) : inner_(inner) {}
  Task<Result<std::string>> call(kube::Request request) override {
    if (!isReadOnly(request)) ++writes;
    auto calling = inner_.call(std::move(request));
    co_return co_await calling;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return inner_.watch(std::move(request), std::move(sink));
  }
  int writes = 0;

 private:
  kube::Api& inner_;
};

SchedulerConfiguration configured(const std::string& yaml) {
  auto read = parseConfiguration(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + yaml);
  EXPECT_TRUE(read) << read.error().message;
  return *std::move(read);
}

// Its pods get only nodes that the expression matches. more: other members of the profile.
SchedulerConfiguration onlyNodes(const std::string& expression, const std::string& more = "") {
  return configured(fmt::format(R"(
profiles:
- pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{{{}}}]
  {}
)",
                                expression, more));
}

std::string onHost(const std::string& node) {
  return fmt::format("key: kubernetes.io/hostname, operator: In, values: [{}]", node);
}

struct TwoSchedulers {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster{loop};
  CountedApi shadowApi{cluster};
  Registry registry = makeRegistry();
  Metrics incumbentMetrics, shadowMetrics;
  SchedulerConfiguration incumbentConfiguration = defaultConfiguration();
  SchedulerConfiguration shadowsConfiguration = defaultConfiguration();
  ShadowOptions options{.incumbent = kIncumbent};
  std::unique_ptr<Instance> incumbent, shadow;
  Random random{11};

  TwoSchedulers() {
    for (const int value : {10, 20, 30, 100})
      cluster.put(api::PriorityClass::kType, fmt::format(R"({{"apiVersion": "scheduling.k8s.io/v1",
          "kind": "PriorityClass", "metadata": {{"name": "p{}"}}, "value": {}}})",
                                                         value, value));
  }
  ~TwoSchedulers() {
    incumbent.reset();
    shadow.reset();
  }

  std::unique_ptr<Instance> make(kube::Api& api, Metrics& metrics, SchedulerConfiguration what,
                                 ShadowOptions shadowOf) {
    InstanceSettings settings;
    what.leaderElection.leaderElect = false;
    settings.scheduler.configuration = std::move(what);
    settings.scheduler.seed = random.next();
    settings.seed = random.next();
    settings.shadow = std::move(shadowOf);
    ServiceState service;
    service.unhealthy = [] { return std::string(); };
    service.stopping = [] { return false; };
    service.clientMetrics = [] { return std::string(); };
    auto made = Instance::create(std::move(settings), registry,
                                 {loop, api, nullptr, loop, metrics, nullptr, std::move(service)});
    EXPECT_TRUE(made) << made.error().message;
    (*made)->start();
    return *std::move(made);
  }
  void startShadow() {
    shadow.reset();
    shadow = make(shadowApi, shadowMetrics, shadowConfiguration(shadowsConfiguration, kIncumbent),
                  options);
    loop.advance(1s);
  }
  void start() {
    incumbent = make(cluster, incumbentMetrics, incumbentConfiguration, {});
    incumbent->lead();
    startShadow();
  }
  void addNode(const std::string& name, const std::string& spec = "{}", int cpu = 8) {
    cluster.put(api::Node::kType, fmt::format(R"({{"apiVersion": "v1", "kind": "Node",
        "metadata": {{"name": "{}", "labels": {{"kubernetes.io/hostname": "{}"}}}}, "spec": {},
        "status": {{"allocatable": {{"cpu": "{}", "memory": "32Gi", "pods": "110"}}}}}})",
                                              name, name, spec, cpu));
  }
  static std::string classOf(int priority) {
    return priority == 0 ? "" : fmt::format(R"("priorityClassName": "p{}",)", priority);
  }
  // extra: more members of the spec; metadata: of the metadata.
  void addPod(const std::string& name, int milliCpu, int priority = 0,
              const std::string& extra = "", const std::string& metadata = "") {
    cluster.put(api::Pod::kType, fmt::format(R"({{"apiVersion": "v1", "kind": "Pod",
        "metadata": {{"name": "{}", "namespace": "default", "labels": {{"app": "a{}"}} {}}},
        "spec": {{"schedulerName": "{}", "terminationGracePeriodSeconds": 0,
                  {} {} "containers": [{{"name": "c", "image": "i",
                  "resources": {{"requests": {{"cpu": "{}m"}}}}}}]}}}})",
                                             name, milliCpu % 3, metadata, kIncumbent,
                                             classOf(priority), extra, milliCpu));
  }
  std::string nodeOf(const std::string& pod) {
    const auto object = cluster.get(api::Pod::kType, pod, "default");
    return object ? std::string(textAt(*object, "spec", "nodeName")) : "";
  }
  // The report after the moment in which differences may turn out to be nearby.
  json::value report() {
    loop.advance(5s);
    return shadow ? shadowReport() : json::value();
  }
  json::value shadowReport() { return shadow->shadow()->report(); }
};

std::uint64_t numberAt(const json::value& report, std::string_view key) {
  const json::value* found = find(report, key);
  return found ? found->to_number<std::uint64_t>() : 0;
}
std::uint64_t results(const json::value& report, std::string_view key) {
  return numberAt(*find(report, "results"), key);
}
const json::array& differencesOf(const json::value& report) {
  return find(report, "differences")->get_array();
}

TEST(WholeShadow, agrees_with_a_scheduler_of_the_same_configuration_in_every_decision) {
  TwoSchedulers two;
  for (int i = 0; i < 12; ++i) two.addNode(fmt::format("n{}", i), "{}", 4 + i % 3 * 4);
  two.start();
  Random random(7);
  int created = 0;
  for (int round = 0; round < 150; ++round) {
    for (std::uint64_t i = random.below(6); i > 0; --i) {
      const auto cpu = static_cast<int>(200 + random.below(30) * 100);
      const auto priority = static_cast<int>(random.below(4)) * 10;
      two.addPod(fmt::format("p{}", created++), cpu, priority);
    }
    if (round % 5 == 4 && created > 10) {
      const auto name = fmt::format("p{}", random.below(static_cast<std::uint64_t>(created)));
      if (two.cluster.get(api::Pod::kType, name, "default"))
        two.cluster.remove(api::Pod::kType, name, "default");
    }
    two.loop.advance(std::chrono::milliseconds(random.below(4000)));
  }
  const json::value report = two.report();
  EXPECT_EQ(numberAt(report, "agreed"), numberAt(report, "compared")) << toPrettyJson(report);
  EXPECT_GT(numberAt(report, "compared"), 100u);
  EXPECT_GT(results(report, "samePreemption"), 5u) << toPrettyJson(report);
  EXPECT_GT(results(report, "bothWait"), 0u) << toPrettyJson(report);
  EXPECT_EQ(two.shadowApi.writes, 0);
  EXPECT_THAT(find(report, "refusedWrites")->get_object(), IsEmpty());
}

TEST(WholeShadow, follows_the_incumbent_and_keeps_no_pod_of_its_own) {
  TwoSchedulers two;
  two.addNode("a");
  two.addNode("b");
  two.start();
  for (int i = 0; i < 6; ++i) two.addPod(fmt::format("p{}", i), 500);
  (void)two.report();
  const Cluster& cluster = two.shadow->scheduler().cluster();
  EXPECT_EQ(cluster.podTotal(), 6u);
  EXPECT_EQ(cluster.assumedTotal(), 0u);
  for (int i = 0; i < 6; ++i) {
    const auto pod = two.cluster.get(api::Pod::kType, fmt::format("p{}", i), "default");
    const auto* record = cluster.findPod(std::string(textAt(*pod, "metadata", "uid")));
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(cluster.node(record->node).name, textAt(*pod, "spec", "nodeName"));
  }
  for (NodeId node = 0; node < cluster.capacity(); ++node) EXPECT_EQ(cluster.verifyNode(node), "");
}

TEST(WholeShadow, explains_a_worse_score_by_plugin_and_says_what_would_be_gained) {
  TwoSchedulers two;
  two.incumbentConfiguration = configured(R"(
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
)");
  two.addNode("a");
  two.addNode("b");
  two.start();
  for (int i = 0; i < 4; ++i) {
    two.addPod(fmt::format("p{}", i), 1000);
    two.loop.advance(1s);
  }
  const json::value report = two.report();
  EXPECT_EQ(results(report, "worseScore"), 3u) << toPrettyJson(report);
  ASSERT_EQ(differencesOf(report).size(), 3u);
  const json::value& last = differencesOf(report)[0];
  EXPECT_EQ(textAt(last, "pod"), "default/p3") << "the latest comes first";
  EXPECT_NE(textAt(last, "incumbent", "node"), textAt(last, "shadow", "node"));
  EXPECT_THAT(toJson(*find(last, "scores")), HasSubstr("NodeResourcesFit"));
  EXPECT_GT(find(*find(report, "gains"), "spreadPercentPoints")->to_number<double>(), 5);
}

TEST(WholeShadow, explains_a_node_that_its_own_filters_reject) {
  TwoSchedulers two;
  two.incumbentConfiguration = configured(R"(
profiles:
- plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}
)");
  two.addNode("tainted", R"({"taints": [{"key": "gpu", "effect": "NoSchedule"}]})");
  two.addNode("small", "{}", 1);
  two.start();
  two.addPod("p", 800);
  two.loop.advance(1s);
  two.addPod("large", 4000);
  const json::value report = two.report();
  ASSERT_EQ(two.nodeOf("large"), "tainted");
  EXPECT_EQ(results(report, "onlyIncumbentPlaces"), 1u) << toPrettyJson(report);
  EXPECT_EQ(results(report, "notFeasible") + results(report, "sameNode"), 1u);
  const json::value& last = differencesOf(report)[0];
  EXPECT_THAT(std::string(textAt(last, "rejectedBy")), HasSubstr("TaintToleration"));
  EXPECT_THAT(std::string(textAt(last, "shadow", "message")), HasSubstr("untolerated taint"));
}

TEST(WholeShadow, reports_a_preemption_on_one_side_only) {
  TwoSchedulers two;
  two.shadowsConfiguration = configured(R"(
profiles:
- plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}
)");
  two.addNode("a");
  two.start();
  two.addPod("low", 6000);
  two.loop.advance(1s);
  two.addPod("high", 6000, 100);
  const json::value report = two.report();
  EXPECT_EQ(two.nodeOf("high"), "a");
  EXPECT_EQ(results(report, "onlyIncumbentPreempts"), 1u) << toPrettyJson(report);
  EXPECT_THAT(std::string(textAt(differencesOf(report)[0], "shadow", "message")),
              HasSubstr("Insufficient cpu"));
}

TEST(WholeShadow, finds_a_node_where_the_incumbent_preempts_or_waits) {
  TwoSchedulers two;
  two.incumbentConfiguration = onlyNodes(onHost("a"));
  two.addNode("a");
  two.addNode("b");
  two.start();
  two.addPod("low", 6000);
  two.loop.advance(1s);
  two.addPod("same", 6000);
  two.loop.advance(1s);
  two.addPod("high", 6000, 100);
  const json::value report = two.report();
  EXPECT_GE(results(report, "onlyShadowPlaces"), 2u) << toPrettyJson(report);
  EXPECT_EQ(find(*find(report, "gains"), "preemptionsAvoided")->to_number<int>(), 1);
}

struct TwoWithGangs : TwoSchedulers {
  TwoWithGangs() {
    const auto shipped = parseConfiguration(shippedConfiguration({kIncumbent}));
    incumbentConfiguration = shadowsConfiguration = *shipped;
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::path(KOORD_DEPLOY) / "crds"))
      cluster.install(file.path());
  }
  void addGang(const std::string& gang, int members, int milliCpu, int priority = 0) {
    for (int i = 0; i < members; ++i)
      addPod(fmt::format("{}-{}", gang, i), milliCpu, priority, "",
             fmt::format(R"(, "annotations": {{"gang.scheduling.koordinator.sh/name": "{}",
                 "gang.scheduling.koordinator.sh/min-available": "{}"}})",
                         gang, members));
  }
};

TEST(WholeShadow, follows_gangs_that_fit_wait_and_preempt) {
  TwoWithGangs two;
  for (int i = 0; i < 4; ++i) two.addNode(fmt::format("n{}", i));
  two.start();
  two.addGang("fits", 4, 3000);
  two.loop.advance(5s);
  EXPECT_NE(two.nodeOf("fits-3"), "");
  two.addGang("waits", 3, 7000);
  two.loop.advance(5s);
  EXPECT_EQ(two.nodeOf("waits-0"), "");
  two.addGang("preempts", 2, 7000, 100);
  const json::value report = two.report();
  EXPECT_NE(two.nodeOf("preempts-1"), "") << toPrettyJson(report);
  EXPECT_EQ(numberAt(report, "agreed"), numberAt(report, "compared")) << toPrettyJson(report);
  EXPECT_GE(results(report, "bothWait"), 3u) << toPrettyJson(report);
  EXPECT_GE(results(report, "samePreemption"), 1u) << toPrettyJson(report);
  EXPECT_EQ(two.shadowApi.writes, 0);
  EXPECT_THAT(find(report, "refusedWrites")->get_object(), IsEmpty());
}

TEST(WholeShadow, finds_nodes_for_a_gang_that_the_incumbent_lets_wait) {
  TwoWithGangs two;
  two.incumbentConfiguration =
      onlyNodes(onHost("n0"), "plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}");
  two.addNode("n0");
  two.addNode("n1");
  two.start();
  two.addGang("wide", 2, 6000);
  const json::value report = two.report();
  EXPECT_EQ(two.nodeOf("wide-0"), "");
  EXPECT_GE(results(report, "onlyShadowPlaces"), 1u) << toPrettyJson(report);
  EXPECT_THAT(toJson(*find(report, "differences")), HasSubstr("\"group\":true"));
}

TEST(WholeShadow, begins_where_the_cluster_is_after_a_restart) {
  TwoSchedulers two;
  two.addNode("a");
  two.start();
  two.addPod("before", 3000);
  two.addPod("waits", 7000);
  two.loop.advance(5s);
  two.startShadow();
  json::value report = two.report();
  EXPECT_EQ(numberAt(report, "compared"), 0u) << "what was decided before is not compared";
  two.cluster.remove(api::Pod::kType, "before", "default");
  two.loop.advance(20s);
  EXPECT_EQ(two.nodeOf("waits"), "a");
  two.addPod("after", 500);
  report = two.report();
  EXPECT_EQ(results(report, "sameNode"), 2u) << toPrettyJson(report);
  EXPECT_EQ(find(*find(*find(report, "latency"), "incumbent"), "count")->to_number<int>(), 1)
      << "the creation of the other pod was not seen";
}

TEST(WholeShadow, keeps_the_last_differences_only) {
  TwoSchedulers two;
  two.options.differences = 2;
  two.shadowsConfiguration = onlyNodes("key: nowhere, operator: Exists");
  two.addNode("a");
  two.start();
  for (int i = 0; i < 5; ++i) two.addPod(fmt::format("p{}", i), 100);
  const json::value report = two.report();
  EXPECT_EQ(results(report, "onlyIncumbentPlaces"), 5u);
  EXPECT_EQ(differencesOf(report).size(), 2u);
}

TEST(WholeShadow, survives_nodes_and_pods_that_it_does_not_know) {
  TwoSchedulers two;
  two.addNode("a");
  two.startShadow();
  const auto bind = [&](const std::string& pod, const std::string& node) {
    kube::Request request =
        kube::makeRequest(kube::Verb::Create, api::Pod::kType, {"default", pod});
    request.subresource = "binding";
    request.body = fmt::format(R"({{"apiVersion": "v1", "kind": "Binding",
        "metadata": {{"name": "{}"}}, "target": {{"kind": "Node", "name": "{}"}}}})",
                               pod, node);
    struct Call {
      static Task<void> run(kube::Api* api, kube::Request sent) {
        auto calling = api->call(std::move(sent));
        (void)co_await calling;
      }
    };
    TaskGroup tasks;
    tasks.spawn(Call::run(&two.cluster, std::move(request)));
    two.loop.advance(1s);
  };
  two.addPod("ghost", 100);
  two.loop.advance(1s);
  bind("ghost", "unknown");
  two.addPod("fixed", 100, 0, R"("nodeName": "a",)");
  two.addPod("huge", 2'000'000'000);
  two.loop.advance(1s);
  bind("huge", "a");
  two.addPod("deleted", 100);
  two.loop.advance(1s);
  two.cluster.remove(api::Pod::kType, "deleted", "default");
  const json::value report = two.report();
  EXPECT_EQ(results(report, "notFeasible"), 1u) << toPrettyJson(report);
  EXPECT_EQ(results(report, "onlyIncumbentPlaces"), 1u);
  EXPECT_EQ(numberAt(*find(report, "skipped"), "unseen"), 1u);
  EXPECT_EQ(two.shadowApi.writes, 0);
}

}  // namespace
}  // namespace koord::scheduler
