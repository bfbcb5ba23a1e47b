#include "koordctl/tune/tuned_site.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/test_folder.h"
#include "cluster/snapshot/snapshot_writer.h"

namespace koord::koordctl {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kNode =
    R"({{"metadata":{{"name":"{}"{}}},"spec":{{}},"status":{{"allocatable":{{"cpu":"16",)"
    R"("memory":"64Gi","pods":"110"}}}}}})";
constexpr const char* kMetric =
    R"({{"metadata":{{"name":"{0}"}},"status":{{"updateTime":"2026-11-28T12:00:00Z","nodeMetric":)"
    R"({{"nodeUsage":{{"resources":{{"cpu":"5","memory":"10Gi"}}}},)"
    R"("systemUsage":{{"resources":{{"cpu":"500m","memory":"2Gi"}}}}}},"podsMetric":)"
    R"([{{"name":"web-{0}","namespace":"shop","podUsage":{{"resources":{{"cpu":"2",)"
    R"("memory":"4Gi"}}}}}},{{"name":"job-{0}","namespace":"shop","podUsage":)"
    R"({{"resources":{{"cpu":"1","memory":"1Gi"}}}}}}]}}}})";
constexpr const char* kService =
    R"({{"metadata":{{"name":"{}","namespace":"shop"}},"spec":{{"nodeName":"{}","priority":9000,)"
    R"("containers":[{{"name":"main","resources":{{"requests":{{"cpu":"8","memory":"16Gi"}},)"
    R"("limits":{{"cpu":"10","memory":"16Gi"}}}}}}]}},"status":{{"phase":"{}"}}}})";
constexpr const char* kJob =
    R"({{"metadata":{{"name":"{}","namespace":"shop","labels":{{"koordinator.sh/qosClass":"BE"}}}},)"
    R"("spec":{{"nodeName":"{}","priority":5000,"containers":[{{"name":"main","resources":)"
    R"({{"requests":{{"kubernetes.io/batch-cpu":"4000","kubernetes.io/batch-memory":"8Gi"}}}}}}]}},)"
    R"("status":{{"phase":"Running"}}}})";
constexpr const char* kOther =
    R"({"metadata":{"name":"kube-root-ca.crt","namespace":"default"},"data":{}})";

// A snapshot of two nodes with a service and a job each.
class TunedClusterTest : public ::testing::Test {
 protected:
  TunedClusterTest() {
    EXPECT_TRUE(::mkdtemp(folder_.data()));
    file_ = folder_ + "/cluster.snap";
    for (const char* node : {"a", "b"}) {
      nodes_.push_back(fmt::format(kNode, node, ""));
      metrics_.push_back(fmt::format(kMetric, node));
      pods_.push_back(fmt::format(kService, fmt::format("web-{}", node), node, "Running"));
      pods_.push_back(fmt::format(kJob, fmt::format("job-{}", node), node));
    }
  }
  ~TunedClusterTest() override { std::filesystem::remove_all(folder_); }

  void config(const std::string& data) {
    config_ = fmt::format(R"({{"metadata":{{"name":"slo-controller-config","namespace":)"
                          R"("koordinator-system"}},"data":{}}})",
                          data);
  }
  Result<StudiedCluster> state() {
    std::filesystem::remove(file_);
    cluster::SnapshotHeader header;
    header.scope = cluster::SnapshotHeader::Scope::Support;
    header.createdAt = "2026-11-28T12:00:00Z";
    auto writer = cluster::SnapshotWriter::create(file_, header);
    const auto add = [&](const char* resource, const std::string& text) {
      EXPECT_TRUE((*writer)->addObject(resource, text));
    };
    if (!config_.empty()) add("configmaps", config_);
    if (!omitConfigMaps_) add("configmaps", kOther);
    for (const auto& text : nodes_) add("nodes", text);
    for (const auto& text : metrics_) add("nodemetrics.slo.koordinator.sh", text);
    for (const auto& text : pods_) add("pods", text);
    EXPECT_TRUE((*writer)->finish());
    return readStudiedCluster(file_);
  }
  std::unique_ptr<TunedSite> site(const SiteOptions& options = {}) {
    auto read = state();
    EXPECT_TRUE(read) << read.error().message;
    state_ = *std::move(read);
    auto made = makeSite(state_, options, {});
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }

  std::string folder_ = ::testing::TempDir() + "/tuned-XXXXXX";
  std::string file_, config_;
  std::vector<std::string> nodes_, metrics_, pods_;
  StudiedCluster state_;
  bool omitConfigMaps_ = false;
};

TEST_F(TunedClusterTest, nodes_services_and_jobs_are_those_of_the_cluster) {
  const auto state = this->state();
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_EQ(state->nodes.size(), 2U);
  EXPECT_EQ(state->nodes[0].cores, 16);
  EXPECT_EQ(state->nodes[0].systemCores, 0.5);
  ASSERT_EQ(state->services.size(), 2U);
  EXPECT_EQ(state->services[0].cores, 8);
  EXPECT_EQ(state->services[0].limit, 10);
  EXPECT_EQ(state->services[0].usedCores, 2);
  ASSERT_EQ(state->jobs.size(), 2U);
  EXPECT_EQ(state->jobs[0].cores, 4);
  EXPECT_EQ(state->jobs[0].memoryGib, 8);
  EXPECT_EQ(state->jobCpuUse, 0.25);
  EXPECT_FALSE(state->colocates) << "there is no ConfigMap";
}

TEST_F(TunedClusterTest, settings_are_those_of_slo_controller_config) {
  config(R"({"colocation-config":"{\"enable\":true,\"cpuReclaimThresholdPercent\":70}",)"
         R"("resource-threshold-config":"{\"clusterStrategy\":{\"enable\":true,)"
         R"(\"cpuSuppressThresholdPercent\":80}}","cpu-burst-config":)"
         R"("{\"clusterStrategy\":{\"policy\":\"auto\"}}"})");
  const auto state = this->state();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(state->colocates);
  EXPECT_EQ(state->colocation.cpuReclaimThresholdPercent, 70);
  EXPECT_EQ(state->colocation.memoryReclaimThresholdPercent, 65) << "the default";
  EXPECT_EQ(state->node.threshold.cpuSuppressThresholdPercent, 80);
  EXPECT_TRUE(state->node.suppress);
  EXPECT_EQ(state->node.burst.policy, "auto");
}

TEST_F(TunedClusterTest, a_section_that_is_not_readable_is_an_error_because_it_would_be_replaced) {
  config(R"({"colocation-config":"{\"enable\":"})");
  const auto state = this->state();
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("mend it first"));
}

TEST_F(TunedClusterTest, nodes_with_settings_of_their_own_are_left_out) {
  nodes_.push_back(
      fmt::format(kNode, "c", R"(,"labels":{"node.koordinator.sh/cpu-reclaim-ratio":"0.8"})"));
  metrics_.push_back(fmt::format(kMetric, "c"));
  const auto state = this->state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->nodes.size(), 2U);
  EXPECT_THAT(state->notes, Contains(HasSubstr("1 nodes with settings of their own are skipped")));
}

TEST_F(TunedClusterTest, without_measured_nodes_there_is_nothing_to_study) {
  metrics_.clear();
  const auto state = this->state();
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("of 2 nodes 2 have no current NodeMetric"));
}

TEST_F(TunedClusterTest, pods_that_have_ended_use_nothing) {
  pods_.push_back(fmt::format(kService, "done", "a", "Succeeded"));
  pods_.push_back(fmt::format(kService, "waiting", "", "Pending"));
  EXPECT_EQ(state()->services.size(), 2U);
}

TEST_F(TunedClusterTest, without_a_record_the_usage_of_now_is_that_of_the_same_hour) {
  const auto made = site();
  ASSERT_EQ(made->recording.pods.size(), 2U);
  const UsageSeries& series = made->recording.series.front();
  EXPECT_NEAR(series.cores.front(), 2, 1e-5) << "at noon, when the snapshot was taken";
  EXPECT_LT(series.cores[series.cores.size() / 2], 1) << "at midnight";
  EXPECT_THAT(made->notes, Contains(HasSubstr("no record of usage")));
}

TEST_F(TunedClusterTest, a_sample_of_nodes_has_their_pods_only) {
  const auto made = site({.nodes = 1});
  ASSERT_EQ(made->site.nodes.size(), 1U);
  ASSERT_EQ(made->recording.pods.size(), 1U);
  EXPECT_EQ(made->recording.pods.front().node, made->site.nodes.front().name);
  EXPECT_THAT(made->notes, Contains(HasSubstr("1 of 2 nodes, chosen at random")));
}

TEST_F(TunedClusterTest, recorded_pods_use_what_is_recorded) {
  const std::string usage = folder_ + "/usage.csv";
  std::string text = std::string(kUsageHeader) + "\n";
  for (int minute = 0; minute < 10; ++minute)
    text += usageLine(6000 + minute * 60, {"shop", "web-a"}, 1000 + 100 * minute, 1 << 30);
  ASSERT_TRUE(writeFileAtomic(usage, text));
  const auto made = site({.usage = usage});
  EXPECT_EQ(made->recording.every, 60);
  EXPECT_FLOAT_EQ(made->recording.series[0].cores[3], 1.3F);
  EXPECT_FLOAT_EQ(made->recording.series[1].cores[3], 2) << "as measured: it is not in the record";
  EXPECT_THAT(made->notes, Contains(HasSubstr("1 of 2 pods are not in the record")));
  EXPECT_THAT(made->notes, Contains(HasSubstr("less than a day")));
}

// A pod of the Deployment web, whose name changes with each rollout.
std::string deploymentPod(const std::string& name, const std::string& node) {
  const std::string set = name.substr(0, name.rfind('-'));
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"shop","labels":{{"pod-template-hash":"{2}"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{1}","uid":"u",)"
      R"("controller":true}}]}},"spec":{{"nodeName":"{3}","priority":9000,"containers":[{{"name":)"
      R"("main","resources":{{"requests":{{"cpu":"8","memory":"16Gi"}}}}}}]}},)"
      R"("status":{{"phase":"Running"}}}})",
      name, set, set.substr(set.rfind('-') + 1), node);
}

TEST_F(TunedClusterTest, pods_of_a_rollout_use_what_their_workload_used_before) {
  pods_ = {deploymentPod("web-9f8c7-x2b4z", "a")};
  const std::string usage = folder_ + "/usage.csv";
  std::string text = std::string(kUsageHeader) + "\n";
  for (int minute = 0; minute < 10; ++minute)
    for (const char* name : {"web-5d4f8-bcdfg", "web-5d4f8-zxwvt"})
      text +=
          usageLine(6000 + minute * 60, {"shop", name}, *(name + 10) == 'b' ? 1000 : 3000, 1 << 30);
  for (int minute = 10; minute < 20; ++minute)
    text += usageLine(6000 + minute * 60, {"shop", "web-9f8c7-x2b4z"}, 500, 1 << 30);
  ASSERT_TRUE(writeFileAtomic(usage, text));
  const auto made = site({.usage = usage});
  const auto& cores = made->recording.series.at(0).cores;
  ASSERT_EQ(cores.size(), 20U);
  EXPECT_FLOAT_EQ(cores[5], 2) << "the mean of both";
  EXPECT_FLOAT_EQ(cores[15], 0.5);
  EXPECT_THAT(made->notes, Contains(HasSubstr("50 % of the time")));
}

TEST_F(TunedClusterTest, a_pod_that_is_not_in_a_part_of_the_record_uses_its_mean_there) {
  const std::string usage = folder_ + "/usage.csv";
  std::string text = std::string(kUsageHeader) + "\n";
  for (int minute = 0; minute < 20; ++minute) {
    text += usageLine(6000 + minute * 60, {"shop", "web-a"}, 1000, 1 << 30);
    if (minute >= 10)
      text += usageLine(6000 + minute * 60, {"shop", "web-b"}, minute % 2 ? 2000 : 4000, 1 << 30);
  }
  ASSERT_TRUE(writeFileAtomic(usage, text));
  const auto made = site({.usage = usage});
  EXPECT_FLOAT_EQ(made->recording.series.at(1).cores[0], 3);
}

TEST_F(TunedClusterTest, time_without_a_recorder_is_not_part_of_the_record) {
  const std::string usage = folder_ + "/usage.csv";
  std::string text = std::string(kUsageHeader) + "\n";
  for (const int start : {6000, 6000 + 36000})
    for (int minute = 0; minute < 10; ++minute)
      text += usageLine(start + minute * 60, {"shop", "web-a"}, 1000, 1 << 30);
  ASSERT_TRUE(writeFileAtomic(usage, text));
  const auto made = site({.usage = usage});
  EXPECT_EQ(made->recording.series.at(0).cores, std::vector<float>(20, 1.0F));
  EXPECT_THAT(made->notes, Contains(HasSubstr("usage of 20 minutes")));
}

TEST_F(TunedClusterTest, measured_pods_that_the_snapshot_lacks_are_an_error) {
  pods_.clear();
  const auto state = this->state();
  ASSERT_FALSE(state) << "without services every threshold is good";
  EXPECT_THAT(state.error().message, HasSubstr("no pod"));
}

TEST_F(TunedClusterTest, a_snapshot_without_config_maps_has_no_settings) {
  omitConfigMaps_ = true;
  const auto state = this->state();
  ASSERT_FALSE(state) << "a patch would replace what the cluster has";
  EXPECT_THAT(state.error().message, HasSubstr("ConfigMap"));
}

TEST_F(TunedClusterTest, a_report_of_yesterday_is_none) {
  metrics_[0].replace(metrics_[0].find("28T12"), 5, "27T12");
  const auto state = this->state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->nodes.size(), 1U);
  EXPECT_THAT(state->notes, Contains(HasSubstr("1 nodes without a current NodeMetric")));
}

TEST_F(TunedClusterTest, an_amplified_node_has_the_cpus_that_it_has) {
  nodes_[0] =
      R"({"metadata":{"name":"a"},"spec":{},"status":{"capacity":{"cpu":"16","memory":"64Gi"},)"
      R"("allocatable":{"cpu":"24","memory":"60Gi"}}})";
  const auto state = this->state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->nodes[0].cores, 16);
  EXPECT_EQ(state->nodes[0].memoryGib, 60);
}

TEST_F(TunedClusterTest, nodes_whose_own_strategy_turns_koordlet_off_are_left_out) {
  nodes_[1] = fmt::format(kNode, "b", R"(,"labels":{"pool":"calm"})");
  config(R"({"resource-threshold-config":"{\"clusterStrategy\":{\"enable\":true},)"
         R"(\"nodeStrategies\":[{\"name\":\"calm\",\"nodeSelector\":{\"matchLabels\":)"
         R"({\"pool\":\"calm\"}},\"enable\":false}]}"})");
  const auto state = this->state();
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_EQ(state->nodes.size(), 1U);
  EXPECT_EQ(state->nodes[0].name, "a");
}

TEST_F(TunedClusterTest, jobs_fit_on_a_node) {
  struct Case {
    const char* cpu;
    const char* memory;
  };
  for (const Case& each : {Case{"10", "4Gi"}, Case{"60000", "8Gi"}, Case{"1000", "500Gi"}}) {
    std::string job = fmt::format(kJob, "job-a", "a");
    job.replace(job.find("\"4000\""), 6, fmt::format("\"{}\"", each.cpu));
    job.replace(job.find("\"8Gi\""), 5, fmt::format("\"{}\"", each.memory));
    pods_ = {fmt::format(kService, "web-a", "a", "Running"), job};
    const auto made = site();
    for (const auto& shape : made->site.jobs) {
      EXPECT_LE(shape.cores, 4) << each.cpu << ", " << each.memory;
      EXPECT_LE(shape.memoryGib, 16) << each.cpu << ", " << each.memory;
      EXPECT_GT(shape.cores, 0);
    }
  }
}

TEST(RecordedLoadTest, demand_follows_the_record_around_its_end) {
  colocation::Parameters parameters;
  parameters.noise = 0;
  Recording recording;
  recording.pods.resize(1);
  recording.series.push_back({{1, 2, 3, std::numeric_limits<float>::quiet_NaN()}, {4, 4, 4, 4}});
  RecordedLoad load(parameters, recording, Random(1));
  std::vector<double> seen;
  for (int n = 0; n < 8; ++n) {
    load.moveTo(n * 60.0);
    seen.push_back(load.demand(0));
    EXPECT_EQ(load.memory(0), 4);
  }
  EXPECT_EQ(seen[0], seen[4]);
  std::ranges::sort(seen);
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 0, 1, 1, 2, 2, 3, 3)) << "0 while it is absent";
  load.moveTo(8 * 60 + 30);
  RecordedLoad again(parameters, recording, Random(1));
  again.moveTo(30);
  EXPECT_EQ(load.demand(0), again.demand(0)) << "the record goes on at its start";
}

TEST(RecordedLoadTest, a_pod_counts_unless_its_limit_throttles_it_anyway) {
  colocation::Parameters parameters;
  parameters.noise = 0;
  Recording recording;
  recording.pods = {{.limit = 4}, {.limit = 4}, {}};
  recording.series = {{{1}, {1}}, {{3.9F}, {1}}, {{3.9F}, {1}}};
  const RecordedLoad load(parameters, recording, Random(1));
  EXPECT_TRUE(load.counts(0));
  EXPECT_FALSE(load.counts(1));
  EXPECT_TRUE(load.counts(2)) << "it has no limit";
}

TEST_F(TunedClusterTest, usage_at_limits_is_reported) {
  pods_[0].replace(pods_[0].find("\"10\""), 4, "\"2\"");
  EXPECT_THAT(site()->notes,
              Contains(HasSubstr("of the CPU usage is of pods near their CPU limits")));
}

TEST(RecordedLoadTest, noise_keeps_the_mean) {
  colocation::Parameters parameters;
  parameters.noise = 0.3;
  Recording recording;
  recording.pods.resize(200);
  for (int n = 0; n < 200; ++n) recording.series.push_back({{2}, {1}});
  RecordedLoad load(parameters, recording, Random(1));
  double sum = 0;
  for (int n = 0; n < 500; ++n) {
    load.moveTo(n * 60.0);
    for (std::size_t pod = 0; pod < 200; ++pod) sum += load.demand(pod);
  }
  EXPECT_NEAR(sum / (200 * 500), 2, 0.03);
}

}  // namespace
}  // namespace koord::koordctl
