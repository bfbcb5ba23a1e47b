#include "console/history/history.h"

#include <gtest/gtest.h>

#include "console/history/sampler.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr WallTime kHistoryStart = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

History::Step stepOf(double used) {
  History::Step step;
  step.cluster = {1000.0, 500.0, used};
  step.nodes = {{"n1", {used, 50.0, std::nullopt, 10.0}}};
  step.quotas = {{"ns/q", {used, 2.0, 3.0, 4.0, 5.0, 6.0}}};
  return step;
}

const json::array& columnOf(const json::value& answer, std::string_view column) {
  return at(answer, "columns", column)->get_array();
}

}  // namespace

TEST(HistoryTest, SamplesOfTheLastSecondsAreReturnedWithTheirTimes) {
  History history;
  for (int i = 0; i < 10; ++i) history.add(kHistoryStart + i * History::kPeriod, stepOf(10.0 * i));
  const auto answer = history.query("cluster", 45, 100);
  ASSERT_TRUE(answer);
  EXPECT_EQ(find(*answer, "times")->get_array().size(), 4u);
  const auto& used = columnOf(*answer, "cpuUsed");
  EXPECT_EQ(realNumber(used[0]), 60.0);
  EXPECT_EQ(realNumber(used[3]), 90.0);
}

TEST(HistoryTest, MorePointsThanAChartHasAreAveraged) {
  History history;
  for (int i = 0; i < 100; ++i) history.add(kHistoryStart + i * History::kPeriod, stepOf(i % 2));
  const auto answer = history.query("cluster", 86'400, 10);
  ASSERT_TRUE(answer);
  const auto& used = columnOf(*answer, "cpuUsed");
  ASSERT_EQ(used.size(), 10u);
  EXPECT_EQ(realNumber(used[4]), 0.5);
}

TEST(HistoryTest, NodesHaveSharesAndGapsWhereNothingWasMeasured) {
  History history;
  history.add(kHistoryStart, stepOf(33.3));
  const auto answer = history.query("node/n1", 3600, 100);
  ASSERT_TRUE(answer);
  EXPECT_EQ(realNumber(columnOf(*answer, "cpuUsed")[0]), 33.5);  // in steps of half a percent
  EXPECT_TRUE(columnOf(*answer, "batchUsed")[0].is_null());
  EXPECT_EQ(history.query("node/n2", 3600, 100).error().code, ErrorCode::NotFound);
  EXPECT_EQ(history.query("secrets", 3600, 100).error().code, ErrorCode::NotFound);
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  for (const auto seconds : {kLargest, -kLargest - 1}) {
    const auto extreme = history.query("cluster", seconds, 0);
    ASSERT_TRUE(extreme);
    EXPECT_EQ(find(*extreme, "times")->get_array().size(), 1u);
  }
}

TEST(HistoryTest, WhatCameBeforeAClockWentBackIsNotReturned) {
  History history;
  for (int i = 0; i < 4; ++i) history.add(kHistoryStart + i * History::kPeriod, stepOf(1));
  for (int i = 0; i < 3; ++i) history.add(kHistoryStart - 1h + i * History::kPeriod, stepOf(2));
  const auto answer = history.query("cluster", 86'400, 100);
  ASSERT_TRUE(answer);
  const auto& times = find(*answer, "times")->get_array();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(wholeNumber(times[2]).value_or(0) - wholeNumber(times[0]).value_or(0), 30);
  EXPECT_EQ(realNumber(columnOf(*answer, "cpuUsed")[0]), 2.0);
}

TEST(HistoryTest, ADayOfAThousandNodesAndFiftyQuotasFitsIn32MiB) {
  History history;
  History::Step step = stepOf(50);
  step.nodes.clear();
  step.quotas.clear();
  for (int i = 0; i < 1000; ++i)
    step.nodes.emplace_back("node-" + std::to_string(i),
                            Series<Share>::Sample{10.0, 20.0, 30.0, 40.0});
  for (int i = 0; i < 50; ++i)
    step.quotas.emplace_back("ns/quota-" + std::to_string(i),
                             Series<float>::Sample{1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  // Every block is reached without all of its samples.
  for (std::size_t i = 0; i < 2 * History::kSamples; i += 200)
    history.add(kHistoryStart + i * History::kPeriod, step);
  for (std::size_t i = 0; i < History::kSamples / 40; ++i)
    history.add(kHistoryStart + 30 * 24h + i * History::kPeriod, step);
  const std::size_t early = history.bytes();
  EXPECT_LT(early, std::size_t{32} << 20);
}

TEST(HistoryTest, WhatIsOlderThanADayIsReplaced) {
  Series<float> series(1, 480);
  for (std::uint64_t i = 0; i < 1000; ++i) series.add(i, {static_cast<double>(i)});
  EXPECT_EQ(series.at(999, 0), 999.0);
  EXPECT_EQ(series.at(100, 0), std::nullopt);
  const std::size_t bytes = series.bytes();
  for (std::uint64_t i = 1000; i < 5000; ++i) series.add(i, {1.0});
  EXPECT_EQ(series.bytes(), bytes);
}

TEST(SamplerTest, TheClusterIsTheSumOfItsRows) {
  ChangeLog pods, nodes, metrics, quotas;
  nodes.put({"n1", "[1]", {.cpu = 8000, .memory = 100, .batchCpu = 3000}, {}});
  nodes.put({"n2", "[1]", {.cpu = 8000, .memory = 100}, {}});
  metrics.put({"n1", "[1]", {.cpu = 4000, .memory = 50, .batchCpu = 1000}, {}});
  pods.put({"a/1", "[1]", {.cpu = 2000}, {}});
  pods.put({"a/2", "[1]", {.batchCpu = 1500}, {}});
  pods.put({"a/5", "[1]", {.midCpu = 900}, {}});  // of reclaimed resources, as on the page
  pods.put({"a/3", "[1]", {.cpu = 700, .waits = true}, {}});
  pods.put({"a/4", "[1]", {}, {}});  // has ended
  const auto step = sampleOf({&pods, &nodes, &metrics, &quotas});
  EXPECT_EQ(step.cluster[0], 16000.0);  // capacity
  EXPECT_EQ(step.cluster[1], 2000.0);   // requested
  EXPECT_EQ(step.cluster[2], 4000.0);   // used
  EXPECT_EQ(step.cluster[3], 3000.0);   // reclaimed
  EXPECT_EQ(step.cluster[4], 1500.0);   // requested by batch
  EXPECT_EQ(step.cluster[12], 3.0);     // pods
  EXPECT_EQ(step.cluster[13], 1.0);     // pending
  ASSERT_EQ(step.nodes.size(), 2u);
  EXPECT_EQ(step.nodes[0].second[0], 50.0);
  EXPECT_EQ(step.nodes[1].second[0], std::nullopt);  // not measured
}

TEST(SamplerTest, AmountsAtTheLimitOfTheirTypeAddUp) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  ChangeLog pods, nodes, metrics, quotas;
  for (const char* key : {"a/1", "a/2"}) pods.put({key, "[1]", {.cpu = kLargest}, {}});
  const auto step = sampleOf({&pods, &nodes, &metrics, &quotas});
  EXPECT_EQ(step.cluster[1], 2 * static_cast<double>(kLargest));
}

}  // namespace koord::console
