// After any changes to workloads, at any time, in the end exactly the desired pods run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/selector.h"
#include "base/time.h"
#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/job_pods.h"

namespace koord::cluster {
namespace {

class ConvergenceTest : public ControllersTest {
 protected:
  void killPod(const api::Pod& pod, bool atOnce) {
    kube::DeleteOptions options;
    if (atOnce) options.gracePeriodSeconds = 0;
    cluster.remove<api::Pod>(pod.metadata.name, options);
  }
  std::optional<api::Pod> anyPod(Random& random) {
    const auto pods = activePods();
    if (pods.empty()) return std::nullopt;
    return pods[random.below(pods.size())];
  }
  void orphan(const auto& kind, const std::string& name) {
    kube::DeleteOptions options;
    options.propagationPolicy = "Orphan";
    cluster.remove<std::decay_t<decltype(kind)>>(name, options);
    cluster.until([&] { return !cluster.get<std::decay_t<decltype(kind)>>(name); });
  }
};

std::string deployment(int replicas, int version, bool paused) {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: " +
         std::to_string(replicas) + ", paused: " + (paused ? "true" : "false") +
         ", selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: "
         "{containers: [{name: c, image: v" +
         std::to_string(version) + "}]}}}";
}

TEST_F(ConvergenceTest, ADeploymentHasItsPodsInTheEnd) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    int replicas = 3;
    int version = 1;
    bool paused = false;
    cluster.create(deployment(replicas, version, paused));
    for (int step = 0; step < 40; ++step) {
      switch (random.below(8)) {
        case 0:
          replicas = static_cast<int>(random.below(7));
          break;
        case 1:
          version = 1 + static_cast<int>(random.below(3));
          break;
        case 2:
          paused = random.chance(0.3);
          break;
        case 3:
          if (const auto pod = anyPod(random)) killPod(*pod, random.chance(0.5));
          break;
        case 4:
          if (const auto pod = anyPod(random))
            cluster.patch<api::Pod>(pod->metadata.name, "metadata: {labels: {app: other}}");
          break;
        case 5:
          orphan(api::Deployment{}, "web");
          cluster.create(deployment(replicas, version, paused));
          break;
        case 6:
          setPhase("Running", "app=web", static_cast<int>(random.below(3)));
          break;
        default:
          cluster.loop.advance(Duration(std::chrono::milliseconds(random.below(3000))));
      }
      cluster.patch<api::Deployment>("web", "spec: {replicas: " + std::to_string(replicas) +
                                                ", paused: " + (paused ? "true" : "false") +
                                                ", template: {spec: {containers: [{name: c, "
                                                "image: v" +
                                                std::to_string(version) + "}]}}}");
    }
    cluster.patch<api::Deployment>("web", "spec: {paused: false}");
    const auto settled = [&] {
      setPhase("Running", "app=web");
      const auto pods = activePods("app=web");
      return static_cast<int>(pods.size()) == replicas &&
             std::ranges::all_of(pods, [&](const auto& pod) {
               return pod.spec.containers[0].image == "v" + std::to_string(version);
             });
    };
    ASSERT_TRUE(cluster.until(settled, 5min)) << activePods("app=web").size() << " of " << replicas;
    cluster.loop.advance(30s);
    ASSERT_TRUE(settled());
    const auto status = cluster.get<api::Deployment>("web")->status;
    EXPECT_EQ(status.availableReplicas, replicas);
    EXPECT_EQ(status.updatedReplicas, replicas);
    const auto uid = cluster.get<api::Deployment>("web")->metadata.uid;
    int fresh = 0;
    for (const auto& set : cluster.list<api::ReplicaSet>()) {
      const auto* owner = api::controllerOf(set.metadata);
      ASSERT_TRUE(owner);
      EXPECT_EQ(owner->uid, uid);
      fresh += set.spec.replicas.value_or(1) > 0 ? 1 : 0;
    }
    EXPECT_EQ(fresh, replicas > 0 ? 1 : 0);
    for (const auto& pod : activePods("app=other"))
      EXPECT_FALSE(api::controllerOf(pod.metadata)) << pod.metadata.name;
    cluster.remove<api::Deployment>("web");
    for (const auto& pod : activePods("app=other")) killPod(pod, true);
    ASSERT_TRUE(cluster.until([&] {
      return cluster.list<api::Pod>().empty() && cluster.list<api::ReplicaSet>().empty();
    }));
  }
}

TEST_F(ConvergenceTest, AStatefulSetHasItsPodsInTheEnd) {
  const auto set = [](int replicas, int version, int partition) {
    return "{replicas: " + std::to_string(replicas) +
           ", selector: {matchLabels: {app: db}}, updateStrategy: {rollingUpdate: {partition: " +
           std::to_string(partition) +
           "}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: v" +
           std::to_string(version) + "}]}}}";
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    int replicas = 3;
    int version = 1;
    const std::string policy = random.chance(0.5) ? "Parallel" : "OrderedReady";
    const auto create = [&] {
      cluster.create(
          "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: "
          "{podManagementPolicy: " +
          policy + ", serviceName: db, " + set(replicas, version, 0).substr(1));
    };
    create();
    for (int step = 0; step < 40; ++step) {
      int partition = 0;
      switch (random.below(7)) {
        case 0:
          replicas = static_cast<int>(random.below(5));
          break;
        case 1:
          version = 1 + static_cast<int>(random.below(3));
          break;
        case 2:
          partition = static_cast<int>(random.below(4));
          break;
        case 3:
          if (const auto pod = anyPod(random)) killPod(*pod, random.chance(0.5));
          break;
        case 4:
          orphan(api::StatefulSet{}, "db");
          create();
          break;
        default:
          setPhase("Running");
      }
      cluster.patch<api::StatefulSet>("db", "spec: " + set(replicas, version, partition));
      cluster.loop.advance(Duration(std::chrono::milliseconds(random.below(2000))));
    }
    cluster.patch<api::StatefulSet>("db", "spec: " + set(replicas, version, 0));
    ASSERT_TRUE(cluster.until(
        [&] {
          setPhase("Running");
          const auto status = cluster.get<api::StatefulSet>("db")->status;
          return status.readyReplicas == replicas && status.updatedReplicas == replicas &&
                 status.replicas == replicas && status.currentRevision == status.updateRevision;
        },
        5min))
        << policy;
    std::set<std::string> names;
    for (const auto& pod : activePods()) {
      names.insert(pod.metadata.name);
      EXPECT_EQ(pod.spec.containers[0].image, "v" + std::to_string(version));
    }
    std::set<std::string> expected;
    for (int i = 0; i < replicas; ++i) expected.insert("db-" + std::to_string(i));
    EXPECT_EQ(names, expected);
    std::set<std::int64_t> numbers;
    for (const auto& revision : cluster.list<api::ControllerRevision>())
      numbers.insert(revision.revision);
    EXPECT_EQ(numbers.size(), cluster.list<api::ControllerRevision>().size());
    EXPECT_LE(numbers.size(), 3u);
    cluster.remove<api::StatefulSet>("db");
    ASSERT_TRUE(cluster.until([&] {
      return cluster.list<api::Pod>().empty() && cluster.list<api::ControllerRevision>().empty();
    }));
  }
}

TEST_F(ConvergenceTest, AJobCountsEachPodOnce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int completions = 2 + static_cast<int>(random.below(5));
    const bool perIndex = random.chance(0.5);
    cluster.create(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completionMode: Indexed, "
        "completions: " +
        std::to_string(completions) + ", parallelism: 3, " +
        (perIndex ? "backoffLimitPerIndex: 2, " : "backoffLimit: 1000, ") +
        "podReplacementPolicy: " + (random.chance(0.5) ? "Failed" : "TerminatingOrFailed") +
        ", template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}");
    int failed = 0;
    std::set<int> succeeded;
    const auto over = [&] {
      const auto status = cluster.get<api::Job>("j")->status;
      return std::ranges::any_of(status.conditions, [](const auto& condition) {
        return condition.status == "True" &&
               (condition.type == "Complete" || condition.type == "Failed");
      });
    };
    for (int step = 0; step < 400 && !over(); ++step) {
      const auto pod = anyPod(random);
      const bool good = random.chance(0.4);
      if (!pod || random.chance(0.3)) {
        cluster.loop.advance(Duration(std::chrono::milliseconds(random.below(60'000))));
        continue;
      }
      if (good)
        succeeded.insert(completionIndex(*pod));
      else
        ++failed;
      cluster.patch<api::Pod>(
          pod->metadata.name,
          std::string("status: {phase: ") + (good ? "Succeeded" : "Failed") +
              ", containerStatuses: [{name: c, state: {terminated: {exitCode: " +
              (good ? "0" : "1") + ", finishedAt: '" + formatTime(cluster.loop.wallNow()) +
              "'}}}]}",
          "status");
      if (random.chance(0.3)) {
        // Deleted, perhaps before the controller has seen its end.
        kube::DeleteOptions now;
        now.gracePeriodSeconds = 0;
        cluster.remove<api::Pod>(pod->metadata.name, now);
      }
    }
    ASSERT_TRUE(cluster.until(over, 2h));
    cluster.loop.advance(10s);
    const auto status = cluster.get<api::Job>("j")->status;
    EXPECT_EQ(status.failed, failed);
    EXPECT_EQ(status.completedIndexes, formatIndexes(succeeded));
    const auto lost = parseIndexes(status.failedIndexes.value_or(""));
    EXPECT_EQ(static_cast<int>(lost.size() + succeeded.size()), completions);
    EXPECT_FALSE(status.uncountedTerminatedPods);
    EXPECT_EQ(status.active, 0);
    for (const auto& pod : cluster.list<api::Pod>())
      EXPECT_TRUE(pod.metadata.finalizers.empty()) << pod.metadata.name;
    cluster.remove<api::Job>("j");
    ASSERT_TRUE(cluster.until([&] { return cluster.list<api::Pod>().empty(); }));
  }
}

}  // namespace
}  // namespace koord::cluster
