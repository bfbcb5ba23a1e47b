#include "scheduler/forecast/workload.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace koord::scheduler::forecast {
namespace {

using testing::aPod;

TEST(ForecastWorkload, drops_what_is_generated_from_names) {
  const struct {
    const char* name;
    const char* stable;
  } table[] = {
      {"train", "train"},
      {"nightly-28912345", "nightly"},
      {"train-17", "train"},
      {"train-x7k2p", "train"},
      {"train-words", "train-words"},
      {"train-2-x7k2p", "train-2"},
      {"train-x7k2", "train-x7k2"},
      {"-17", "-17"},
      {"17", "17"},
      {"train-", "train-"},
      {"", ""},
  };
  for (const auto& row : table) EXPECT_EQ(stableName(row.name), row.stable) << row.name;
}

testing::PodBuilder batchPod(const char* name, const char* policy = "Never") {
  auto pod = aPod(name, "team-a");
  pod.object().spec.restartPolicy = policy;
  return pod;
}

TEST(ForecastWorkload, is_the_controller_else_the_gang_else_the_pod) {
  auto pod = batchPod("worker-3");
  EXPECT_EQ(workloadOf(*pod.build())->text(), "Pod team-a/worker");
  pod.label("pod-group.scheduling.sigs.k8s.io", "big-8");
  EXPECT_EQ(gangOf(*pod.build()), "big-8");
  EXPECT_EQ(workloadOf(*pod.build())->text(), "PodGroup team-a/big");
  api::OwnerReference owner;
  owner.kind = "Job";
  owner.name = "nightly-28912345";
  pod.object().metadata.ownerReferences.push_back(owner);
  EXPECT_EQ(workloadOf(*pod.build())->kind, "PodGroup") << "an owner that is no controller";
  pod.object().metadata.ownerReferences[0].controller = true;
  EXPECT_EQ(workloadOf(*pod.build())->text(), "Job team-a/nightly");
}

TEST(ForecastWorkload, pods_that_are_always_restarted_do_not_end) {
  for (const char* policy : {"Always", "", "Sometimes"})
    EXPECT_FALSE(workloadOf(*batchPod("web", policy).build())) << policy;
  EXPECT_TRUE(workloadOf(*batchPod("web", "OnFailure").build()));
}

}  // namespace
}  // namespace koord::scheduler::forecast
