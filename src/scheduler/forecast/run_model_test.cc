#include "scheduler/forecast/run_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"

namespace koord::scheduler::forecast {
namespace {

RunModel modelOf(const std::vector<double>& ended, const std::vector<double>& running = {}) {
  std::vector<ObservedRun> runs;
  for (const double age : ended) runs.push_back({0, age, true});
  for (const double age : running) runs.push_back({0, age, false});
  return RunModel(runs);
}

// The part of the distribution that ends at this age or before.
double endedBy(const RunModel& model, double elapsed, double age) {
  int ended = 0;
  for (int i = 0; i < 1000; ++i) ended += model.endAt(elapsed, (i + 0.5) / 1000) <= age;
  return ended / 1000.0;
}

TEST(RunModel, the_next_run_falls_into_each_interval_with_equal_probability) {
  const RunModel model = modelOf({100, 200, 300, 400, 500, 600, 700, 800, 900});
  for (int i = 1; i <= 9; ++i) EXPECT_NEAR(endedBy(model, 0, 100.0 * i), 0.1 * i, 0.002) << i;
  EXPECT_EQ(model.shortest(), 100);
  EXPECT_EQ(model.median(), 500);
  EXPECT_EQ(model.longest(), 900);
}

TEST(RunModel, a_run_that_goes_on_counts_only_the_ages_that_it_has_not_reached) {
  const RunModel model = modelOf({100, 200, 300, 400, 500, 600, 700, 800, 900});
  EXPECT_EQ(endedBy(model, 500, 500.0), 0);
  EXPECT_NEAR(endedBy(model, 500, 600), 0.2, 0.002);
  EXPECT_NEAR(endedBy(model, 500, 900), 0.8, 0.002);
}

TEST(RunModel, three_runs_are_known_and_two_are_not) {
  EXPECT_FALSE(modelOf({60, 61}).isKnown());
  EXPECT_TRUE(modelOf({60, 61, 62}).isKnown());
  EXPECT_FALSE(modelOf({}, {60, 61, 62, 63}).isKnown());
}

TEST(RunModel, parallel_runs_that_go_on_show_that_the_first_ends_were_short_ones) {
  const RunModel first = modelOf({100, 110, 120});
  const RunModel all = modelOf({100, 110, 120}, std::vector<double>(97, 130.0));
  EXPECT_GT(endedBy(first, 0, 120), 0.7);
  EXPECT_LT(endedBy(all, 0, 120), 0.04);
}

TEST(RunModel, runs_that_began_before_the_window_count_from_their_age_then) {
  // Long runs of before, of which ages below 900 s are not known to be at risk.
  std::vector<ObservedRun> runs;
  for (int i = 0; i < 20; ++i) runs.push_back({900, 1000.0 + i, true});
  for (int i = 0; i < 10; ++i) runs.push_back({0, 100.0 + i, true});
  EXPECT_NEAR(endedBy(RunModel(runs), 0, 500), 10.0 / 11, 0.005);
}

TEST(RunModel, a_run_beyond_all_others_has_a_wide_tail) {
  const RunModel model = modelOf({100, 100, 100, 100, 101});
  EXPECT_LT(model.endAt(0, 0.99), 150);
  EXPECT_GT(model.endAt(200, 0.9) / model.endAt(200, 0.1), 2);
}

TEST(RunModel, variants_have_the_same_mean_and_differ_less_the_more_runs_are_known) {
  const auto spread = [](int known) {
    std::vector<double> ended;
    for (int i = 1; i <= known; ++i) ended.push_back(100.0 + i);
    const RunModel model = modelOf(ended);
    Random random(3);
    double sum = 0, squares = 0;
    constexpr int kVariants = 400;
    for (int i = 0; i < kVariants; ++i) {
      const double part = endedBy(model.variant(random), 0, 100.0 + known / 2.0);
      sum += part;
      squares += part * part;
    }
    EXPECT_NEAR(sum / kVariants, endedBy(model, 0, 100.0 + known / 2.0), 0.03) << known;
    return std::sqrt(squares / kVariants - (sum / kVariants) * (sum / kVariants));
  };
  EXPECT_GT(spread(4), 0.15);
  EXPECT_LT(spread(64), 0.08);
}

struct Distribution {
  const char* name;
  std::function<double(Random&)> draw;
};

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * M_PI * random.unit());
}

// What the model is for: 80 of 100 runs end between its quantiles 10 % and 90 %, whatever the
// distribution is, and however few runs are known.
TEST(RunModel, eighty_of_a_hundred_runs_end_within_the_bounds) {
  const Distribution table[] = {
      {"uniform", [](Random& r) { return 600 + 1200 * r.unit(); }},
      {"log-normal", [](Random& r) { return 900 * std::exp(0.8 * normal(r)); }},
      {"exponential", [](Random& r) { return 1 - 900 * std::log(1 - r.unit()); }},
      {"two modes",
       [](Random& r) { return r.chance(0.3) ? 7200 + 60 * r.unit() : 300 * (1 + r.unit()); }},
  };
  for (const Distribution& row : table) {
    for (const int known : {3, 5, 10, 30, 64}) {
      Random random(static_cast<std::uint64_t>(known));
      int within = 0, later = 0;
      constexpr int kTries = 4000;
      for (int i = 0; i < kTries; ++i) {
        std::vector<double> ended;
        for (int n = 0; n < known; ++n) ended.push_back(row.draw(random));
        const RunModel model = modelOf(ended);
        const double next = row.draw(random);
        within += next >= model.endAt(0, 0.1) && next <= model.endAt(0, 0.9);
        // The same run after a third of the median.
        const double elapsed = model.median() / 3;
        later += next <= elapsed ||
                 (next >= model.endAt(elapsed, 0.1) && next <= model.endAt(elapsed, 0.9));
      }
      EXPECT_GT(within / double(kTries), 0.74) << row.name << ", " << known << " runs";
      EXPECT_LT(within / double(kTries), 0.9) << row.name << ", " << known << " runs";
      EXPECT_GT(later / double(kTries), 0.74) << row.name << ", " << known << " runs";
    }
  }
}

TEST(RunModel, never_ends_before_now_whatever_it_learned) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<ObservedRun>> hostile = {
      {{0, nan, true}, {nan, 5, true}, {0, 7, true}},
      {{0, inf, true}, {0, -inf, true}, {-5, 5, true}, {0, 0, true}},
      {{100, 1, true}, {5, 5, true}, {7, 7, true}, {9, 9, false}},
      {{0, 0, true}, {0, 0, true}, {0, 0, true}},
      {{0, 1e300, true}, {0, 1e-300, true}, {0, 1, true}},
  };
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    const RunModel model{std::span(hostile[i])};
    if (!model.isKnown()) continue;
    for (const double elapsed : {0.0, 1.0, 4.0, 1e6, 1e12, -3.0}) {
      double last = 0;
      for (const double u : {0.0, 0.1, 0.5, 0.9, 1.0, 7.0}) {
        const double end = model.endAt(elapsed, u);
        EXPECT_TRUE(std::isfinite(end)) << i << " " << elapsed << " " << u;
        EXPECT_GE(end, std::min(elapsed, 3.2e8)) << i << " " << elapsed << " " << u;
        EXPECT_GE(end, last) << i << " " << elapsed << " " << u;
        last = end;
      }
    }
  }
}

}  // namespace
}  // namespace koord::scheduler::forecast
