#include "koordctl/colocation/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace koord::koordctl::colocation {
namespace {

Parameters steadyLoad() {
  Parameters parameters;
  parameters.nodes = 20;
  parameters.burstsPerDay = 0;
  return parameters;
}

// The usage of all pods as a share of their requests, hour by hour.
std::vector<double> hourlyUse(Workload& load, int hours) {
  double requested = 0;
  for (const ServicePod& pod : load.pods()) requested += pod.cores;
  std::vector<double> use;
  for (int hour = 0; hour < hours; ++hour) {
    double sum = 0;
    for (int part = 1; part <= 60; ++part) {
      load.moveTo(hour * 3600 + part * 60);
      for (std::size_t n = 0; n < load.pods().size(); ++n) sum += load.demand(n) / 60;
    }
    use.push_back(sum / requested);
  }
  return use;
}

double average(const std::vector<double>& values, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t n = from; n < to; ++n) sum += values[n] / static_cast<double>(to - from);
  return sum;
}

TEST(ColocationWorkloadTest, services_request_the_share_and_use_the_mean) {
  const Parameters parameters = steadyLoad();
  double sum = 0;
  constexpr int kSeeds = 8;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Workload load(parameters, Random(static_cast<std::uint64_t>(seed)));
    double requested = 0;
    for (const ServicePod& pod : load.pods()) requested += pod.cores;
    EXPECT_NEAR(requested / (20 * 96), parameters.requestedShare, 0.01);
    sum += average(hourlyUse(load, 24), 0, 24) / kSeeds;
  }
  EXPECT_NEAR(sum, parameters.meanUse, 0.03);
}

TEST(ColocationWorkloadTest, the_day_has_its_peak_in_the_afternoon) {
  Workload load(steadyLoad(), Random(1));
  const auto use = hourlyUse(load, 24);
  const auto peak = std::ranges::max_element(use) - use.begin();
  EXPECT_GE(peak, 12);
  EXPECT_LE(peak, 16);
  EXPECT_GT(*std::ranges::max_element(use), 2 * *std::ranges::min_element(use));
}

TEST(ColocationWorkloadTest, the_weekend_has_less_load) {
  const Parameters parameters = steadyLoad();
  Workload load(parameters, Random(1));
  const auto use = hourlyUse(load, 7 * 24);
  EXPECT_NEAR(average(use, 5 * 24, 7 * 24) / average(use, 0, 5 * 24), 1 - parameters.weekendDip,
              0.02);
}

TEST(ColocationWorkloadTest, a_burst_raises_all_replicas_of_a_service_at_once) {
  Parameters parameters = steadyLoad();
  parameters.noise = 0;
  parameters.burstsPerDay = 20;
  Workload load(parameters, Random(3));
  std::vector<double> before(load.pods().size());
  std::size_t together = 0, alone = 0;
  for (int step = 1; step < 1000; ++step) {
    for (std::size_t n = 0; n < before.size(); ++n) before[n] = load.demand(n);
    load.moveTo(step * 15);
    for (std::size_t n = 1; n < before.size(); ++n) {
      if (load.pods()[n].service != load.pods()[n - 1].service) continue;
      const bool first = load.demand(n - 1) > 1.2 * before[n - 1];
      const bool second = load.demand(n) > 1.2 * before[n];
      (first == second ? together : alone) += first || second;
    }
  }
  EXPECT_GT(together, 20U);
  EXPECT_EQ(alone, 0U);
}

TEST(ColocationWorkloadTest, equal_seeds_yield_equal_loads) {
  Workload one(Parameters{}, Random(7)), other(Parameters{}, Random(7));
  for (int step = 1; step < 100; ++step) {
    one.moveTo(step * 15);
    other.moveTo(step * 15);
  }
  for (std::size_t n = 0; n < one.pods().size(); ++n) EXPECT_EQ(one.demand(n), other.demand(n));
}

}  // namespace
}  // namespace koord::koordctl::colocation
