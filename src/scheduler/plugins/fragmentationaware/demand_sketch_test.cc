#include "scheduler/plugins/fragmentationaware/demand_sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;

void observe(DemandSketch& sketch, const std::string& key, int times, int gpus = 1) {
  for (int i = 0; i < times; ++i)
    sketch.observe(key, {.cpu = 1, .memory = 1, .gpus = {gpus, 1000, 0}}, nullptr);
}

std::vector<std::string> keys(const DemandSketch& sketch, bool withGpus, std::size_t limit = 100) {
  std::vector<std::string> all;
  for (const auto& each : sketch.frequent(withGpus, limit))
    all.push_back(fmt::format("{} {}", each.key, each.count));
  return all;
}

TEST(DemandSketch, the_most_frequent_classes_come_first) {
  DemandSketch sketch;
  observe(sketch, "rare", 4);
  observe(sketch, "often", 10);
  observe(sketch, "plain", 7, 0);
  EXPECT_THAT(keys(sketch, true), ElementsAre("often 10", "rare 4"));
  EXPECT_THAT(keys(sketch, false), ElementsAre("plain 7"));
  EXPECT_THAT(keys(sketch, true, 1), ElementsAre("often 10"));
}

TEST(DemandSketch, classes_beyond_95_percent_of_the_pods_are_left_out) {
  DemandSketch sketch;
  observe(sketch, "often", 97);
  observe(sketch, "rare", 3);
  EXPECT_THAT(keys(sketch, true), ElementsAre("often 97"));
}

TEST(DemandSketch, a_full_sketch_replaces_its_rarest_class) {
  DemandSketch sketch;
  observe(sketch, "often", 50);
  for (std::size_t n = 0; n < 2 * DemandSketch::kClasses; ++n)
    observe(sketch, fmt::format("unique {}", n), 1);
  EXPECT_EQ(sketch.size(), DemandSketch::kClasses);
  EXPECT_EQ(sketch.frequent(true, 1).front().key, "often");
}

TEST(DemandSketch, demand_of_long_ago_fades) {
  DemandSketch sketch;
  observe(sketch, "old", static_cast<int>(DemandSketch::kDecayAt));
  EXPECT_THAT(keys(sketch, true), ElementsAre(fmt::format("old {}", DemandSketch::kDecayAt / 2)));
  observe(sketch, "new", 2 * static_cast<int>(DemandSketch::kDecayAt));
  EXPECT_EQ(sketch.frequent(true, 1).front().key, "new");
}

TEST(DemandSketch, the_distance_is_the_share_of_pods_that_ask_for_something_else) {
  DemandSketch a, b;
  observe(a, "one", 30);
  observe(a, "two", 10);
  observe(b, "one", 5);
  observe(b, "three", 5);
  const auto of = [](const DemandSketch& sketch) { return sketch.frequent(true, 10); };
  EXPECT_EQ(DemandSketch::distance(of(a), of(a)), 0);
  EXPECT_EQ(DemandSketch::distance(of(a), of(b)), 500);
  EXPECT_EQ(DemandSketch::distance(of(a), {}), 500) << "all of it appeared: half of the sum";
  EXPECT_EQ(DemandSketch::distance({}, {}), 0);
}

}  // namespace
}  // namespace koord::scheduler
