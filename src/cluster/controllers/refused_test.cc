// The conditions and events of controllers when the API server rejects their writes.

#include <gmock/gmock.h>

#include "api/storage.h"
#include "base/time.h"
#include "cluster/controllers/controllers_run.h"
#include "cluster/controllers/controllers_testing.h"

namespace koord::cluster {
namespace {

using ::testing::HasSubstr;

class RefusedTest : public ControllersTest {
 protected:
  void allowPods(int number) {
    const std::string spec = "spec: {hard: {pods: '" + std::to_string(number) + "'}}";
    if (cluster.get<api::ConfigMap>("limited")) {
      const api::ResourceType type{"", "v1", "resourcequotas", "ResourceQuota", true};
      ASSERT_TRUE(
          cluster.run(kube::mergePatch(cluster.api, type, {"default", "few"}, *parseYaml(spec))));
      return;
    }
    cluster.create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\n" + spec);
    cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limited}");
  }
  void deploy(const std::string& more) {
    cluster.create(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: "
        "{matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: "
        "{containers: [{name: c, image: v1}]}}\n" +
        more);
  }
  api::DeploymentStatus deployment() { return cluster.get<api::Deployment>("web")->status; }
  std::string condition(const std::vector<api::WorkloadCondition>& conditions,
                        const std::string& type) {
    for (const auto& condition : conditions)
      if (condition.type == type) return condition.status + " " + condition.reason;
    return "";
  }
  std::string progressing() { return condition(deployment().conditions, "Progressing"); }
  bool hasEvent(const std::string& reason) {
    cluster.loop.advance(1s);
    const auto events = cluster.list<api::Event>();
    return std::ranges::any_of(events, [&](const auto& event) { return event.reason == reason; });
  }
  // Ready since now, as minReadySeconds needs it.
  void setReady() {
    for (const auto& pod : activePods())
      if (!isReady(pod))
        cluster.patch<api::Pod>(pod.metadata.name,
                                "status: {phase: Running, conditions: [{type: Ready, status: "
                                "'True', lastTransitionTime: '" +
                                    formatTime(cluster.loop.wallNow()) + "'}]}",
                                "status");
    cluster.loop.advance(1s);
  }
  void killPods(int number) {
    kube::DeleteOptions now;
    now.gracePeriodSeconds = 0;
    for (const auto& pod : activePods())
      if (number-- > 0) cluster.remove<api::Pod>(pod.metadata.name, now);
  }
};

TEST_F(RefusedTest, AReplicaSetTellsOfThePodsItHasAndWhyThereAreNotMore) {
  allowPods(3);
  deploy("  replicas: 6\n");
  ASSERT_TRUE(untilPods(3));
  setPhase("Running");
  const auto set = cluster.list<api::ReplicaSet>().at(0);
  EXPECT_EQ(set.status.replicas, 3);
  EXPECT_EQ(set.status.availableReplicas, 3);
  EXPECT_EQ(set.status.observedGeneration, set.metadata.generation);
  EXPECT_EQ(condition(set.status.conditions, "ReplicaFailure"), "True FailedCreate");
  EXPECT_THAT(set.status.conditions.at(0).message, HasSubstr("exceeded quota"));
  EXPECT_EQ(deployment().replicas, 3);
  EXPECT_EQ(deployment().availableReplicas, 3);
  EXPECT_EQ(condition(deployment().conditions, "ReplicaFailure"), "True FailedCreate");
  EXPECT_EQ(condition(deployment().conditions, "Available"), "False MinimumReplicasUnavailable");
  allowPods(10);
  ASSERT_TRUE(cluster.until([&] { return activePods().size() == 6; }, 30min));
  cluster.loop.advance(1s);
  EXPECT_EQ(condition(deployment().conditions, "ReplicaFailure"), "");
  EXPECT_TRUE(cluster.list<api::ReplicaSet>().at(0).status.conditions.empty());
}

TEST_F(RefusedTest, PodsThatAreLostAndNotReplacedAreNoLongerCounted) {
  deploy("  replicas: 6\n");
  ASSERT_TRUE(untilPods(6));
  setPhase("Running");
  ASSERT_EQ(deployment().availableReplicas, 6);
  allowPods(1);
  killPods(5);
  cluster.loop.advance(3s);
  EXPECT_EQ(activePods().size(), 1u);
  EXPECT_EQ(cluster.list<api::ReplicaSet>().at(0).status.availableReplicas, 1);
  EXPECT_EQ(deployment().availableReplicas, 1);
  EXPECT_EQ(condition(deployment().conditions, "Available"), "False MinimumReplicasUnavailable");
}

TEST_F(RefusedTest, ADeploymentSaysThatItCannotMakeAReplicaSet) {
  cluster.create(
      "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: "
      "{count/replicasets.apps: '0'}}");
  deploy("  replicas: 2\n");
  cluster.loop.advance(2s);
  EXPECT_EQ(progressing(), "False ReplicaSetCreateError");
  EXPECT_TRUE(hasEvent("ReplicaSetCreateError"));
  const api::ResourceType quotas{"", "v1", "resourcequotas", "ResourceQuota", true};
  ASSERT_TRUE(cluster.run(kube::deleteObject(cluster.api, quotas, {"default", "none"})));
  ASSERT_TRUE(cluster.until([&] { return activePods().size() == 2; }, 30min));
  setPhase("Running");
  EXPECT_EQ(progressing(), "True NewReplicaSetAvailable");
}

TEST_F(RefusedTest, ADaemonSetTellsOfThePodsItHas) {
  for (const char* name : {"a", "b", "c"})
    cluster.create(std::string("apiVersion: v1\nkind: Node\nmetadata: {name: ") + name + "}");
  allowPods(2);
  cluster.create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  const auto status = cluster.get<api::DaemonSet>("agent")->status;
  EXPECT_EQ(status.desiredNumberScheduled, 3);
  EXPECT_EQ(status.numberAvailable, 2);
  EXPECT_EQ(status.observedGeneration, 1);
}

TEST_F(RefusedTest, AStatefulSetTellsOfThePodsItHas) {
  allowPods(2);
  cluster.create(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  const auto status = cluster.get<api::StatefulSet>("db")->status;
  EXPECT_EQ(status.replicas, 2);
  EXPECT_EQ(status.readyReplicas, 2);
  EXPECT_EQ(status.observedGeneration, 1);
}

TEST_F(RefusedTest, ADeploymentThatIsRolledOutIsNotSaidToFailWhenItLosesPodsOrGrows) {
  deploy("  replicas: 2\n  progressDeadlineSeconds: 30\n");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  ASSERT_EQ(progressing(), "True NewReplicaSetAvailable");
  allowPods(3);
  killPods(1);
  cluster.patch<api::Deployment>("web", "spec: {replicas: 40}");
  cluster.loop.advance(2min);
  EXPECT_EQ(progressing(), "True NewReplicaSetAvailable");
  // A new template is a rollout.
  cluster.patch<api::Deployment>("web",
                                 "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  cluster.loop.advance(1s);
  EXPECT_EQ(progressing(), "True ReplicaSetUpdated");
  cluster.loop.advance(2min);
  EXPECT_EQ(progressing(), "False ProgressDeadlineExceeded");
}

TEST_F(RefusedTest, AReplicaSetFollowsTheMinReadySecondsOfItsDeployment) {
  deploy("  replicas: 1\n");
  ASSERT_TRUE(untilPods(1));
  cluster.patch<api::Deployment>("web", "spec: {minReadySeconds: 30}");
  cluster.loop.advance(1s);
  EXPECT_EQ(cluster.list<api::ReplicaSet>().at(0).spec.minReadySeconds, 30);
  setReady();
  EXPECT_EQ(deployment().availableReplicas, 0);
  cluster.loop.advance(30s);
  EXPECT_EQ(deployment().availableReplicas, 1);
}

TEST_F(RefusedTest, APausedDeploymentHasItsWholeDeadlineAfterwards) {
  deploy("  replicas: 1\n  progressDeadlineSeconds: 60\n");
  ASSERT_TRUE(untilPods(1));
  cluster.loop.advance(40s);
  cluster.patch<api::Deployment>("web", "spec: {paused: true}");
  cluster.loop.advance(10min);
  EXPECT_EQ(progressing(), "Unknown DeploymentPaused");
  cluster.patch<api::Deployment>("web", "spec: {paused: false}");
  cluster.loop.advance(50s);
  EXPECT_EQ(progressing(), "Unknown DeploymentResumed");
  cluster.loop.advance(15s);
  EXPECT_EQ(progressing(), "False ProgressDeadlineExceeded");
}

TEST_F(RefusedTest, PodsOfADaemonSetThatFailComeBackAfterAPauseThatDoubles) {
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: a}");
  cluster.create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(1));
  int failures = 0;
  for (int second = 0; second < 120; ++second) {
    if (!activePods().empty()) ++failures;
    setPhase("Failed");  // and a second passes
  }
  // Pauses of 1, 2, 4, 8, 16, 32, 64 seconds.
  EXPECT_GE(failures, 6);
  EXPECT_LE(failures, 9);
  EXPECT_TRUE(hasEvent("FailedDaemonPod"));
  // A change of the set resets the back-off.
  cluster.patch<api::DaemonSet>("agent",
                                "spec: {template: {spec: {containers: [{name: c, image: v2}]}}}");
  EXPECT_TRUE(cluster.until([&] { return !activePods().empty(); }, 5s));
}

TEST_F(RefusedTest, AJobOfAnotherControllerIsLeftAlone) {
  const std::string spec =
      "\nspec: {managedBy: example.com/theirs, template: {spec: {restartPolicy: Never, containers: "
      "[{name: c, image: i}]}}}";
  cluster.create("apiVersion: batch/v1\nkind: Job\nmetadata: {name: theirs}" + spec);
  cluster.create("apiVersion: batch/v1\nkind: Job\nmetadata: {name: ours}" +
                 std::string(spec).replace(spec.find("example.com/theirs"), 18,
                                           "kubernetes.io/job-controller"));
  ASSERT_TRUE(untilPods(1));
  cluster.loop.advance(5s);
  EXPECT_EQ(activePods().at(0).metadata.labels.at("job-name"), "ours");
  EXPECT_FALSE(cluster.get<api::Job>("theirs")->status.startTime);
}

TEST_F(RefusedTest, AStatefulSetMakesAClaimAgainForAPodThatWaits) {
  cluster.create(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(1));
  cluster.loop.advance(1s);
  const auto before = cluster.get<api::PersistentVolumeClaim>("data-db-0");
  ASSERT_TRUE(before);
  cluster.remove<api::PersistentVolumeClaim>("data-db-0");
  cluster.patch<api::PersistentVolumeClaim>("data-db-0", "metadata: {finalizers: null}");
  EXPECT_TRUE(cluster.until([&] {
    const auto now = cluster.get<api::PersistentVolumeClaim>("data-db-0");
    return now && now->metadata.uid != before->metadata.uid;
  }));
}

TEST_F(RefusedTest, AStatefulSetWaitsUntilAPodIsAvailableBeforeItTakesTheNext) {
  cluster.create(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  minReadySeconds: 30
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: v1}]}}
)");
  ASSERT_TRUE(untilPods(1));
  setReady();
  cluster.loop.advance(20s);
  EXPECT_EQ(activePods().size(), 1u);
  cluster.loop.advance(12s);
  EXPECT_EQ(activePods().size(), 2u);
}

class BudgetTest : public RefusedTest {
 protected:
  void protect(const std::string& spec) {
    cluster.create(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {selector: "
        "{matchLabels: {app: web}}, " +
        spec + "}");
  }
  void createPod(const std::string& name, const std::string& owner = "") {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: web}" +
                   owner + "}\nspec: {containers: [{name: c, image: i}]}");
  }
  api::PodDisruptionBudgetStatus status() {
    cluster.loop.advance(1s);
    return cluster.get<api::PodDisruptionBudget>("b")->status;
  }
};

TEST_F(BudgetTest, PodsWithoutAControllerAddNothingToTheSizeThatIsExpected) {
  protect("maxUnavailable: 1");
  createPod("bare");
  setPhase("Running");
  EXPECT_EQ(status().expectedPods, 0);
  EXPECT_EQ(status().currentHealthy, 1);
  EXPECT_EQ(status().disruptionsAllowed, 0);
  EXPECT_TRUE(hasEvent("UnmanagedPods"));
  // A minimum number of pods needs no sizes.
  cluster.patch<api::PodDisruptionBudget>("b", "spec: {maxUnavailable: null, minAvailable: 0}");
  EXPECT_EQ(status().expectedPods, 1);
  EXPECT_EQ(status().disruptionsAllowed, 1);
}

TEST_F(BudgetTest, PodsOfAControllerWithoutASizeAreNotEvicted) {
  deploy("  replicas: 2\n");
  protect("maxUnavailable: 1");
  ASSERT_TRUE(untilPods(2));
  setPhase("Running");
  ASSERT_EQ(status().disruptionsAllowed, 1);
  cluster.create(R"(
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: web, kind: agent}}
  template:
    metadata: {labels: {app: web, kind: agent}}
    spec: {containers: [{name: c, image: v1}]}
)");
  ASSERT_TRUE(untilPods(3));
  const auto now = status();
  EXPECT_EQ(now.disruptionsAllowed, 0);
  ASSERT_FALSE(now.conditions.empty());
  EXPECT_EQ(now.conditions[0].reason, "SyncFailed");
  EXPECT_EQ(now.conditions[0].message, "daemonsets.apps does not implement the scale subresource");
}

TEST_F(BudgetTest, TheSizeOfACustomControllerIsAskedFor) {
  cluster.create(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clonesets.apps.example.com}
spec:
  group: apps.example.com
  scope: Namespaced
  names: {plural: clonesets, singular: cloneset, kind: CloneSet}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)");
  cluster.loop.advance(2s);
  cluster.create(
      "apiVersion: apps.example.com/v1\nkind: CloneSet\nmetadata: {name: web}\nspec: {replicas: "
      "5}");
  const api::ResourceType type{"apps.example.com", "v1", "clonesets", "CloneSet", true};
  const auto set = cluster.run(kube::getObject(cluster.api, type, {"default", "web"}));
  ASSERT_TRUE(set);
  protect("maxUnavailable: 40%");
  createPod("c-0",
            ", ownerReferences: [{apiVersion: apps.example.com/v1, kind: CloneSet, name: "
            "web, controller: true, uid: " +
                std::string(textAt(*set, "metadata", "uid")) + "}]");
  EXPECT_EQ(status().expectedPods, 5);
  EXPECT_EQ(status().desiredHealthy, 3);
}

class RestartTest : public testing::Test {
 protected:
  RestartTest() { restart(); }
  void restart() {
    run.reset();
    cluster.loop.runReady();
    run = std::make_unique<ControllersRun>(cluster);
    cluster.loop.advance(2s);
  }
  TestCluster cluster;
  std::unique_ptr<ControllersRun> run;
};

TEST_F(RestartTest, ADeadlineThatHasPassedStaysPassed) {
  cluster.create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: v1}]}}
)");
  const auto progressing = [&] {
    const auto deployment = cluster.get<api::Deployment>("web");
    for (const auto& condition : deployment->status.conditions)
      if (condition.type == "Progressing") return condition.status + " " + condition.reason;
    return std::string();
  };
  cluster.loop.advance(40s);
  restart();
  EXPECT_EQ(progressing(), "True ReplicaSetUpdated");
  cluster.loop.advance(22s);
  EXPECT_EQ(progressing(), "False ProgressDeadlineExceeded");
  restart();
  cluster.loop.advance(10s);
  EXPECT_EQ(progressing(), "False ProgressDeadlineExceeded");
}

TEST_F(RestartTest, AnOwnerThatIsAddedWhileAnotherIsLookedForIsKept) {
  const auto uidOf = [&](const char* name) {
    return cluster.get<api::ConfigMap>(name)->metadata.uid;
  };
  for (const char* name : {"a", "b", "c"})
    cluster.create(std::string("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ") + name + "}");
  const auto reference = [&](const char* name) {
    return std::string("{apiVersion: v1, kind: ConfigMap, name: ") + name +
           ", uid: " + uidOf(name) + "}";
  };
  const std::string both = reference("a") + ", " + reference("b");
  const std::string all = both + ", " + reference("c");
  cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, ownerReferences: [" + both +
                 "]}");
  cluster.loop.advance(2s);
  TaskGroup others;
  bool added = false;
  run->api.setOnRequest([&](const kube::Request& request) {
    if (request.verb != kube::Verb::Get || request.name != "a" || std::exchange(added, true))
      return;
    const auto add = [](kube::Api& api, json::value patch) -> Task<void> {
      auto adding =
          kube::mergePatch(api, api::ConfigMap::kType, {"default", "d"}, std::move(patch));
      co_await adding;
    };
    others.spawn(add(cluster.api, *parseYaml("metadata: {ownerReferences: [" + all + "]}")));
  });
  cluster.remove<api::ConfigMap>("a");
  const auto names = [&] {
    std::vector<std::string> names;
    const auto object = cluster.get<api::ConfigMap>("d");
    for (const auto& owner : object->metadata.ownerReferences) names.push_back(owner.name);
    return names;
  };
  cluster.loop.advance(5s);
  ASSERT_TRUE(added);
  EXPECT_THAT(names(), testing::ElementsAre("b", "c"));
  run->api.setOnRequest({});
}

Task<void> scale(kube::Api& api, int replicas) {
  json::value patch = json::object{{"spec", {{"replicas", replicas}}}};
  auto patching =
      kube::mergePatch(api, api::ReplicaSet::kType, {"default", "web"}, std::move(patch));
  const auto patched = co_await patching;
  EXPECT_TRUE(patched);
}

Task<void> suspend(kube::Api& api, bool suspended) {
  json::value patch = json::object{{"spec", {{"suspend", suspended}}}};
  auto patching = kube::mergePatch(api, api::Job::kType, {"default", "web"}, std::move(patch));
  const auto patched = co_await patching;
  EXPECT_TRUE(patched);
}

Task<void> remove(kube::Api& api) {
  auto removing = kube::deleteObject(api, api::ReplicaSet::kType, {"default", "web"}, {});
  const auto removed = co_await removing;
  EXPECT_TRUE(removed);
}

std::string replicaSet(const std::string& name, int replicas) {
  return "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: " + name +
         "}\nspec:\n  replicas: " + std::to_string(replicas) +
         "\n  selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, "
         "spec: {containers: [{name: c, image: v1}]}}\n";
}

// Something happens in the middle of many requests about pods.
class BurstTest : public testing::Test {
 protected:
  // At the request of that number, counted from now.
  void at(int number, kube::Verb verb, std::function<Task<void>()> act) {
    requests = 0;
    run.api.setOnRequest([this, number, verb, act](const kube::Request& request) {
      if (request.verb == verb && request.resource == "pods" && ++requests == number)
        tasks.spawn(act());
    });
  }
  bool untilPods(std::size_t pods) {
    return cluster.until([&] { return run.pods.objects().size() == pods; });
  }

  TestCluster cluster;
  ControllersRun run{cluster};
  int requests = 0;
  TaskGroup tasks;
};

TEST_F(BurstTest, AReplicaSetThatGrowsAgainWhileItsPodsAreDeletedKeepsTheRest) {
  cluster.create(replicaSet("web", 520));
  ASSERT_TRUE(untilPods(520));
  at(1, kube::Verb::Delete, [&] { return scale(cluster.api, 520); });
  tasks.spawn(scale(cluster.api, 0));
  ASSERT_TRUE(cluster.until([&] { return requests > 0; }));
  cluster.loop.advance(10s);
  EXPECT_EQ(requests, kBurst);
  EXPECT_EQ(run.pods.objects().size(), 520u);
}

TEST_F(BurstTest, AJobThatIsResumedWhileItsPodsAreDeletedKeepsTheRest) {
  cluster.create(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec:\n  parallelism: 520\n  "
      "completions: 520\n  backoffLimit: 1000\n  template: {spec: {restartPolicy: Never, "
      "containers: [{name: c, image: v1}]}}\n");  // deleted pods count as failures
  ASSERT_TRUE(untilPods(520));
  at(1, kube::Verb::Delete, [&] { return suspend(cluster.api, false); });
  tasks.spawn(suspend(cluster.api, true));
  ASSERT_TRUE(cluster.until([&] { return requests > 0; }));
  cluster.loop.advance(10s);
  EXPECT_EQ(requests, kBurst);
  EXPECT_EQ(run.pods.objects().size(), 520u);
}

TEST_F(BurstTest, AReplicaSetThatShrinksOrEndsWhileItsPodsAreCreatedHasNoneTooMany) {
  at(100, kube::Verb::Create, [&] { return scale(cluster.api, 5); });
  cluster.create(replicaSet("web", 600));
  cluster.loop.advance(10s);
  EXPECT_EQ(requests, kBurst);
  EXPECT_EQ(run.pods.objects().size(), 5u);
  at(100, kube::Verb::Create, [&] { return remove(cluster.api); });
  tasks.spawn(scale(cluster.api, 300));
  EXPECT_TRUE(untilPods(0));
  EXPECT_EQ(requests, 295);
}

TEST_F(BurstTest, ReplicaSetsThatSelectTheSamePodsShareThem) {
  for (const char* name : {"a", "b", "c"})
    cluster.create(std::string("apiVersion: v1\nkind: Pod\nmetadata: {name: ") + name +
                   ", labels: {app: web}}\nspec: {containers: [{name: c, image: v1}]}\n");
  for (int i = 0; i < 10; ++i) cluster.create(replicaSet("web-" + std::to_string(i), 2));
  EXPECT_TRUE(untilPods(20));
  cluster.loop.advance(30s);
  std::map<std::string, int> owned;
  for (const auto& pod : run.pods.objects())
    if (const auto* owner = api::controllerOf(pod->metadata)) ++owned[owner->name];
  EXPECT_EQ(run.pods.objects().size(), 20u);
  EXPECT_EQ(owned.size(), 10u);
  for (const auto& [name, pods] : owned) EXPECT_EQ(pods, 2) << name;
}

}  // namespace
}  // namespace koord::cluster
