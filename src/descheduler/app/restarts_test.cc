// koord-descheduler dies at random times and starts again: in the end the cluster is as after an
// uninterrupted run, no other pods were evicted, and the limits of an interval were not exceeded.

#include "api/slo.h"
#include "base/time.h"
#include "descheduler/app/plugin_table.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/migration/world_test.h"

namespace koord::descheduler {
namespace {

constexpr Duration kCycle = 60s;
constexpr int kUsedByPod = 700, kUsedBySystem = 100, kWholeNode = 4000, kHighPercent = 50;

std::string loadConfiguration(std::string_view balance) {
  return fmt::format(R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 60s
maxNoOfPodsToEvictTotal: 1
profiles:
- name: koord-descheduler
  plugins:
    balance: {{enabled: [{}]}}
  pluginConfig:
  - name: MigrationController
    args: {{defaultJobMode: EvictDirectly, evictionPolicy: Eviction, landing: {{enabled: false}}}}
  - name: LowNodeLoad
    args:
      lowThresholds: {{cpu: 30}}
      highThresholds: {{cpu: {}}}
      anomalyCondition: {{consecutiveAbnormalities: 1}}
)",
                     balance, kHighPercent);
}

// Two overloaded nodes and two idle ones. Evicted pods come back on the node with the fewest pods,
// and koordlets report.
struct LoadWorld : MigrationWorld {
  LoadWorld() {
    api.install(KOORD_DEPLOY "/crds/slo.koordinator.sh_nodemetrics.yaml");
    api.put(api::Node::kType,
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n4"},)"
            R"("status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}})");
    podsComeBack = false;
    for (const char* name : {"w1", "w2"}) workload(name, 2, "n1");
    for (const char* name : {"w3", "w4"}) workload(name, 2, "n4");
    // Budgets forbid every eviction at first, so jobs wait for minutes.
    api.failure = [this](const kube::Request& request) -> std::optional<Error> {
      if (request.subresource != "eviction" || loop.steadyNow() >= budgetsUntil)
        return std::nullopt;
      return Error{ErrorCode::TooManyRequests, "a budget", {}};
    };
    budgetsUntil = loop.steadyNow() + 2min;
  }
  // crashAt: the write at which it dies; 0 = none.
  void begin(int crashAt = 0, const std::string& balance = "{name: LowNodeLoad}") {
    end();
    std::vector<std::string> errors;
    auto prepared =
        prepare(readConfiguration(loadConfiguration(balance), errors), registry, errors);
    ASSERT_THAT(errors, ::testing::IsEmpty());
    metrics.emplace();
    crashing.emplace(api);
    crashing->crashAt = crashAt;
    crashing->afterwards = lives % 2 == 1;
    descheduler.emplace(*crashing, loop, Random(++lives), Descheduler::Options{std::move(prepared)},
                        registry, *metrics);
    descheduler->start();
  }
  void end() { descheduler.reset(); }
  ~LoadWorld() { end(); }

  std::map<std::string, int> podsByNode() {
    std::map<std::string, int> count{{"n1", 0}, {"n2", 0}, {"n3", 0}, {"n4", 0}};
    for (const auto& item : list(api::Pod::kType))
      ++count[std::string(textAt(item, "spec", "nodeName"))];
    return count;
  }
  void report() {
    std::map<std::string, std::string> pods;
    for (const auto& item : list(api::Pod::kType)) {
      std::string& text = pods[std::string(textAt(item, "spec", "nodeName"))];
      text += fmt::format(
          R"({}{{"namespace":"default","name":"{}","podUsage":{{"resources":{{"cpu":"{}m"}}}}}})",
          text.empty() ? "" : ",", textAt(item, "metadata", "name"), kUsedByPod);
    }
    for (const char* node : {"n1", "n2", "n3", "n4"})
      api.put(api::NodeMetric::kType,
              fmt::format(R"({{"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric",)"
                          R"("metadata":{{"name":"{}"}},"spec":{{}},"status":{{"updateTime":"{}",)"
                          R"("nodeMetric":{{"systemUsage":{{"resources":{{"cpu":"{}m"}}}}}},)"
                          R"("podsMetric":[{}]}}}})",
                          node, formatTime(loop.wallNow()), kUsedBySystem, pods[node]));
  }
  void requeueAfter() {
    std::map<std::string, int> there;
    for (const auto& item : list(api::Pod::kType))
      ++there[std::string(textAt(item, "metadata", "labels", "app"))];
    for (const auto& [set, count] : wanted)
      for (int i = there[set]; i < count; ++i) {
        const auto nodes = podsByNode();
        const auto emptiest =
            std::ranges::min_element(nodes, {}, [](const auto& entry) { return entry.second; });
        pod(set, fmt::format("{}-new-{}", set, ++incarnations), emptiest->first);
      }
  }
  void pass(Duration time) {
    for (const SteadyTime until = loop.steadyNow() + time; loop.steadyNow() < until;) {
      if (loop.steadyNow() >= nextReport) {
        report();
        nextReport = loop.steadyNow() + 30s;
      }
      loop.advance(500ms);
      finishDeletions();
      requeueAfter();
      for (const auto& job : jobs()) madeAt.try_emplace(job.metadata.name, loop.steadyNow());
    }
  }
  // "" = the final state is as expected.
  std::string wrong() {
    for (const auto& [node, count] : podsByNode())
      if (count * kUsedByPod + kUsedBySystem > kWholeNode * kHighPercent / 100)
        return fmt::format("{} has {} pods", node, count);
    std::vector<SteadyTime> made;
    for (const auto& [name, at] : madeAt) made.push_back(at);
    std::ranges::sort(made);
    for (std::size_t i = 1; i < made.size(); ++i)
      if (made[i] - made[i - 1] < kCycle - 2s)
        return fmt::format("two pods within {}, and one per cycle may go",
                           formatDuration(made[i] - made[i - 1]));
    return "";
  }

  Registry registry = pluginTable();
  std::optional<Metrics> metrics;
  std::optional<CrashingApi> crashing;
  std::optional<Descheduler> descheduler;
  SteadyTime budgetsUntil{};
  SteadyTime nextReport{};
  std::map<std::string, SteadyTime> madeAt;  // jobs
};

constexpr Duration kLongEnough = 8min;

TEST(RestartsTest, whoeverDiesAndBeginsAnewEndsWhereOneThatRanThroughEnds) {
  LoadWorld through;
  through.begin();
  through.pass(kLongEnough);
  ASSERT_EQ(through.wrong(), "");
  const int left = through.incarnations;
  ASSERT_GE(left, 4);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    LoadWorld w;
    Random random(seed);
    for (const SteadyTime until = w.loop.steadyNow() + 6min; w.loop.steadyNow() < until;) {
      // Either at one of its writes or between two cycles.
      w.begin(random.below(2) ? 1 + static_cast<int>(random.below(6)) : 0);
      w.pass(std::chrono::milliseconds(random.below(90'000)));
      w.end();
      w.pass(std::chrono::seconds(random.below(20)));
    }
    w.begin();
    w.pass(kLongEnough);
    EXPECT_EQ(w.wrong(), "") << "seed " << seed;
    EXPECT_EQ(w.incarnations, left) << "seed " << seed;
  }
}

TEST(RestartsTest, whatIsSwitchedOffWhileItIsDownEndsWithTheJobsThatWereMade) {
  LoadWorld w;
  w.begin();
  w.pass(80s);  // the first cycle has no load data yet
  ASSERT_EQ(w.madeAt.size(), 1u);
  w.end();
  w.pass(5s);
  w.begin(0, "");
  w.pass(5min);
  EXPECT_EQ(w.madeAt.size(), 1u);
  EXPECT_EQ(w.incarnations, 1) << "the job that was there has come to its end";
}

}  // namespace
}  // namespace koord::descheduler
