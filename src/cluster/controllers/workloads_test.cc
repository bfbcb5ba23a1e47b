// Details of Jobs, CronJobs, StatefulSets, DaemonSets, rollouts and disruption budgets.

#include <gmock/gmock.h>

#include "api/core.h"
#include "base/time.h"
#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/cron_job.h"
#include "cluster/controllers/job_pods.h"

namespace koord::cluster {
namespace {

using ::testing::HasSubstr;

std::string withSpec(const char* head, const std::string& spec) {
  return std::string(head) + spec;
}

class WorkloadsTest : public ControllersTest {
 protected:
  std::string cron(const std::string& more, const std::string& podSpec = "restartPolicy: Never") {
    return withSpec(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: '*/5 * * * "
        "*'\n",
        more + "  jobTemplate: {metadata: {labels: {a: b}}, spec: {template: {spec: {" + podSpec +
            ", containers: [{name: c, image: i}]}}}}\n");
  }
  std::string job(const std::string& more) {
    return withSpec(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n",
        more + "  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n");
  }
  std::vector<api::Job> jobs() { return cluster.list<api::Job>(); }
  bool hasEvent(const std::string& reason) {
    cluster.loop.advance(1s);
    const auto events = cluster.list<api::Event>();
    return std::ranges::any_of(events, [&](const auto& event) { return event.reason == reason; });
  }
  std::string jobCondition(const std::string& type, const std::string& name = "j") {
    const auto job = cluster.get<api::Job>(name);
    if (job)
      for (const auto& condition : job->status.conditions)
        if (condition.type == type) return condition.status + " " + condition.reason;
    return "";
  }
  void fail(const std::string& pod, int exitCode) {
    cluster.patch<api::Pod>(
        pod,
        "status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: " +
            std::to_string(exitCode) + "}}}]}",
        "status");
    cluster.loop.advance(1s);
  }
};

TEST_F(WorkloadsTest, ACronJobStartsAJobAtEachOfItsTimes) {
  cluster.create(cron("  successfulJobsHistoryLimit: 1\n"));
  cluster.loop.advance(5min);
  ASSERT_EQ(jobs().size(), 1u);
  const auto first = jobs()[0];
  EXPECT_EQ(first.metadata.name, "c-29453765");  // minutes since 1970 of 2026-01-01T00:05Z
  EXPECT_EQ(first.metadata.labels.at("a"), "b");
  EXPECT_EQ(first.metadata.annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp"),
            "2026-01-01T00:05:00+00:00");
  EXPECT_EQ(cluster.get<api::CronJob>("c")->status.active.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    setPhase("Succeeded");
    cluster.loop.advance(5min);
  }
  const auto now = cluster.get<api::CronJob>("c");
  EXPECT_EQ(now->status.active.size(), 1u);
  EXPECT_EQ(jobs().size(), 2u);  // a running one, and one of the history
  EXPECT_TRUE(now->status.lastSuccessfulTime);
  EXPECT_TRUE(hasEvent("SawCompletedJob"));
}

TEST_F(WorkloadsTest, ConcurrencyPoliciesDecideAboutJobsThatStillRun) {
  cluster.create(cron("  concurrencyPolicy: Forbid\n"));
  cluster.loop.advance(11min);
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_TRUE(hasEvent("JobAlreadyActive"));
  const auto first = jobs()[0].metadata.name;
  cluster.patch<api::CronJob>("c", "spec: {concurrencyPolicy: Replace}");
  cluster.loop.advance(5min);
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_NE(jobs()[0].metadata.name, first);
  cluster.patch<api::CronJob>("c", "spec: {concurrencyPolicy: Allow}");
  cluster.loop.advance(5min);
  EXPECT_EQ(jobs().size(), 2u);
}

TEST_F(WorkloadsTest, ASuspendedOrMisnamedScheduleStartsNothing) {
  cluster.create(cron("  suspend: true\n"));
  cluster.loop.advance(11min);
  EXPECT_TRUE(jobs().empty());
  cluster.patch<api::CronJob>("c", "spec: {suspend: false, timeZone: Mars/Olympus}");
  cluster.loop.advance(11min);
  EXPECT_TRUE(jobs().empty());
  EXPECT_TRUE(hasEvent("UnknownTimeZone"));
}

TEST(MissedTimesTest, TheLatestCountsAndADeadlineForgetsTheOthers) {
  const auto schedule = CronSchedule::parse("*/5 * * * *");
  api::CronJob cronJob;
  const WallTime start = *parseTime("2026-01-01T00:00:00Z");
  cronJob.metadata.creationTimestamp = start;
  EXPECT_EQ(missedTimes(*schedule, cronJob, start + 4min).count, 0);
  const auto three = missedTimes(*schedule, cronJob, start + 16min);
  EXPECT_EQ(three.count, 3);
  EXPECT_EQ(three.latest, start + 15min);
  const auto many = missedTimes(*schedule, cronJob, start + 24h * 365 + 1min);
  EXPECT_EQ(many.count, 101);
  EXPECT_EQ(many.latest, start + 24h * 365);
  cronJob.spec.startingDeadlineSeconds = 30;
  EXPECT_FALSE(missedTimes(*schedule, cronJob, start + 16min).latest);
}

TEST_F(WorkloadsTest, AnIndexedJobRunsEachIndexOnce) {
  cluster.create(job("  completions: 3\n  parallelism: 2\n  completionMode: Indexed\n"));
  ASSERT_TRUE(untilPods(2));
  for (const auto& pod : activePods()) {
    const int index = completionIndex(pod);
    EXPECT_TRUE(pod.metadata.name.starts_with("j-" + std::to_string(index) + "-"))
        << pod.metadata.name;
  }
  const auto failing = activePods()[0];
  fail(failing.metadata.name, 1);
  ASSERT_TRUE(cluster.until([&] { return activePods().size() == 2; }, 5min));
  std::set<int> running;
  for (const auto& pod : activePods()) running.insert(completionIndex(pod));
  EXPECT_EQ(running, (std::set<int>{0, 1}));
  for (int i = 0; i < 3; ++i) setPhase("Succeeded");
  const auto done = cluster.get<api::Job>("j");
  EXPECT_EQ(done->status.completedIndexes, "0-2");
  EXPECT_EQ(done->status.succeeded, 3);
  EXPECT_EQ(jobCondition("Complete"), "True CompletionsReached");
}

TEST_F(WorkloadsTest, APodFailurePolicyEndsAJobOrForgivesAPod) {
  cluster.create(
      job("  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
          "[{type: DisruptionTarget, "
          "status: 'True'}]}, {action: FailJob, onExitCodes: {operator: In, values: [42]}}]}\n"));
  ASSERT_TRUE(untilPods(1));
  const auto disrupted = activePods()[0].metadata.name;
  cluster.patch<api::Pod>(
      disrupted, "status: {phase: Failed, conditions: [{type: DisruptionTarget, status: 'True'}]}",
      "status");
  ASSERT_TRUE(cluster.until(
      [&] { return activePods().size() == 1 && activePods()[0].metadata.name != disrupted; }));
  EXPECT_EQ(cluster.get<api::Job>("j")->status.failed, 0);
  fail(activePods()[0].metadata.name, 42);
  EXPECT_EQ(jobCondition("Failed"), "True PodFailurePolicy");
  EXPECT_THAT(cluster.get<api::Job>("j")->status.conditions.back().message,
              HasSubstr("failed with exit code 42 matching FailJob rule at index 1"));
}

TEST_F(WorkloadsTest, ASuspendedJobHasNoPodsUntilItIsResumed) {
  cluster.create(job("  suspend: true\n"));
  cluster.loop.advance(3s);
  EXPECT_TRUE(activePods().empty());
  EXPECT_EQ(jobCondition("Suspended"), "True JobSuspended");
  EXPECT_FALSE(cluster.get<api::Job>("j")->status.startTime);
  cluster.patch<api::Job>("j", "spec: {suspend: false}");
  ASSERT_TRUE(untilPods(1));
  EXPECT_EQ(jobCondition("Suspended"), "False JobResumed");
  EXPECT_TRUE(cluster.get<api::Job>("j")->status.startTime);
}

TEST_F(WorkloadsTest, AJobEndsAtItsDeadlineAndGoesAfterItsTimeToLive) {
  cluster.create(job("  activeDeadlineSeconds: 60\n  ttlSecondsAfterFinished: 100\n"));
  ASSERT_TRUE(untilPods(1));
  cluster.loop.advance(62s);
  EXPECT_EQ(jobCondition("Failed"), "True DeadlineExceeded");
  EXPECT_TRUE(activePods().empty());
  cluster.loop.advance(102s);
  EXPECT_FALSE(cluster.get<api::Job>("j"));
}

TEST(JobIndexesTest, AreWrittenAsRanges) {
  EXPECT_EQ(formatIndexes({0, 1, 2, 5, 7, 8}), "0-2,5,7,8");
  EXPECT_EQ(parseIndexes("0-2,5,7,8"), (std::set<int>{0, 1, 2, 5, 7, 8}));
  EXPECT_EQ(parseIndexes("x"), std::set<int>{});
  EXPECT_EQ(formatIndexes({}), "");
}

std::string statefulSet(const std::string& more) {
  return withSpec(
      "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  selector: "
      "{matchLabels: {app: db}}\n"
      "  serviceName: db\n",
      more +
          "  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], "
          "resources: {requests: {storage: 1Gi}}}}]\n"
          "  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "
          "v1}]}}\n");
}

TEST_F(WorkloadsTest, APodOfAStatefulSetHasClaimsOfItsOwn) {
  cluster.create(statefulSet("  replicas: 2\n  podManagementPolicy: Parallel\n"));
  ASSERT_TRUE(untilPods(2));  // at once, though none is ready
  const auto pod = cluster.get<api::Pod>("db-1");
  ASSERT_TRUE(pod);
  const api::ResourceType claims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
  const auto claim = [&](const char* name) {
    return cluster.run(kube::getObject(cluster.api, claims, {"default", name}));
  };
  ASSERT_TRUE(claim("data-db-1"));
  const auto raw = cluster.run(kube::getObject(cluster.api, api::Pod::kType, {"default", "db-1"}));
  EXPECT_THAT(toJson(*raw), HasSubstr("\"claimName\":\"data-db-1\""));
  EXPECT_EQ(textAt(*raw, "spec", "hostname"), "db-1");
  EXPECT_EQ(textAt(*raw, "spec", "subdomain"), "db");
  cluster.patch<api::StatefulSet>("db", "spec: {replicas: 1}");
  ASSERT_TRUE(untilPods(1));
  EXPECT_TRUE(claim("data-db-1"));  // data outlives the pod ...
  cluster.patch<api::StatefulSet>(
      "db", "spec: {replicas: 2, persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}}");
  ASSERT_TRUE(untilPods(2));
  cluster.patch<api::StatefulSet>("db", "spec: {replicas: 1}");
  EXPECT_TRUE(cluster.until([&] { return !claim("data-db-1"); }));  // ... unless it must not
  EXPECT_TRUE(claim("data-db-0"));
}

TEST_F(WorkloadsTest, AStatefulSetUpdatesFromTheEndDownToItsPartition) {
  cluster.create(
      statefulSet("  replicas: 3\n  podManagementPolicy: Parallel\n  updateStrategy: {type: "
                  "RollingUpdate, rollingUpdate: {partition: 1}}\n"));
  ASSERT_TRUE(untilPods(3));
  setPhase("Running");
  cluster.patch<api::StatefulSet>("db",
                                  "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  for (int i = 0; i < 5; ++i) {
    cluster.loop.advance(2s);
    setPhase("Running");
  }
  const auto image = [&](const char* name) {
    return cluster.get<api::Pod>(name)->spec.containers[0].image;
  };
  EXPECT_EQ(image("db-0"), "v1");
  EXPECT_EQ(image("db-1"), "v2");
  EXPECT_EQ(image("db-2"), "v2");
}

TEST_F(WorkloadsTest, ADaemonSetUpdatesWithinMaxUnavailable) {
  for (const char* name : {"a", "b", "c", "d"})
    cluster.create(std::string("apiVersion: v1\nkind: Node\nmetadata: {name: ") + name + "}");
  cluster.create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(4));
  setPhase("Running");
  cluster.patch<api::DaemonSet>("agent",
                                "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  const auto updated = [&] {
    const auto pods = activePods();
    return std::ranges::count(pods, "v2",
                              [](const auto& pod) { return pod.spec.containers[0].image; });
  };
  cluster.loop.advance(2s);
  EXPECT_EQ(updated(), 2);
  setPhase("Running");
  cluster.loop.advance(2s);
  EXPECT_EQ(updated(), 4);
}

TEST_F(WorkloadsTest, ADaemonSetReplacesAPodWhenItIsGone) {
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: a}");
  cluster.bindTo("a");
  cluster.create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(1));
  const auto pod = activePods()[0].metadata.name;
  cluster.remove<api::Pod>(pod);
  cluster.loop.advance(20s);
  EXPECT_TRUE(activePods().empty());
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>(pod, now);
  EXPECT_TRUE(untilPods(1));
}

TEST_F(WorkloadsTest, ADaemonSetThatSurgesKeepsTheOldPodUntilTheNewOneIsReady) {
  for (const char* name : {"a", "b"})
    cluster.create(std::string("apiVersion: v1\nkind: Node\nmetadata: {name: ") + name + "}");
  cluster.create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  cluster.patch<api::DaemonSet>("agent",
                                "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  const auto ready = [&](const char* image) {
    const auto pods = activePods();
    return std::ranges::count_if(pods, [&](const auto& pod) {
      return isReady(pod) && pod.spec.containers[0].image == image;
    });
  };
  cluster.loop.advance(10s);
  EXPECT_EQ(activePods().size(), 3u);
  EXPECT_EQ(ready("v1"), 2);
  setPhase("Running");
  cluster.loop.advance(2s);
  EXPECT_EQ(ready("v1"), 1);
  EXPECT_EQ(ready("v2"), 1);
  EXPECT_EQ(activePods().size(), 3u);
  setPhase("Running");
  cluster.loop.advance(2s);
  EXPECT_EQ(ready("v2"), 2);
  EXPECT_EQ(activePods().size(), 2u);
  EXPECT_EQ(cluster.get<api::DaemonSet>("agent")->status.updatedNumberScheduled, 2);
}

constexpr const char* kWeb = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: v1}]}}
)";

TEST_F(WorkloadsTest, ARolloutThatMakesNoProgressIsSaidToHaveFailed) {
  cluster.create(kWeb);
  ASSERT_TRUE(untilPods(2));
  const auto progressing = [&] {
    const auto deployment = cluster.get<api::Deployment>("web");
    for (const auto& condition : deployment->status.conditions)
      if (condition.type == "Progressing") return condition.status + " " + condition.reason;
    return std::string();
  };
  cluster.loop.advance(50s);
  EXPECT_EQ(progressing(), "True ReplicaSetUpdated");
  cluster.loop.advance(15s);
  EXPECT_EQ(progressing(), "False ProgressDeadlineExceeded");
  setPhase("Running");
  EXPECT_EQ(progressing(), "True NewReplicaSetAvailable");
}

TEST_F(WorkloadsTest, RecreateWaitsUntilTheLastOldPodIsGone) {
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n1}");
  cluster.bindTo("n1");
  cluster.create(kWeb);
  cluster.patch<api::Deployment>(
      "web", "spec: {replicas: 1, strategy: {type: Recreate, rollingUpdate: null}}");
  ASSERT_TRUE(untilPods(1));
  setPhase("Running");
  const auto old = activePods()[0].metadata.name;
  cluster.patch<api::Deployment>("web",
                                 "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  cluster.loop.advance(20s);
  EXPECT_TRUE(activePods().empty());
  EXPECT_TRUE(cluster.get<api::Pod>(old)->metadata.deletionTimestamp);
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>(old, now);
  EXPECT_TRUE(untilPods(1));
}

TEST_F(WorkloadsTest, ARollbackMakesTheOldTemplateTheNewestRevision) {
  cluster.create(kWeb);
  ASSERT_TRUE(untilPods(2));
  const auto setImage = [&](const std::string& image) {
    cluster.patch<api::Deployment>(
        "web", "spec: {template: {spec: {containers: [{name: c, image: " + image + "}]}}}");
    for (int i = 0; i < 6; ++i) setPhase("Running");
  };
  setImage("v2");
  setImage("v1");
  EXPECT_EQ(cluster.get<api::Deployment>("web")->metadata.annotations.at(
                "deployment.kubernetes.io/revision"),
            "3");
  EXPECT_EQ(cluster.list<api::ReplicaSet>().size(), 2u);
}

TEST_F(WorkloadsTest, AnEvictionUsesUpTheBudgetUntilItsPodIsReplaced) {
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n1}");
  cluster.bindTo("n1");
  cluster.create(kWeb);
  cluster.create(
      "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: "
      "{minAvailable: 1, selector: "
      "{matchLabels: {app: web}}}");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  const auto budget = [&] { return cluster.get<api::PodDisruptionBudget>("web")->status; };
  ASSERT_TRUE(cluster.until([&] { return budget().disruptionsAllowed == 1; }));
  EXPECT_EQ(budget().conditions.at(0).reason, "SufficientPods");
  const auto pods = activePods();
  ASSERT_TRUE(cluster.run(kube::evictPod(cluster.api, api::keyOf(pods[0].metadata))));
  const auto refused = cluster.run(kube::evictPod(cluster.api, api::keyOf(pods[1].metadata)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::TooManyRequests);
  EXPECT_EQ(refused.error().message,
            "Cannot evict pod as it would violate the pod's disruption budget.");
  cluster.loop.advance(1s);
  EXPECT_EQ(budget().disruptionsAllowed, 0);
  EXPECT_EQ(budget().conditions.at(0).reason, "InsufficientPods");
  setPhase("Running");
  ASSERT_TRUE(cluster.until([&] { return budget().disruptionsAllowed == 1; }));
  EXPECT_TRUE(budget().disruptedPods.empty());
}

}  // namespace
}  // namespace koord::cluster
