#include "cluster/controllers/controllers_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/time.h"
#include "cluster/controllers/daemon_set_plan.h"
#include "cluster/controllers/deployment.h"
#include "cluster/controllers/disruption.h"
#include "cluster/controllers/job.h"

namespace koord::cluster {
namespace {

constexpr const char* kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: v1}]
)";

TEST_F(ControllersTest, ADeploymentMakesAReplicaSetAndItsPods) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4, "app=web"));
  const auto sets = cluster.list<api::ReplicaSet>();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_TRUE(sets[0].metadata.name.starts_with("web-"));
  for (const auto& pod : activePods()) {
    EXPECT_EQ(api::controllerOf(pod.metadata)->name, sets[0].metadata.name);
    EXPECT_TRUE(pod.metadata.labels.contains("pod-template-hash"));
  }
  setPhase("Running");
  const auto deployment = cluster.get<api::Deployment>("web");
  EXPECT_EQ(deployment->status.availableReplicas, 4);
  EXPECT_EQ(deployment->status.updatedReplicas, 4);
  EXPECT_EQ(deployment->status.observedGeneration, deployment->metadata.generation);
}

TEST_F(ControllersTest, ADeletedPodIsReplacedOnce) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>(activePods()[0].metadata.name, now);
  cluster.loop.advance(5s);
  EXPECT_EQ(activePods().size(), 4u);
}

TEST_F(ControllersTest, ANewTemplateIsRolledOutWithinItsLimits) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  setPhase("Running");
  cluster.patch<api::Deployment>("web",
                                 "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  const auto image = [](const api::Pod& pod) { return pod.spec.containers[0].image; };
  const auto updated = [&] {
    const auto pods = activePods();
    return std::ranges::count(pods, "v2", image);
  };
  for (int step = 0; step < 20 && updated() < 4; ++step) {
    cluster.loop.advance(500ms);
    const auto pods = activePods();
    EXPECT_LE(pods.size(), 5u);  // a surge of 25 %
    EXPECT_GE(std::ranges::count_if(pods, isReady), 3);
    setPhase("Running");
  }
  EXPECT_EQ(updated(), 4);
  setPhase("Running");
  ASSERT_TRUE(untilPods(4));
  EXPECT_EQ(cluster.list<api::ReplicaSet>().size(), 2u);
}

TEST_F(ControllersTest, ScalingDownKeepsThePodsThatWork) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}");
  const auto pods = activePods();
  for (int i = 0; i < 2; ++i) {
    const api::ObjectKey key = api::keyOf(pods[i].metadata);
    ASSERT_TRUE(cluster.run(kube::bindPod(cluster.api, key, pods[i].metadata.uid, "node-1")));
    cluster.patch<api::Pod>(key.name,
                            "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
                            "status");
  }
  cluster.patch<api::Deployment>("web", "spec: {replicas: 2}");
  ASSERT_TRUE(untilPods(2));
  for (const auto& pod : activePods()) EXPECT_TRUE(isReady(pod)) << pod.metadata.name;
}

TEST_F(ControllersTest, ScalingDownAsksWhatDeletionCosts) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  const auto pods = activePods();
  for (int i = 0; i < 4; ++i)
    cluster.patch<api::Pod>(
        pods[static_cast<std::size_t>(i)].metadata.name,
        "metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: '" +
            std::to_string(30 - 10 * i) + "'}}");
  cluster.loop.advance(1s);
  cluster.patch<api::Deployment>("web", "spec: {replicas: 1}");
  ASSERT_TRUE(untilPods(1));
  EXPECT_EQ(activePods()[0].metadata.name, pods[0].metadata.name);
}

TEST_F(ControllersTest, ANameInATemplateIsNoNameOfItsPods) {
  std::string text = kDeployment;
  const std::string labels = "metadata: {labels: {app: web}";
  ASSERT_NE(text.find(labels), std::string::npos);
  text.replace(text.find(labels), labels.size(),
               "metadata: {name: web, generateName: w-, namespace: elsewhere, uid: u, "
               "resourceVersion: '7', annotations: {kept: 'yes'}, labels: {app: web}");
  cluster.create(text);
  ASSERT_TRUE(untilPods(4));
  for (const auto& pod : activePods()) {
    EXPECT_EQ(pod.metadata.annotations.at("kept"), "yes");
    EXPECT_EQ(pod.metadata.name.substr(0, 4), "web-");
  }
}

TEST_F(ControllersTest, DeletingADeploymentCollectsAllItHasMade) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  cluster.remove<api::Deployment>("web");
  EXPECT_TRUE(cluster.until(
      [&] { return cluster.list<api::ReplicaSet>().empty() && activePods().empty(); }));
}

TEST_F(ControllersTest, DeletingWithOrphanKeepsThePods) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  kube::DeleteOptions orphan;
  orphan.propagationPolicy = "Orphan";
  cluster.remove<api::Deployment>("web", orphan);
  cluster.loop.advance(10s);
  EXPECT_FALSE(cluster.get<api::Deployment>("web"));
  const auto sets = cluster.list<api::ReplicaSet>();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_TRUE(sets[0].metadata.ownerReferences.empty());
  EXPECT_EQ(activePods().size(), 4u);
}

TEST_F(ControllersTest, DeletingInForegroundWaitsForTheDependents) {
  cluster.create(kDeployment);
  ASSERT_TRUE(untilPods(4));
  kube::DeleteOptions foreground;
  foreground.propagationPolicy = "Foreground";
  cluster.remove<api::Deployment>("web", foreground);
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Deployment>("web"); }));
  EXPECT_TRUE(cluster.list<api::ReplicaSet>().empty());
}

constexpr const char* kJob = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: crunch}
spec:
  completions: 5
  parallelism: 2
  backoffLimit: 2
  template:
    metadata: {labels: {app: crunch}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: v1}]
)";

TEST_F(ControllersTest, AJobRunsItsCompletionsAFewAtATime) {
  cluster.create(kJob);
  for (int step = 0; step < 10; ++step) {
    cluster.loop.advance(1s);
    EXPECT_LE(activePods().size(), 2u);
    setPhase("Succeeded", "", 1);
  }
  const auto job = cluster.get<api::Job>("crunch");
  EXPECT_EQ(job->status.succeeded, 5);
  EXPECT_EQ(job->status.failed, 0);
  EXPECT_EQ(job->status.active, 0);
  EXPECT_EQ(job->status.conditions.back().type, "Complete");
  EXPECT_EQ(cluster.list<api::Pod>().size(), 5u);
  for (const auto& pod : cluster.list<api::Pod>()) EXPECT_TRUE(pod.metadata.finalizers.empty());
}

TEST_F(ControllersTest, APodDeletedFromUnderAJobIsReplacedAndCountedOnce) {
  cluster.create(kJob);
  ASSERT_TRUE(untilPods(2));
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>(activePods()[0].metadata.name, now);
  ASSERT_TRUE(untilPods(2));
  cluster.loop.advance(5s);
  EXPECT_EQ(cluster.get<api::Job>("crunch")->status.failed, 1);
  EXPECT_EQ(cluster.list<api::Pod>().size(), 2u);
}

TEST_F(ControllersTest, APodThatFailedWithoutAContainerIsReplacedAfterAPause) {
  cluster.create(kJob);
  ASSERT_TRUE(untilPods(2));
  cluster.patch<api::Pod>(activePods()[0].metadata.name,
                          "status: {phase: Failed, conditions: [{type: Ready, status: 'False', "
                          "lastTransitionTime: '" +
                              formatTime(cluster.loop.wallNow()) + "'}]}",
                          "status");
  cluster.loop.advance(8s);
  EXPECT_EQ(activePods().size(), 1u);
  EXPECT_TRUE(untilPods(2));
}

TEST_F(ControllersTest, TooManyFailuresEndAJob) {
  cluster.create(kJob);
  for (int failure = 0; failure < 3; ++failure) {
    ASSERT_TRUE(cluster.until([&] { return !activePods().empty(); }, 10min));
    setPhase("Failed", "", 1);
  }
  ASSERT_TRUE(
      cluster.until([&] { return !cluster.get<api::Job>("crunch")->status.conditions.empty(); }));
  const auto job = cluster.get<api::Job>("crunch");
  EXPECT_EQ(job->status.conditions.back().reason, "BackoffLimitExceeded");
  EXPECT_TRUE(untilPods(0));
}

TEST_F(ControllersTest, PodsOfADeletedJobAreLetGo) {
  cluster.create(kJob);
  ASSERT_TRUE(untilPods(2));
  cluster.remove<api::Job>("crunch");
  EXPECT_TRUE(cluster.until([&] { return cluster.list<api::Pod>().empty(); }));
}

TEST_F(ControllersTest, ANamespaceIsEmptiedBeforeItGoes) {
  cluster.create("apiVersion: v1\nkind: Namespace\nmetadata: {name: gone}");
  cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: gone}");
  cluster.remove<api::Namespace>("gone");
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Namespace>("gone"); }));
  EXPECT_FALSE(cluster.get<api::ConfigMap>("c", "gone"));
}

TEST(DaemonPodTest, ATermThatIsNullIsOneLikeAnother) {
  const auto podTemplate = parseJson(
      R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{
          "nodeSelectorTerms":[null,"x",{"matchExpressions":[]}]}}}}})");
  ASSERT_TRUE(podTemplate);
  const auto pod = daemonPod(*podTemplate, "a", "hash");
  const auto* terms = at(pod, "spec", "affinity", "nodeAffinity",
                         "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms");
  ASSERT_TRUE(terms && terms->is_array());
  ASSERT_EQ(terms->get_array().size(), 3u);
  for (const auto& term : terms->get_array()) EXPECT_TRUE(find(term, "matchFields"));
}

TEST_F(ControllersTest, ADaemonSetHasAPodOnEachNodeItTolerates) {
  cluster.create(R"(
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: v1
kind: Node
metadata: {name: b}
spec: {taints: [{key: private, effect: NoSchedule}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: v1}]}
)");
  ASSERT_TRUE(untilPods(1, "app=agent"));
  cluster.patch<api::Node>("b", "spec: {taints: null}");
  ASSERT_TRUE(untilPods(2, "app=agent"));
  cluster.remove<api::Node>("b");
  ASSERT_TRUE(untilPods(1, "app=agent"));
  EXPECT_EQ(cluster.get<api::DaemonSet>("agent")->status.desiredNumberScheduled, 1);
}

TEST_F(ControllersTest, ADaemonSetFollowsATaintThatBecomesAnother) {
  cluster.create(R"(
apiVersion: v1
kind: Node
metadata: {name: a}
spec: {taints: [{key: theirs, effect: NoSchedule}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: c, image: v1}]
      tolerations: [{key: ours, operator: Exists}]
)");
  ASSERT_TRUE(cluster.until(
      [&] { return cluster.get<api::DaemonSet>("agent")->status.observedGeneration > 0; }));
  EXPECT_TRUE(activePods("app=agent").empty());
  cluster.patch<api::Node>("a", "spec: {taints: [{key: ours, effect: NoSchedule}]}");
  EXPECT_TRUE(untilPods(1, "app=agent"));
}

TEST_F(ControllersTest, APodOfADaemonSetStaysOnANodeThatTakesNoNewOnes) {
  cluster.create(R"(
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: v1}]}
)");
  ASSERT_TRUE(untilPods(1, "app=agent"));
  cluster.patch<api::Node>("a", "spec: {taints: [{key: theirs, effect: NoSchedule}]}");
  EXPECT_TRUE(cluster.until(
      [&] { return cluster.get<api::DaemonSet>("agent")->status.numberMisscheduled == 1; }));
  EXPECT_EQ(activePods("app=agent").size(), 1u);
  EXPECT_EQ(cluster.get<api::DaemonSet>("agent")->status.desiredNumberScheduled, 0);
  cluster.patch<api::Node>("a", "spec: {taints: [{key: theirs, effect: NoExecute}]}");
  EXPECT_TRUE(untilPods(0, "app=agent"));
}

TEST_F(ControllersTest, AStatefulSetStartsItsPodsInOrder) {
  cluster.create(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: v1}]}
)");
  cluster.loop.advance(5s);
  ASSERT_EQ(activePods().size(), 1u);
  EXPECT_EQ(activePods()[0].metadata.name, "db-0");
  setPhase("Running");
  ASSERT_TRUE(untilPods(2));
  EXPECT_TRUE(cluster.get<api::Pod>("db-1"));
  setPhase("Running");
  cluster.patch<api::StatefulSet>("db", "spec: {replicas: 1}");
  ASSERT_TRUE(untilPods(1));
  EXPECT_EQ(activePods()[0].metadata.name, "db-0");
}

TEST_F(ControllersTest, ABudgetCountsWhatMayBeEvicted) {
  cluster.create(kDeployment);
  cluster.create(R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
)");
  ASSERT_TRUE(untilPods(4));
  setPhase("Running");
  EXPECT_TRUE(cluster.until([&] {
    return cluster.get<api::PodDisruptionBudget>("web")->status.disruptionsAllowed == 1;
  }));
}

TEST_F(ControllersTest, PodsOfANodeThatIsGoneAreDeletedAfterAWhile) {
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}");
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: node-1, containers: "
      "[{name: c, image: i}]}");
  cluster.remove<api::Node>("node-1");
  cluster.loop.advance(20s);
  EXPECT_TRUE(cluster.get<api::Pod>("p"));
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Pod>("p"); }, 60s));
}

TEST(RolloutTest, SurgeIsRoundedUpAndUnavailableDown) {
  api::DeploymentSpec spec;
  spec.replicas = 10;
  const auto limits = rolloutLimits(spec);
  EXPECT_EQ(limits.maxSurge, 3);
  EXPECT_EQ(limits.maxUnavailable, 2);
  spec.strategy.rollingUpdate =
      api::RollingUpdate{api::IntOrString{0, "", false}, api::IntOrString{0, "", false}, {}};
  EXPECT_EQ(rolloutLimits(spec).maxUnavailable, 1);
}

TEST(RolloutTest, OldPodsThatDoNotWorkAreGivenUpFirst) {
  const RolloutLimits limits{10, 3, 2};
  EXPECT_EQ(rollForward(limits, {0, 0}, {{10, 10}}), 3);
  EXPECT_EQ(scaleDownOld(limits, {3, 0}, {{10, 10}}), (std::vector<int>{8}));
  EXPECT_EQ(scaleDownOld(limits, {3, 0}, {{2, 0}, {8, 8}}), (std::vector<int>{0, 8}));
  EXPECT_EQ(scaleDownOld(limits, {10, 10}, {{3, 3}}), (std::vector<int>{0}));
}

TEST(DisruptionTest, PercentagesAreRoundedUp) {
  api::PodDisruptionBudgetSpec spec;
  spec.maxUnavailable = api::IntOrString{0, "30%", true};
  EXPECT_EQ(disruptionStatus(spec, {10, 10}).disruptionsAllowed, 3);
  EXPECT_EQ(disruptionStatus(spec, {10, 6}).disruptionsAllowed, 0);
  EXPECT_EQ(disruptionStatus(spec, {0, 0}).disruptionsAllowed, 0);
}

TEST(TemplateHashTest, DependsOnTheContentAndNotOnTheOrder) {
  EXPECT_EQ(templateHash(*parseJson(R"({"a": 1, "b": [2]})")),
            templateHash(*parseJson(R"({"b": [2], "a": 1})")));
  EXPECT_NE(templateHash(*parseJson(R"({"a": 1})")), templateHash(*parseJson(R"({"a": 2})")));
}

TEST(JobTest, ThePauseAfterFailuresDoubles) {
  EXPECT_EQ(jobBackoff(1), 10s);
  EXPECT_EQ(jobBackoff(3), 40s);
  EXPECT_EQ(jobBackoff(100), 10min);
}

}  // namespace
}  // namespace koord::cluster
