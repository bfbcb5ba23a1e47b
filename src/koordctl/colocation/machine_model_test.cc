#include "koordctl/colocation/machine_model.h"

#include <gtest/gtest.h>

namespace koord::koordctl::colocation {
namespace {

double meanSlowdown(const Parameters& parameters, const Delays& delays,
                    const Throttling& throttling = {}) {
  Random random(1);
  double sum = 0;
  constexpr int kSamples = 20'000;
  for (int n = 0; n < kSamples; ++n)
    sum += sampleSlowdown(parameters, delays, throttling, random) / kSamples;
  return sum;
}

TEST(ColocationMachineModelTest, erlang_c_has_its_known_values) {
  EXPECT_DOUBLE_EQ(erlangC(1, 0.5), 0.5) << "M/M/1: the utilisation";
  EXPECT_NEAR(erlangC(2, 1), 1.0 / 3, 1e-12);
  EXPECT_EQ(erlangC(4, 0), 0);
  EXPECT_EQ(erlangC(4, 4), 1);
  EXPECT_LT(erlangC(96, 24), 1e-9);
}

TEST(ColocationMachineModelTest, a_request_alone_has_no_delay) {
  const Parameters parameters;
  const Delays delays = delaysOf(parameters, {.cpus = 96, .services = 1});
  EXPECT_NEAR(meanSlowdown(parameters, delays), 1, 1e-9);
}

TEST(ColocationMachineModelTest, more_batch_work_never_shortens_a_delay) {
  const Parameters parameters;
  double before = 1;
  for (double batch = 0; batch <= 76; batch += 4) {
    const Delays delays =
        delaysOf(parameters, {.cpus = 96, .services = 20, .batch = batch, .threads = batch});
    const double now = delays.inflation + delays.batchProbability * delays.batchMs;
    EXPECT_GE(now, before) << batch;
    before = now;
  }
  EXPECT_GT(before, 1.5) << "a full node hurts";
}

TEST(ColocationMachineModelTest, more_services_never_shorten_a_delay) {
  const Parameters parameters;
  double before = 0;
  for (double services = 1; services <= 100; services += 3) {
    const Delays delays = delaysOf(parameters, {.cpus = 96, .services = services});
    const double now = delays.queueProbability * delays.queueMs;
    EXPECT_GE(now, before) << services;
    before = now;
  }
  EXPECT_GT(before, parameters.requestMs);
}

TEST(ColocationMachineModelTest, a_quota_of_batch_disturbs_more_than_a_cpu_set_of_the_same_size) {
  const Parameters parameters;
  Contention now{.cpus = 96, .services = 20, .batch = 20, .threads = 60};
  const double byCpus = delaysOf(parameters, now).batchProbability;
  now.byQuota = true;
  EXPECT_GT(delaysOf(parameters, now).batchProbability, byCpus);
}

TEST(ColocationMachineModelTest, pods_of_equal_weight_are_waited_for_longer) {
  const Parameters parameters;
  const Contention now{.cpus = 96, .services = 20, .batch = 40, .threads = 40};
  Contention equal = now;
  equal.equalWeight = true;
  EXPECT_GT(delaysOf(parameters, equal).batchMs, delaysOf(parameters, now).batchMs);
}

TEST(ColocationMachineModelTest, throttling_begins_as_demand_nears_the_quota) {
  const Parameters parameters;
  EXPECT_EQ(throttlingOf(parameters, 1, 8, 0).share, 0);
  EXPECT_EQ(throttlingOf(parameters, 100, 0, 0).share, 0) << "no limit";
  EXPECT_NEAR(throttlingOf(parameters, 8, 8, 0).share, 0.5, 1e-9);
  EXPECT_GT(throttlingOf(parameters, 12, 8, 0).share, 0.99);
  EXPECT_LT(throttlingOf(parameters, 7, 8, 1).share, throttlingOf(parameters, 7, 8, 0).share)
      << "saved quota";
  EXPECT_GT(throttlingOf(parameters, 12, 8, 0).waitMs, throttlingOf(parameters, 9, 8, 0).waitMs);
}

}  // namespace
}  // namespace koord::koordctl::colocation
