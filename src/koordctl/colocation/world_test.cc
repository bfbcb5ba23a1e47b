#include "koordctl/colocation/world.h"

#include <gtest/gtest.h>

#include <memory>

namespace koord::koordctl::colocation {
namespace {

// A small cluster for two hours.
Parameters smallWorld() {
  Parameters parameters;
  parameters.nodes = 4;
  parameters.cores = 32;
  parameters.memoryGib = 128;
  parameters.backlog = 6;
  return parameters;
}
constexpr double kTwoHours = 2.0 / 24;

Arm colocationArm(const char* name) {
  for (const auto& arms : {comparedArms(), ablationArms()})
    for (const Arm& arm : arms)
      if (arm.name == name) return arm;
  ADD_FAILURE() << "no arm " << name;
  return {};
}

Outcome colocationRun(const Parameters& parameters, const char* arm, std::uint64_t seed = 1) {
  auto outcome =
      runWorld(generatedSite(parameters), parameters, colocationArm(arm), kTwoHours, seed);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return *std::move(outcome);
}

TEST(ColocationWorldTest, a_seed_decides_the_whole_run) {
  const Outcome first = colocationRun(smallWorld(), "recommended");
  const Outcome again = colocationRun(smallWorld(), "recommended");
  EXPECT_EQ(first.cpuMean, again.cpuMean);
  EXPECT_EQ(first.usefulCoreHours, again.usefulCoreHours);
  EXPECT_EQ(first.finished, again.finished);
  EXPECT_EQ(first.slowdownP99, again.slowdownP99);
  EXPECT_NE(first.cpuMean, colocationRun(smallWorld(), "recommended", 2).cpuMean);
}

TEST(ColocationWorldTest, without_jobs_only_services_use_cpus) {
  const Outcome outcome = colocationRun(smallWorld(), "services");
  EXPECT_EQ(outcome.usefulCoreHours, 0);
  EXPECT_EQ(outcome.finished + outcome.evictions, 0);
  EXPECT_EQ(outcome.unplaced, 0);
  for (const Moment& moment : outcome.moments) {
    EXPECT_EQ(moment.offered, 0);
    EXPECT_NEAR(moment.cpuUsed, moment.servicesUsed + 1.0 / 32, 0.01) << "and the system's core";
  }
}

TEST(ColocationWorldTest, overcommit_does_more_work_than_requests_allow) {
  const Outcome requests = colocationRun(smallWorld(), "kubernetes");
  const Outcome overcommit = colocationRun(smallWorld(), "upstream");
  EXPECT_GT(requests.usefulCoreHours, 0);
  EXPECT_GT(overcommit.usefulCoreHours, 1.5 * requests.usefulCoreHours);
  EXPECT_LT(overcommit.cpuMean, 0.65) << "the threshold of CPU suppress";
}

TEST(ColocationWorldTest, without_cpu_suppress_jobs_fill_what_a_burst_needs) {
  Parameters parameters = smallWorld();
  parameters.burstsPerDay = 100;
  parameters.burstHeight = 3;
  const Outcome with = colocationRun(parameters, "recommended");
  const Outcome without = colocationRun(parameters, "recommended, no CPU suppress");
  EXPECT_LT(with.cpuP99, without.cpuP99);
}

TEST(ColocationWorldTest, starved_jobs_are_killed_and_their_work_is_wasted) {
  Parameters parameters = smallWorld();
  parameters.burstsPerDay = 200;
  parameters.burstMinutes = 20;
  parameters.burstHeight = 4;
  const Outcome outcome = colocationRun(parameters, "recommended");
  EXPECT_GT(outcome.evictions, 0);
  EXPECT_GT(outcome.wastedCoreHours, 0);
  EXPECT_EQ(colocationRun(parameters, "upstream").evictions, 0) << "no thresholds are shipped";
}

TEST(ColocationWorldTest, jobs_that_wait_for_mid_resources_do_not_keep_batch_jobs_waiting) {
  Parameters parameters = smallWorld();
  parameters.jobMemoryPerCore = 5;  // there is little mid memory
  EXPECT_GT(colocationRun(parameters, "recommended").usefulCoreHours,
            0.8 * colocationRun(parameters, "recommended, no prediction").usefulCoreHours);
}

TEST(ColocationWorldTest, all_jobs_may_be_long_or_none) {
  Parameters parameters = smallWorld();
  for (const double limit : {5, 600}) {
    parameters.longJobMinutes = limit;
    EXPECT_GT(colocationRun(parameters, "recommended").usefulCoreHours, 0) << limit;
  }
}

TEST(ColocationWorldTest, the_cpus_used_are_those_of_the_work_done) {
  Parameters parameters = smallWorld();
  parameters.requestedShare = 0;
  for (const char* arm : {"kubernetes", "recommended"}) {
    const Outcome outcome = colocationRun(parameters, arm);
    EXPECT_GT(outcome.usefulCoreHours, 0);
    const double hours = 2 * parameters.nodes;
    EXPECT_NEAR(outcome.cpuMean * parameters.cores * hours,
                outcome.usefulCoreHours + outcome.wastedCoreHours + parameters.systemCores * hours,
                1e-6)
        << arm;
  }
}

TEST(ColocationWorldTest, services_that_fit_on_no_node_are_counted) {
  Parameters parameters = smallWorld();
  parameters.serviceMemoryPerCore = 8;
  EXPECT_GT(colocationRun(parameters, "services").unplaced, 0);
}

TEST(ColocationWorldTest, a_full_memory_kills_jobs) {
  Parameters parameters = smallWorld();
  parameters.memorySwing = 0.6;
  parameters.jobMemoryPerCore = 6;
  parameters.jobMemoryUse = 1;
  auto arm = colocationArm("upstream");
  const auto with = runWorld(generatedSite(parameters), parameters, arm, 0.75, 1);
  arm.node.evictMemory = false;
  const auto without = runWorld(generatedSite(parameters), parameters, arm, 0.75, 1);
  EXPECT_GT(with->evictions, 0);
  EXPECT_EQ(without->evictions, 0);
}

TEST(ColocationWorldTest, cpu_burst_spares_services_that_reach_their_limits) {
  Parameters parameters = smallWorld();
  parameters.requestedShare = 0.4;  // CPU burst gives nothing where services use half of the node
  parameters.meanUse = 0.3;
  parameters.dailySwing = 0;
  parameters.burstsPerDay = 20;
  parameters.burstHeight = 3;
  double with = 0, without = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    with += colocationRun(parameters, "recommended", seed).slowdownMean;
    without += colocationRun(parameters, "recommended, no CPU burst", seed).slowdownMean;
  }
  EXPECT_LT(1.3 * with, without);
}

// Pods that use the same at all times, on the node of a study.
class ConstantLoad final : public Load {
 public:
  ConstantLoad(std::vector<ServicePod> pods, double used) : pods_(std::move(pods)), used_(used) {}
  const std::vector<ServicePod>& pods() const override { return pods_; }
  void moveTo(double) override {}
  double demand(std::size_t) const override { return used_; }
  double memory(std::size_t) const override { return 1; }

 private:
  std::vector<ServicePod> pods_;
  double used_;
};
Outcome runBound(const std::vector<ServicePod>& pods, double used) {
  static const Parameters kParameters = smallWorld();
  Site site{.nodes = {nodeSizeOf(kParameters, "node")}, .load = {}, .jobs = {{2, 4}}};
  site.load = [&](Random) { return std::make_unique<ConstantLoad>(pods, used); };
  auto outcome = runWorld(site, kParameters, colocationArm("upstream"), kTwoHours, 1);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return *std::move(outcome);
}
double lastOffer(const Outcome& outcome) {
  return outcome.moments.empty() ? -1 : outcome.moments.back().offered;
}

TEST(ColocationWorldTest, what_an_exclusive_pod_does_not_use_is_not_offered) {
  ServicePod pod{.cores = 16, .memoryGib = 16, .node = "node", .qos = "LS"};
  EXPECT_NEAR(lastOffer(runBound({pod}, 1)), (32 * 0.6 - 1 - 1) / 32, 0.02);
  pod.qos = "LSR";
  EXPECT_NEAR(lastOffer(runBound({pod}, 1)), (32 * 0.6 - 1 - 1) / 32, 0.02);
  pod.qos = "LSE";
  EXPECT_NEAR(lastOffer(runBound({pod}, 1)), (32 * 0.6 - 16 - 1) / 32, 0.02);
}

TEST(ColocationWorldTest, batch_pods_do_not_run_on_cpus_of_an_exclusive_pod) {
  const ServicePod pod{.cores = 28, .memoryGib = 16, .node = "node", .qos = "LSE"};
  EXPECT_LE(runBound({pod}, 0.1).cpuP99 * 32, 4 + 1.1 + 0.5);
}

TEST(ColocationWorldTest, pods_on_an_overcommitted_node_stay) {
  const ServicePod pod{.cores = 16, .memoryGib = 64, .node = "node"};
  const Outcome outcome = runBound({pod, pod, pod, pod}, 1);
  EXPECT_EQ(outcome.unplaced, 0);
  EXPECT_EQ(outcome.preemptions, 0);
  EXPECT_NEAR(lastOffer(outcome), (32 * 0.6 - 4 - 1) / 32, 0.02) << "by usage";
}

}  // namespace
}  // namespace koord::koordctl::colocation
