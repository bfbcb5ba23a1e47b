// Random histories of nodes, reports, pods and configurations, many of them invalid. A manager that
// is restarted at random times ends with the same objects as an uninterrupted manager, and never
// crashes.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "apiserver/embedded_cluster.h"
#include "base/time.h"
#include "manager/controllers.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

constexpr const char* kInvalidAmounts[] = {"0",
                                           "-1",
                                           "500m",
                                           "1",
                                           "7",
                                           "1n",
                                           "9223372036854775807",
                                           "100Ti",
                                           "1e9",
                                           "2Gi",
                                           "0.0001",
                                           "12k",
                                           "-9223372036854775807"};
constexpr const char* kSections[][2] = {
    {"colocation-config", R"({"enable":true})"},
    {"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":90})"},
    {"colocation-config", R"({"enable":false})"},
    {"colocation-config", R"({"enable":"yes"})"},
    {"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":-5})"},
    {"colocation-config", R"({"enable":true,"degradeTimeMinutes":9223372036854775807})"},
    {"colocation-config", R"({"enable":true,"updateTimeThresholdSeconds":9223372036854775807})"},
    {"colocation-config",
     R"({"enable":true,"nodeConfigs":[{"nodeSelector":{"matchLabels":{"a":"1"}},
        "enable":true,"memoryCalculatePolicy":"request"},{"nodeSelector":7}]})"},
    {"colocation-config", "{"},
    {"resource-threshold-config",
     R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":60}})"},
    {"resource-threshold-config", R"({"clusterStrategy":{"enable":7}})"},
    {"resource-threshold-config", R"([])"},
    {"cpu-burst-config", R"({"clusterStrategy":{"policy":"auto","cpuBurstPercent":99999999999}})"},
    {"cpu-burst-config", R"({"clusterStrategy":{"policy":"auto"}})"},
    {"resource-qos-config",
     R"({"clusterStrategy":{"beClass":{"memoryQOS":{"enable":true,"throttlingPercent":80}}}})"},
    {"resource-qos-config",
     R"({"clusterStrategy":{"beClass":{"blkioQOS":{"blocks":[{"name":7}]}}}})"},
    {"cpu-normalization-config", R"({"enable":true,"defaultRatio":1e308})"},
    {"cpu-normalization-config", R"({"enable":true,"ratioModel":{"x":{"baseRatio":-1}}})"},
    {"resource-amplification-config",
     R"({"enable":true,"resourceAmplificationRatio":{"cpu":2,"memory":-1}})"},
    {"resource-amplification-config", R"({"enable":true,"resourceAmplificationRatio":7})"},
};
constexpr const char* kNodeAnnotations[] = {
    R"({})",
    R"({"node.koordinator.sh/colocation-strategy":"{\"enable\":true,\"cpuReclaimThresholdPercent\":50}"})",
    R"({"node.koordinator.sh/colocation-strategy":"{\"enable\":7"})",
    R"({"node.koordinator.sh/network-bandwidth":"much"})",
    R"({"node.koordinator.sh/reservation":"{\"resources\":{\"cpu\":\"-3\"}}"})",
    R"({"node.koordinator.sh/reservation":"{\"reservedCPUs\":\"0-99999999999\"}"})",
    R"({"node.koordinator.sh/cpu-normalization-ratio":"NaN","node.koordinator.sh/raw-allocatable":"[7]"})",
};

class RestartWorld {
 public:
  explicit RestartWorld(std::uint64_t seed) : random_(seed) {
    const std::filesystem::path deploy = KOORD_DEPLOY;
    for (const char* kind : {"nodemetrics", "nodeslos"})
      cluster_.install(deploy / "crds" / fmt::format("slo.koordinator.sh_{}.yaml", kind));
    for (const char* name : {"00-namespace", "priority-classes"})
      cluster_.install(deploy / "manifests" / fmt::format("{}.yaml", name));
    putConfig("colocation-config", R"({"enable":true})");
    start();
  }

  void start() {
    controllers_.reset();
    loop_.runReady();
    controllers_.emplace(cluster_, loop_, controllersRandom_, options_, metrics_);
    controllers_->start();
  }
  void stop() {
    controllers_.reset();
    loop_.runReady();
  }
  void advance(Duration time) { loop_.advance(time); }

  // A random event, whether or not a manager runs.
  void step() {
    const std::string node = fmt::format("n{}", random_.below(3));
    switch (random_.below(7)) {
      case 0:
        return putNode(node, random_.below(2), random_.below(std::size(kNodeAnnotations)));
      case 1:
        if (random_.below(4) == 0 && cluster_.get(api::Node::kType, node))
          cluster_.remove(api::Node::kType, node);
        return;
      case 2:
      case 3:
        return report(node, amount(), amount(), amount(), amount());
      case 4: {
        const auto& section = kSections[random_.below(std::size(kSections))];
        return putConfig(section[0], section[1]);
      }
      case 5:
        return putPod(fmt::format("p{}", random_.below(4)), node, amount());
      default:
        return advance(std::chrono::seconds(random_.below(100)));
    }
  }
  // All inputs become valid and stay so long enough.
  void settle() {
    data_.clear();
    putConfig("resource-threshold-config", R"({"clusterStrategy":{"enable":true}})");
    putConfig("colocation-config", R"({"enable":true,"updateTimeThresholdSeconds":120})");
    for (const char* node : {"n0", "n1", "n2"}) putNode(node, 1, 0);
    advance(3s);
    for (int i = 0; i < 6; ++i) {
      for (const char* node : {"n0", "n1", "n2"}) report(node, "11", "11G", "7", "12G");
      advance(1min);
    }
  }
  std::string outcome() {
    std::string text;
    for (const char* name : {"n0", "n1", "n2"}) {
      const auto node = cluster_.get(api::Node::kType, name);
      text += fmt::format("{} {} {}\n", name, toJson(*find(*node, "status")),
                          toJson(*at(*node, "metadata", "annotations")));
      for (const auto& type : {api::NodeSLO::kType, api::NodeMetric::kType}) {
        const auto object = cluster_.get(type, name);
        text += object ? toJson(*find(*object, "spec")) + "\n" : "none\n";
      }
    }
    return text;
  }
  // The nodes' batch resources are never more than their capacity and never negative.
  void expectSane() {
    for (const char* name : {"n0", "n1", "n2"}) {
      const auto node = cluster_.get(api::Node::kType, name);
      if (!node) continue;
      const auto batch = textAt(*node, "status", "allocatable", "kubernetes.io/batch-cpu");
      if (batch.empty()) continue;
      const auto amount = Quantity::parse(batch).value();
      EXPECT_GE(amount.sign(), 0) << batch;
      EXPECT_LE(amount.value(), 100'000) << batch;
    }
  }

 private:
  std::string amount() { return kInvalidAmounts[random_.below(std::size(kInvalidAmounts))]; }

  void putConfig(std::string_view key, std::string_view text) {
    data_[std::string(key)] = std::string(text);
    cluster_.put(
        api::ConfigMap::kType,
        toJson(json::object{
            {"metadata", {{"name", "slo-controller-config"}, {"namespace", "koordinator-system"}}},
            {"data", api::encode(data_)}}));
  }
  void putNode(const std::string& name, std::size_t labels, std::size_t annotations) {
    const auto there = cluster_.get(api::Node::kType, name);
    json::value node = there ? *there
                             : parseJson(fmt::format(R"({{"metadata":{{"name":"{}"}},"status":{{
        "capacity":{{"cpu":"100","memory":"120G"}},"allocatable":{{"cpu":"100","memory":"120G"}}}}}})",
                                                     name))
                                   .value();
    json::object& metadata = node.as_object()["metadata"].as_object();
    metadata["labels"] = json::object{{"a", std::to_string(labels)}};
    metadata["annotations"] = parseJson(kNodeAnnotations[annotations]).value();
    cluster_.put(api::Node::kType, toJson(node));
  }
  void report(const std::string& name, const std::string& cpu, const std::string& memory,
              const std::string& systemCpu, const std::string& systemMemory) {
    const auto there = cluster_.get(api::NodeMetric::kType, name);
    if (!there) return;
    json::value object = *there;
    object.as_object()["status"] =
        parseJson(
            fmt::format(
                R"({{"updateTime":"{}","nodeMetric":{{"nodeUsage":{{"resources":{{"cpu":"{}","memory":"{}"}}}},
           "systemUsage":{{"resources":{{"cpu":"{}","memory":"{}"}}}}}},
           "prodReclaimableMetric":{{"resource":{{"resources":{{"cpu":"{}","memory":"{}"}}}}}},
           "podsMetric":[{{"namespace":"default","name":"p0","podUsage":{{"resources":{{"cpu":"{}","memory":"{}"}}}}}}]}})",
                formatTime(loop_.wallNow()), cpu, memory, systemCpu, systemMemory, cpu, memory,
                systemCpu, memory))
            .value();
    cluster_.put(api::NodeMetric::kType, toJson(object));
  }
  void putPod(const std::string& name, const std::string& node, const std::string& cpu) {
    if (cluster_.get(api::Pod::kType, name, "default"))
      return cluster_.remove(api::Pod::kType, name, "default");
    if (cpu.starts_with("-")) return;
    cluster_.put(api::Pod::kType,
                 fmt::format(R"({{"metadata":{{"namespace":"default","name":"{}","labels":{{
        "koordinator.sh/qosClass":"LS"}}}},"spec":{{"nodeName":"{}","containers":[{{"name":"c","image":"i",
        "resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}}}}]}},"status":{{"phase":"Running"}}}})",
                             name, node, cpu));
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Random random_;
  Random controllersRandom_{7};
  ManagerOptions options_;
  Metrics metrics_;
  api::StringMap data_;
  std::optional<Controllers> controllers_;
};

TEST(Restarts, WheneverTheyHappenTheObjectsAreInTheEndAsWithoutThem) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    RestartWorld through(seed), restarted(seed);
    Random random(seed + 1000);
    bool down = false;
    for (int i = 0; i < 60; ++i) {
      through.step();
      restarted.step();
      through.advance(500ms);
      restarted.advance(500ms);
      through.expectSane();
      restarted.expectSane();
      if (random.below(6) != 0) continue;
      if (down) {
        restarted.start();
      } else {
        restarted.stop();
      }
      down = !down;
    }
    restarted.start();
    through.settle();
    restarted.settle();
    ASSERT_EQ(restarted.outcome(), through.outcome());
  }
}

}  // namespace
}  // namespace koord::manager
