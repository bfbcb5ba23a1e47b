#include "koordctl/tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "koordctl/tune/tunables.h"
#include "koordctl/tune/tune_report.h"

namespace koord::koordctl {
namespace {

using colocation::Arm;
using ::testing::HasSubstr;
using ::testing::Not;

Arm usualArm() {
  Arm arm{.name = "now"};
  arm.colocation.cpuReclaimThresholdPercent = 60;
  arm.colocation.memoryReclaimThresholdPercent = 65;
  arm.node.threshold.cpuSuppressThresholdPercent = 65;
  arm.node.threshold.memoryEvictThresholdPercent = 70;
  arm.node.evictMemory = true;
  return arm;
}

// A cluster whose batch work is what both CPU thresholds allow, and whose services slow down with
// it. Nothing runs.
Effects invented(const Arm& arm) {
  const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
  const auto suppress = static_cast<double>(*arm.node.threshold.cpuSuppressThresholdPercent);
  const double used = std::min(reclaim, suppress - 5);
  return Effects(3, {.batchPercent = used - 20, .cpuPercent = used, .slowdownP99 = used / 50});
}
RunArm always(std::function<Effects(const Arm&)> effects) {
  return [effects = std::move(effects)](const Arm& arm, std::uint64_t, int) -> Result<Effects> {
    return effects(arm);
  };
}
TuneResult tuned(const TuneOptions& options, const RunArm& run, const Arm& base = usualArm()) {
  auto result = tune(base, options, run, [](const TuneStep&) {});
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

TEST(TuneSearchTest, thresholds_rise_together_until_services_slow_down_too_much) {
  const TuneResult result = tuned({.limits = {.slowdownPercent = 20}}, always(invented));
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(result.proposal.colocation.cpuReclaimThresholdPercent, 70) << "75 would be 25 % more";
  EXPECT_EQ(result.proposal.node.threshold.cpuSuppressThresholdPercent, 75);
}

TEST(TuneSearchTest, what_brings_nothing_stays_as_it_is) {
  const TuneResult result = tuned({.limits = {.slowdownPercent = 20}}, always(invented));
  EXPECT_EQ(result.proposal.colocation.memoryReclaimThresholdPercent, 65);
  EXPECT_EQ(result.proposal.node.threshold.memoryEvictThresholdPercent, 70);
  EXPECT_EQ(changeText(result.base, result.proposal),
            "cpuReclaimThresholdPercent 60 -> 70, cpuSuppressThresholdPercent 65 -> 75");
}

TEST(TuneSearchTest, a_side_effect_of_a_joint_step_is_taken_back) {
  // Only the reclaim threshold matters.
  const auto effects = [](const Arm& arm) {
    const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
    return Effects(3, {.batchPercent = std::min(reclaim, 80.0), .slowdownP99 = 1});
  };
  const TuneResult result = tuned({}, always(effects));
  EXPECT_EQ(result.proposal.colocation.cpuReclaimThresholdPercent, 80);
  EXPECT_EQ(result.proposal.node.threshold.cpuSuppressThresholdPercent, 65);
}

TEST(TuneSearchTest, a_threshold_that_is_too_high_comes_down) {
  const auto effects = [](const Arm& arm) {
    const auto evict = static_cast<double>(*arm.node.threshold.memoryEvictThresholdPercent);
    return Effects(3, {.batchPercent = 50 - std::abs(evict - 55), .slowdownP99 = 1});
  };
  EXPECT_EQ(tuned({}, always(effects)).proposal.node.threshold.memoryEvictThresholdPercent, 55);
}

TEST(TuneSearchTest, wasted_work_is_a_limit_unless_it_is_so_already) {
  double now = 0;
  const auto effects = [&now](const Arm& arm) {
    const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
    return Effects(3, {.batchPercent = reclaim,
                       .slowdownP99 = 1,
                       .wastedPercent = reclaim > 60 ? std::max(now, 2.0) : now});
  };
  EXPECT_FALSE(tuned({}, always(effects)).changed);
  now = 3;
  EXPECT_TRUE(tuned({}, always(effects)).changed);
}

TEST(TuneSearchTest, nothing_is_proposed_if_all_is_best_as_it_is) {
  const auto effects = [](const Arm&) {
    return Effects(3, {.batchPercent = 30, .slowdownP99 = 1});
  };
  const TuneResult result = tuned({}, always(effects));
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(changeText(result.base, result.proposal), "");
}

TEST(TuneSearchTest, luck_on_the_seeds_of_the_search_is_not_proposed) {
  // On new seeds 65 is good and more is not.
  const RunArm run = [](const Arm& arm, std::uint64_t first, int) -> Result<Effects> {
    const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
    const bool isNew = first > 1;
    return Effects(3, {.batchPercent = reclaim, .slowdownP99 = isNew && reclaim > 65 ? 2.0 : 1.0});
  };
  const TuneResult result = tuned({}, run);
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(result.proposal.colocation.cpuReclaimThresholdPercent, 65);
}

TEST(TuneSearchTest, the_search_ends_after_so_many_settings_and_tries_none_twice) {
  int runs = 0;
  std::set<std::string> seen;
  const Arm base = usualArm();
  const RunArm run = [&](const Arm& arm, std::uint64_t first, int) -> Result<Effects> {
    if (first != 1) return invented(arm);
    ++runs;
    EXPECT_TRUE(seen.insert(changeText(base, arm)).second);
    return invented(arm);
  };
  tuned({.limits = {.slowdownPercent = 1000}, .maxRuns = 5}, run);
  EXPECT_GE(runs, 6) << "and the settings in force";
  EXPECT_LE(runs, 6 + static_cast<int>(tunables().size())) << "to return what brings nothing";
}

TEST(TuneSearchTest, an_error_of_a_run_ends_the_search) {
  const RunArm run = [](const Arm&, std::uint64_t, int) -> Result<Effects> {
    return fail(ErrorCode::Invalid, "profiles[0]: no such plugin");
  };
  const auto result = tune(usualArm(), {}, run, [](const TuneStep&) {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no such plugin"));
}

TEST(TuneSearchTest, values_stay_within_their_ranges) {
  const auto effects = [](const Arm& arm) {
    double sum = 0;
    for (const Tunable& tunable : tunables()) {
      const auto value = tunable.get(arm);
      if (!value) continue;
      EXPECT_GE(*value, tunable.low) << tunable.name;
      EXPECT_LE(*value, tunable.high) << tunable.name;
      sum += static_cast<double>(*value);
    }
    return Effects(3, {.batchPercent = sum, .slowdownP99 = 1});
  };
  EXPECT_TRUE(tuned({.maxRuns = 1000}, always(effects)).changed);
}

TEST(TuneSearchTest, values_out_of_their_range_move_towards_it) {
  const auto effects = [](const Arm& arm) {
    const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
    return Effects(3, {.batchPercent = 100 - std::abs(reclaim - 60), .slowdownP99 = 1});
  };
  for (const int first : {5, 110}) {
    Arm base = usualArm();
    base.colocation.cpuReclaimThresholdPercent = first;
    EXPECT_EQ(tuned({}, always(effects), base).proposal.colocation.cpuReclaimThresholdPercent, 60)
        << first;
  }
}

TEST(TuneSearchTest, memory_eviction_keeps_its_distance_from_the_lower_threshold) {
  // koordlet does not evict at all with a threshold that is not above the lower one.
  const auto effects = [](const Arm& arm) {
    const auto evict = static_cast<double>(*arm.node.threshold.memoryEvictThresholdPercent);
    return Effects(3, {.batchPercent = 100 - evict, .slowdownP99 = 1});
  };
  Arm base = usualArm();
  base.node.threshold.memoryEvictThresholdPercent = 80;
  base.node.threshold.memoryEvictLowerPercent = 70;
  EXPECT_EQ(tuned({}, always(effects), base).proposal.node.threshold.memoryEvictThresholdPercent,
            75);
}

TEST(TuneSearchTest, what_koordlet_does_not_do_has_no_threshold) {
  const auto effects = [](const Arm& arm) {
    const auto& node = arm.node.threshold;
    return Effects(3, {.batchPercent = static_cast<double>(*node.cpuSuppressThresholdPercent +
                                                           *node.memoryEvictThresholdPercent),
                       .slowdownP99 = 1});
  };
  Arm base = usualArm();
  base.node.suppress = base.node.evictMemory = false;
  EXPECT_FALSE(tuned({}, always(effects), base).changed);
}

TEST(TuneSearchTest, a_gain_that_may_be_chance_is_not_proposed) {
  double spread = 0;
  const RunArm run = [&](const Arm& arm, std::uint64_t, int seeds) -> Result<Effects> {
    const auto reclaim = static_cast<double>(*arm.colocation.cpuReclaimThresholdPercent);
    Effects effects;
    for (int n = 0; n < seeds; ++n)
      effects.push_back(
          {.batchPercent = std::min(reclaim, 65.0) + (reclaim > 60 ? spread * (n % 2 ? 1 : -1) : 0),
           .slowdownP99 = 1});
    return effects;
  };
  EXPECT_TRUE(tuned({.seeds = 4}, run).changed);
  spread = 8;
  EXPECT_FALSE(tuned({.seeds = 4}, run).changed) << "5 +- 9";
}

// --- The patch.

TuneResult proposal() {
  TuneResult result{.base = usualArm(), .proposal = usualArm(), .changed = true};
  result.proposal.colocation.cpuReclaimThresholdPercent = 70;
  result.proposal.node.threshold.cpuSuppressThresholdPercent = 75;
  return result;
}

TEST(TunePatchTest, other_fields_of_the_sections_stay) {
  const api::StringMap config{
      {"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":60,"nodeConfigs":[1]})"},
      {"resource-threshold-config", R"({"clusterStrategy":{"enable":true},"nodeStrategies":[2]})"},
      {"cpu-burst-config", "{}"}};
  const json::object patch = configPatch(proposal(), config, true);
  EXPECT_EQ(toJson(patch),
            R"({"data":{"colocation-config":"{\"enable\":true,\"cpuReclaimThresholdPercent\":70,)"
            R"(\"nodeConfigs\":[1]}","resource-threshold-config":"{\"clusterStrategy\":)"
            R"({\"enable\":true,\"cpuSuppressThresholdPercent\":75},\"nodeStrategies\":[2]}"}})");
}

TEST(TunePatchTest, the_text_of_other_values_stays) {
  const char* const text =
      "{\n  \"resourceDiffThreshold\": 0.10,\n  \"cpuReclaimThresholdPercent\" : 60,\n"
      "  \"note\": \"\\u00e9 {\\\"cpuReclaimThresholdPercent\\\": 1}\",\n"
      "  \"nodeConfigs\": [{\"cpuReclaimThresholdPercent\": 50}]\n}\n";
  std::string expected = text;
  expected.replace(expected.find(": 60"), 4, ": 70");
  const json::object patch = configPatch(proposal(), {{"colocation-config", text}}, true);
  EXPECT_EQ(textAt(patch.at("data"), "colocation-config"), expected);
}

TEST(TunePatchTest, missing_sections_are_created_and_co_location_is_enabled) {
  const json::object patch = configPatch(proposal(), {}, false);
  EXPECT_EQ(toJson(patch),
            R"({"data":{"colocation-config":"{\"cpuReclaimThresholdPercent\":70,\"enable\":true}",)"
            R"("resource-threshold-config":"{\"clusterStrategy\":)"
            R"({\"cpuSuppressThresholdPercent\":75}}"}})");
}

TEST(TunePatchTest, without_a_change_there_is_no_patch) {
  EXPECT_TRUE(configPatch({.base = usualArm(), .proposal = usualArm()}, {}, true).empty());
}

TEST(TuneReportTest, that_the_patch_enables_co_location_is_said) {
  const TunedSite site;
  TuneSubject subject{.site = &site, .services = {}};
  EXPECT_THAT(tuneText(proposal(), subject), Not(HasSubstr("the patch enables it")));
  subject.colocates = false;
  EXPECT_THAT(tuneText(proposal(), subject), HasSubstr("the patch enables it"));
}

}  // namespace
}  // namespace koord::koordctl
