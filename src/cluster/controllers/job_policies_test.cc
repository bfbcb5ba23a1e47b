#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/job_pods.h"
#include "cluster/controllers/job_tally.h"

namespace koord::cluster {
namespace {

using ::testing::ElementsAre;

class JobPoliciesTest : public ControllersTest {
 protected:
  void createJob(const std::string& spec) {
    cluster.create(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  completionMode: "
        "Indexed\n" +
        spec + "  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n");
  }
  api::Job job() { return *cluster.get<api::Job>("j"); }
  // The active pod of an index; "" if there is none.
  std::string podOf(int index) {
    for (const auto& pod : activePods())
      if (completionIndex(pod) == index) return pod.metadata.name;
    return "";
  }
  bool untilPod(int index, Duration limit = 15min) {
    return cluster.until([&] { return !podOf(index).empty(); }, limit);
  }
  void succeed(int index) {
    cluster.patch<api::Pod>(podOf(index), "status: {phase: Succeeded}", "status");
    cluster.loop.advance(1s);
  }
  void fail(int index, int exitCode = 1) {
    const auto now = formatTime(cluster.loop.wallNow());
    cluster.patch<api::Pod>(
        podOf(index),
        "status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: " +
            std::to_string(exitCode) + ", finishedAt: '" + now + "'}}}]}",
        "status");
    cluster.loop.advance(1s);
  }
  // "Type Reason" of each condition that is True.
  std::vector<std::string> conditions() {
    std::vector<std::string> result;
    for (const auto& condition : job().status.conditions)
      if (condition.status == "True") result.push_back(condition.type + " " + condition.reason);
    return result;
  }
};

TEST_F(JobPoliciesTest, EachIndexHasABackoffLimitOfItsOwn) {
  createJob("  completions: 3\n  parallelism: 3\n  backoffLimitPerIndex: 1\n");
  ASSERT_TRUE(untilPods(3));
  EXPECT_EQ(job().status.failedIndexes, "");
  const auto failures = [&](int index) {
    return indexFailures(*cluster.get<api::Pod>(podOf(index)), kIndexFailures);
  };
  EXPECT_EQ(failures(1), 0);
  fail(1);
  EXPECT_EQ(podOf(1), "");  // the back-off of the index
  EXPECT_NE(podOf(0), "");
  ASSERT_TRUE(untilPod(1));
  EXPECT_EQ(failures(1), 1);
  fail(1);
  cluster.loop.advance(20min);
  EXPECT_EQ(podOf(1), "");
  EXPECT_EQ(job().status.failedIndexes, "1");
  EXPECT_EQ(job().status.failed, 2);
  EXPECT_TRUE(conditions().empty());  // the others continue
  succeed(0);
  succeed(2);
  EXPECT_THAT(conditions(), ElementsAre("FailureTarget FailedIndexes", "Failed FailedIndexes"));
  EXPECT_EQ(job().status.completedIndexes, "0,2");
  for (const auto& pod : cluster.list<api::Pod>()) EXPECT_TRUE(pod.metadata.finalizers.empty());
}

TEST_F(JobPoliciesTest, TooManyFailedIndexesEndTheJob) {
  createJob(
      "  completions: 4\n  parallelism: 4\n  backoffLimitPerIndex: 0\n  maxFailedIndexes: 1\n");
  ASSERT_TRUE(untilPods(4));
  fail(0);
  EXPECT_TRUE(conditions().empty());
  fail(1);
  EXPECT_THAT(conditions(), ElementsAre("FailureTarget MaxFailedIndexesExceeded",
                                        "Failed MaxFailedIndexesExceeded"));
  EXPECT_TRUE(activePods().empty());
  EXPECT_EQ(job().status.failedIndexes, "0,1");
}

TEST_F(JobPoliciesTest, FailIndexGivesAnIndexUpAtOnceAndIgnoreDoesNotCount) {
  createJob(
      "  completions: 2\n  parallelism: 2\n  backoffLimitPerIndex: 1\n  podFailurePolicy: {rules: "
      "[{action: FailIndex, onExitCodes: {operator: In, values: [42]}}, {action: Ignore, "
      "onExitCodes: {operator: In, values: [7]}}]}\n");
  ASSERT_TRUE(untilPods(2));
  fail(0, 42);
  EXPECT_EQ(job().status.failedIndexes, "0");
  for (int i = 0; i < 3; ++i) {
    fail(1, 7);
    ASSERT_TRUE(untilPod(1)) << i;
  }
  const auto pod = *cluster.get<api::Pod>(podOf(1));
  EXPECT_EQ(indexFailures(pod, kIndexFailures), 0);
  EXPECT_EQ(indexFailures(pod, kIgnoredIndexFailures), 3);
  EXPECT_EQ(job().status.failed, 1);
}

TEST_F(JobPoliciesTest, ASuccessPolicyEndsTheJobBeforeAllHaveSucceeded) {
  createJob(
      "  completions: 3\n  parallelism: 3\n  successPolicy: {rules: [{succeededIndexes: '0'}]}\n");
  ASSERT_TRUE(untilPods(3));
  succeed(1);
  EXPECT_TRUE(conditions().empty());
  succeed(0);
  EXPECT_THAT(conditions(),
              ElementsAre("SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"));
  EXPECT_EQ(job().status.conditions.back().message, "Matched rules at index 0");
  EXPECT_EQ(job().status.failed, 0);
  EXPECT_TRUE(activePods().empty());
}

TEST_F(JobPoliciesTest, APodThatIsBeingDeletedIsReplacedAtOnceOrWhenItHasEnded) {
  for (const bool waits : {false, true}) {
    createJob("  completions: 1\n  podReplacementPolicy: " +
              std::string(waits ? "Failed" : "TerminatingOrFailed") + "\n");
    ASSERT_TRUE(untilPod(0));
    const auto first = podOf(0);
    cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n-" + std::to_string(waits) + "}");
    const auto uid = cluster.get<api::Pod>(first)->metadata.uid;
    ASSERT_TRUE(cluster.run(
        kube::bindPod(cluster.api, {"default", first}, uid, "n-" + std::to_string(waits))));
    cluster.remove<api::Pod>(first);
    cluster.loop.advance(20s);
    EXPECT_EQ(podOf(0).empty(), waits);
    if (waits) {
      EXPECT_EQ(job().status.terminating, 1);
      EXPECT_EQ(job().status.failed, 0);
      cluster.patch<api::Pod>(first, "status: {phase: Failed}", "status");
      EXPECT_TRUE(untilPod(0));
      EXPECT_EQ(job().status.failed, 1);
    }
    cluster.remove<api::Job>("j");
    ASSERT_TRUE(untilPods(0));
  }
}

TEST_F(JobPoliciesTest, AJobHasFailedWhenItsLastPodIsGone) {
  createJob("  completions: 2\n  parallelism: 2\n  activeDeadlineSeconds: 60\n");
  ASSERT_TRUE(untilPods(2));
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}");
  const auto pod = *cluster.get<api::Pod>(podOf(0));
  ASSERT_TRUE(cluster.run(
      kube::bindPod(cluster.api, api::keyOf(pod.metadata), pod.metadata.uid, "node-1")));
  cluster.loop.advance(62s);
  EXPECT_THAT(conditions(), ElementsAre("FailureTarget DeadlineExceeded"));
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>(pod.metadata.name, now);
  cluster.loop.advance(1s);
  EXPECT_THAT(conditions(),
              ElementsAre("FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"));
  EXPECT_EQ(job().status.failed, 2);
}

TEST(JobTallyTest, FailuresInARowBeginAnewAfterASuccess) {
  const WallTime now = *parseTime("2026-01-01T00:00:00Z");
  const auto podOf = [&](const char* phase, Duration at) {
    api::Pod pod;
    pod.metadata.creationTimestamp = now + at;
    pod.status.phase = phase;
    return std::make_shared<const api::Pod>(std::move(pod));
  };
  const api::Job job;
  auto tally = tallyPods(job, {podOf("Failed", 1s), podOf("Failed", 2s)});
  EXPECT_EQ(tally.consecutiveFailures, 2);
  EXPECT_EQ(tally.lastFailure, now + 2s);
  tally = tallyPods(job, {podOf("Failed", 1s), podOf("Succeeded", 2s), podOf("Failed", 3s)});
  EXPECT_EQ(tally.consecutiveFailures, 1);
  EXPECT_EQ(tallyPods(job, {podOf("Failed", 1s), podOf("Succeeded", 2s)}).consecutiveFailures, 0);
}

TEST(FinishTimeTest, IsThatOfTheLastContainerOrOfWhateverIsKnown) {
  const WallTime now = *parseTime("2026-01-01T00:00:00Z");
  api::Pod pod;
  pod.metadata.creationTimestamp = now;
  EXPECT_EQ(finishTime(pod), now);
  pod.metadata.deletionTimestamp = now + 40s;
  pod.metadata.deletionGracePeriodSeconds = 30;
  EXPECT_EQ(finishTime(pod), now + 10s);
  api::PodCondition condition;
  condition.type = "Ready";
  condition.status = "False";
  condition.lastTransitionTime = now + 5s;
  pod.status.conditions.push_back(condition);
  EXPECT_EQ(finishTime(pod), now + 5s);
  api::ContainerStatus ended;
  ended.state.terminated.emplace();
  ended.state.terminated->finishedAt = now + 3s;
  pod.status.containerStatuses.push_back(ended);
  EXPECT_EQ(finishTime(pod), now + 3s);
  pod.status.containerStatuses.push_back(api::ContainerStatus{});  // its end is unknown
  EXPECT_EQ(finishTime(pod), now + 5s);
}

TEST(SuccessPolicyTest, NeedsSomeOfTheIndexesOrACountOfThem) {
  api::JobSpec spec;
  spec.completions = 5;
  EXPECT_FALSE(metSuccessPolicy(spec, {0, 1, 2, 3, 4}));
  spec.successPolicy.emplace();
  auto& rules = spec.successPolicy->rules;
  rules.push_back({"1-3", 2});
  EXPECT_FALSE(metSuccessPolicy(spec, {0, 1, 4}));
  EXPECT_EQ(metSuccessPolicy(spec, {1, 3}), "Matched rules at index 0");
  rules = {{"2,9", std::nullopt}, {std::nullopt, 4}};  // 9 is beyond the completions
  EXPECT_EQ(metSuccessPolicy(spec, {2}), "Matched rules at index 0");
  EXPECT_EQ(metSuccessPolicy(spec, {0, 1, 3, 4}), "Matched rules at index 1");
  EXPECT_FALSE(metSuccessPolicy(spec, {0, 1, 3}));
}

}  // namespace
}  // namespace koord::cluster
