#include "koordctl/trace/trace_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "koordctl/trace/line_plot.h"
#include "koordctl/trace/trace_command.h"
#include "koordctl/trace/trace_report.h"

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDeviceShare = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: s, plugins: {multiPoint: {enabled: [{name: DeviceShare}]}}}]
)";

ReplayReport replayOf(const std::string& tasks, TraceOptions options = {}) {
  const auto nodes = parseTraceNodes("name,cpu,memory,gpus\nn,8,64Gi,2\n", "nodes");
  const auto read = parseTraceTasks(
      "name,cpu,memory,gpus,gpu_percent,priority,arrival,duration\n" + tasks, "tasks");
  EXPECT_TRUE(read) << read.error().message;
  const auto configuration = scheduler::parseConfiguration(kDeviceShare);
  options.scale = 1;
  auto report = replayTrace("test", *configuration, *nodes, *read, options);
  EXPECT_TRUE(report) << report.error().message;
  return *std::move(report);
}

TEST(TraceReplayTest, a_task_that_fits_runs_for_its_duration) {
  const ReplayReport report = replayOf("a,1,1Gi,1,50,0,0,100\n", {.samples = 100});
  EXPECT_EQ(report.placed, 1U);
  EXPECT_EQ(report.waitMean, 0);
  EXPECT_DOUBLE_EQ(report.points.at(50).gpuAllocated, 0.25);
  EXPECT_DOUBLE_EQ(report.points.at(50).cpuAllocated, 0.125);
  EXPECT_EQ(report.points.back().gpuAllocated, 0) << "it has ended";
}

TEST(TraceReplayTest, a_task_waits_until_another_ends) {
  const ReplayReport report = replayOf("a,1,1Gi,2,100,0,0,500\nb,1,1Gi,1,100,0,100,500\n");
  EXPECT_EQ(report.placed, 2U);
  EXPECT_NEAR(report.waitP99, 400, 15) << "the scheduler may take a backoff of 10 s";
  EXPECT_EQ(report.preemptions, 0U);
}

TEST(TraceReplayTest, a_task_of_higher_priority_preempts_and_the_other_runs_again) {
  const ReplayReport report = replayOf("a,1,1Gi,2,100,0,0,500\nb,1,1Gi,2,100,100,100,200\n");
  EXPECT_EQ(report.preemptions, 1U);
  EXPECT_EQ(report.placed, 2U);
  EXPECT_EQ(report.points.back().waiting, 0U);
}

TEST(TraceReplayTest, a_higher_load_compresses_arrivals_but_not_durations) {
  const std::string tasks = "a,1,1Gi,2,100,0,1000,500\nb,1,1Gi,2,100,0,1600,500\n";
  EXPECT_EQ(replayOf(tasks).waitP99, 0);
  const ReplayReport report = replayOf(tasks, {.loadPercent = 200});
  EXPECT_EQ(report.points.front().time, 1000);
  EXPECT_NEAR(report.waitP99, 200, 15) << "b arrives 300 s after a";
  EXPECT_NEAR(static_cast<double>(report.points.back().time), 2000, 15);
}

TEST(TraceReplayTest, free_gpus_that_no_task_can_use_are_fragmented) {
  const ReplayReport report =
      replayOf("a,1,1Gi,2,100,0,0,10\nb,8,1Gi,1,50,0,20,1000\n", {.samples = 10});
  EXPECT_DOUBLE_EQ(report.points.at(5).fragmentation, 1) << "no CPU is left";
}

TEST(TraceReplayTest, the_report_and_the_page_have_every_configuration) {
  ReplayReport report = replayOf("a,1,1Gi,1,50,0,0,100\n");
  report.name = "<first>";
  const auto json = parseJson(traceReportJson({report, report}));
  ASSERT_TRUE(json);
  EXPECT_EQ(at(*json, "configurations")->get_array().size(), 2U);
  const std::string page = traceReportPage({report, report});
  EXPECT_THAT(page, HasSubstr("&lt;first&gt;"));
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<first>")));
}

TEST(TraceReplayTest, a_missing_trace_is_an_error_that_names_the_file) {
  std::string out, errors;
  EXPECT_EQ(runTrace({.trace = "/nowhere"}, out, errors), 1);
  EXPECT_THAT(errors, HasSubstr("/nowhere/nodes.csv"));
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace koord::koordctl
