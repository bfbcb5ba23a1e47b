#include "koordlet/metriccache/metric_cache.h"

#include <gmock/gmock.h>

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::Optional;

const WallTime kStart{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

TEST(Aggregate, PercentilesOfOneToTenAreTheLowerNeighbours) {
  const auto result = aggregate({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(result.p50, 5);
  EXPECT_EQ(result.p90, 9);
  EXPECT_EQ(result.p95, 9);
  EXPECT_EQ(result.p99, 9);
  EXPECT_EQ(result.avg, 5.5);
  EXPECT_EQ(result.last, 10);
}

TEST(Aggregate, OneSampleIsEveryPercentile) {
  const auto result = aggregate({3.5});
  EXPECT_EQ(result.p50, 3.5);
  EXPECT_EQ(result.p99, 3.5);
}

TEST(MetricCache, AWindowIncludesBothOfItsEnds) {
  MetricCache cache(1s, {});
  for (int i = 0; i < 10; ++i) cache.append(Metric::NodeCpu, "", kStart + i * 1s, i);
  EXPECT_THAT(cache.last(Metric::NodeCpu, "", kStart + 2s, kStart + 5s), Optional(5));
  EXPECT_THAT(cache.average(Metric::NodeCpu, "", kStart + 2s, kStart + 5s), Optional(3.5));
  EXPECT_EQ(cache.last(Metric::NodeCpu, "", kStart + 10s, kStart + 20s), std::nullopt);
  const auto window = cache.aggregates(Metric::NodeCpu, "", kStart, kStart + 1min);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->span, 9s);
  EXPECT_EQ(window->aggregates.count, 10U);
}

TEST(MetricCache, KeepsNoMoreThanTheHorizon) {
  MetricCache cache(1s, {.subject = 10s});
  for (int i = 0; i < 100; ++i) cache.append(Metric::PodCpu, "p", kStart + i * 1s, i);
  const auto window = cache.aggregates(Metric::PodCpu, "p", kStart, kStart + 100s);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->aggregates.count, 11U);
  EXPECT_EQ(window->span, 10s);
  EXPECT_EQ(window->aggregates.last, 99);
}

TEST(MetricCache, AWiderHorizonKeepsWhatIsThereAndGrows) {
  MetricCache cache(1s, {.subject = 4s});
  for (int i = 0; i < 20; ++i) cache.append(Metric::PodCpu, "p", kStart + i * 1s, i);
  cache.setHorizons({.subject = 9s});
  for (int i = 20; i < 25; ++i) cache.append(Metric::PodCpu, "p", kStart + i * 1s, i);
  const auto window = cache.aggregates(Metric::PodCpu, "p", kStart, kStart + 100s);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->aggregates.count, 10U);
  EXPECT_EQ(window->aggregates.avg, 19.5);  // 15..24
}

TEST(MetricCache, ANarrowerHorizonForgetsTheOldest) {
  MetricCache cache(1s, {.subject = 20s});
  for (int i = 0; i < 15; ++i) cache.append(Metric::PodCpu, "p", kStart + i * 1s, i);
  cache.setHorizons({.subject = 3s});
  cache.append(Metric::PodCpu, "p", kStart + 15s, 15);
  const auto window = cache.aggregates(Metric::PodCpu, "p", kStart, kStart + 100s);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->aggregates.count, 4U);
  EXPECT_EQ(window->aggregates.avg, 13.5);  // 12..15
}

TEST(MetricCache, AClockSetBackDropsTheSamplesThatAreNowInTheFuture) {
  MetricCache cache(1s, {});
  for (int i = 0; i < 10; ++i) cache.append(Metric::NodeCpu, "", kStart + i * 1s, 1);
  cache.append(Metric::NodeCpu, "", kStart + 4s, 7);
  const auto window = cache.aggregates(Metric::NodeCpu, "", kStart, kStart + 1min);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->aggregates.count, 6U);
  EXPECT_EQ(window->aggregates.last, 7);
  cache.append(Metric::NodeCpu, "", kStart - 72h, 9);  // before the epoch: clears all
  EXPECT_THAT(cache.last(Metric::NodeCpu, "", kStart - 73h, kStart), Optional(9));
}

TEST(MetricCache, SeriesOfGoneSubjectsAreDropped) {
  MetricCache cache(1s, {.subject = 10s});
  cache.append(Metric::PodCpu, "gone", kStart, 1);
  cache.append(Metric::PodCpu, "here", kStart + 11s, 1);
  cache.collectGarbage(kStart + 11s);
  EXPECT_EQ(cache.seriesCount(), 1U);
  EXPECT_EQ(cache.last(Metric::PodCpu, "gone", kStart, kStart + 1min), std::nullopt);
}

TEST(MetricCache, TwoHundredFiftyPodsStayWithinTenMebibytes) {
  MetricCache cache(1s, {});
  for (int second = 0; second < 400; ++second)
    for (int i = 0; i < 750; ++i) {
      const std::string subject = "00000000-0000-0000-0000-" + std::to_string(i);
      cache.append(Metric::PodCpu, subject, kStart + second * 1s, 1);
      cache.append(Metric::PodMemory, subject, kStart + second * 1s, 1);
      cache.append(Metric::PodThrottled, subject, kStart + second * 1s, 1);
    }
  EXPECT_LT(cache.memoryBytes(), std::size_t{10} << 20);
}

}  // namespace
}  // namespace koord::koordlet
