#include "cluster/hostnode/host_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/hostnode/fake_cgroup_fs.h"
#include "cluster/hostnode/fake_runtime.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

// A folder that the destructor removes.
struct TempDir {
  std::string path = testing::TempDir() + "pods-" + std::to_string(::getpid());
  ~TempDir() { std::filesystem::remove_all(path); }
};

class HostNodeTest : public testing::Test {
 protected:
  HostNodeTest() : cgroups({2, "/cg", {}}, fs), runtime(cluster.loop, cgroups) {
    fs.dirs = {"/cg"};
    restart();
  }

  // As after a kill -9: a new host node on the existing runtime.
  void restart() {
    node.reset();
    HostNodeOptions options;
    options.node.name = "box";
    options.node.kubeletPort = 10250;
    options.node.capacity = {{"cpu", Quantity::of(4)}, {"memory", Quantity::of(8 << 20)}};
    options.node.allocatable = options.node.capacity;
    options.node.info = {"m", "s", "b", "6.1", "Debian", "fake://1", "v1", "v1", "linux", "amd64"};
    options.podsDir = dir.path;
    options.evictionHard = *parseEvictionHard("memory.available<100Mi,nodefs.available<10%");
    HostNodeServices services{cluster.loop};
    services.readSignals = [this] { return signals; };
    node = std::make_unique<HostNode>(cluster.api, cluster.loop, runtime, cgroups, Random(1),
                                      std::move(options), std::move(services));
    node->start();
    cluster.loop.advance(1s);
  }

  void createPod(const std::string& name, const std::string& more = "") {
    cluster.create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
        "}\nspec:\n  nodeName: box\n  terminationGracePeriodSeconds: 10\n  containers: "
        "[{name: main, image: i, command: [run], resources: {requests: {cpu: 500m}}}]\n" +
        more);
    cluster.loop.advance(1s);
  }
  std::string phase(const std::string& name) {
    const auto pod = cluster.get<api::Pod>(name);
    return pod ? pod->status.phase.str() : "gone";
  }
  std::string cgroupOf(const std::string& name) {
    return podCgroupDir(cluster.get<api::Pod>(name)->metadata.uid);
  }
  static std::string podCgroupDir(const std::string& uid) {
    return "/cg/kubepods/burstable/pod" + uid;
  }

  TempDir dir;
  TestCluster cluster;
  FakeCgroupFs fs;
  Cgroups cgroups;
  FakeRuntime runtime;
  SignalReadings signals;
  std::unique_ptr<HostNode> node;
};

TEST_F(HostNodeTest, RegistersItselfAndKeepsForeignResources) {
  auto registered = cluster.get<api::Node>("box");
  ASSERT_TRUE(registered);
  EXPECT_TRUE(node->registered());
  EXPECT_EQ(registered->metadata.labels.at("kubernetes.io/hostname"), "box");
  EXPECT_EQ(registered->status.daemonEndpoints.kubeletEndpoint->Port, 10250);
  cluster.patch<api::Node>("box", "status: {allocatable: {kubernetes.io/batch-cpu: '1000'}}",
                           "status");
  restart();
  registered = cluster.get<api::Node>("box");
  EXPECT_EQ(registered->status.allocatable.at("kubernetes.io/batch-cpu").value(), 1000);
  EXPECT_EQ(registered->status.allocatable.at("cpu").value(), 4);
}

TEST_F(HostNodeTest, RenewsItsLease) {
  const auto before = cluster.get<api::Lease>("box", "kube-node-lease");
  ASSERT_TRUE(before);
  cluster.loop.advance(11s);
  const auto after = cluster.get<api::Lease>("box", "kube-node-lease");
  EXPECT_GT(after->spec.renewTime->time, before->spec.renewTime->time);
}

TEST_F(HostNodeTest, RunsAPodInItsCgroupAndSaysSo) {
  createPod("p");
  EXPECT_EQ(phase("p"), "Running");
  const auto pod = cluster.get<api::Pod>("p");
  EXPECT_EQ(pod->status.podIP, "127.0.0.1");
  EXPECT_EQ(pod->status.containerStatuses.at(0).containerID, "containerd://c0");
  EXPECT_EQ(fs.files.at(cgroupOf("p") + "/cpu.weight"), "20");
  EXPECT_EQ(runtime.started.at(0).values.cpuShares, 512);
  // The pods' share of the whole class.
  EXPECT_EQ(fs.files.at("/cg/kubepods/burstable/cpu.weight"), "20");
}

TEST_F(HostNodeTest, AnswersWithItsPodsAsItKnowsThem) {
  createPod("p");
  const auto list = node->podList();
  const auto& items = at(list, "items")->get_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(textAt(items[0], "status", "phase"), "Running");
  EXPECT_EQ(*node->logPath({"default", "p"}, "main", false), "/logs/c0");
  EXPECT_FALSE(node->logPath({"default", "p"}, "main", true));
  EXPECT_EQ(node->logPath({"default", "q"}, "main", false).error().code, ErrorCode::NotFound);
}

TEST_F(HostNodeTest, ANodeThatWasTakenForLostSaysThatItIsThere) {
  createPod("p");
  const auto ready = [&] { return isReady(*cluster.get<api::Pod>("p")); };
  ASSERT_TRUE(ready());
  // As the node lifecycle controller does.
  cluster.patch<api::Node>(
      "box", "status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown}]}",
      "status");
  auto marking = kube::strategicPatch(
      cluster.api, api::Pod::kType, {"default", "p"},
      *parseYaml("status: {conditions: [{type: Ready, status: 'False'}]}"), "status");
  ASSERT_TRUE(cluster.run(std::move(marking)));
  EXPECT_TRUE(cluster.until(ready, 2s));
  EXPECT_TRUE(cluster.until(
      [&] {
        const auto node = cluster.get<api::Node>("box");
        for (const auto& condition : node->status.conditions)
          if (condition.type == "Ready") return condition.status == "True";
        return false;
      },
      11s));
}

TEST_F(HostNodeTest, WhatRunsShortIsACondition) {
  const auto statusOf = [&](const char* type) {
    const auto node = cluster.get<api::Node>("box");
    for (const auto& condition : node->status.conditions)
      if (condition.type == type) return condition.status.str() + " " + condition.reason.str();
    return std::string("none");
  };
  cluster.loop.advance(30s);
  EXPECT_EQ(statusOf("DiskPressure"), "False KubeletHasNoDiskPressure");
  signals[EvictionSignal::NodefsAvailable] = {9, 100};
  signals[EvictionSignal::MemoryAvailable] = {1 << 20, 1 << 30};
  cluster.loop.advance(25s);
  EXPECT_EQ(statusOf("DiskPressure"), "True KubeletHasDiskPressure");
  EXPECT_EQ(statusOf("MemoryPressure"), "True KubeletHasInsufficientMemory");
  EXPECT_EQ(statusOf("PIDPressure"), "False KubeletHasSufficientPID");
  EXPECT_EQ(statusOf("Ready"), "True KubeletReady");
  signals.clear();
  cluster.loop.advance(4min);
  EXPECT_EQ(statusOf("DiskPressure"), "True KubeletHasDiskPressure");
  cluster.loop.advance(90s);
  EXPECT_EQ(statusOf("DiskPressure"), "False KubeletHasNoDiskPressure");
  EXPECT_EQ(statusOf("MemoryPressure"), "False KubeletHasSufficientMemory");
}

TEST_F(HostNodeTest, ANewNodeAdoptsWhatRunsAndStartsNothingTwice) {
  createPod("p");
  restart();
  cluster.loop.advance(5s);
  EXPECT_EQ(runtime.started.size(), 1u);
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(HostNodeTest, AContainerThatEndsIsStartedAgainWithBackoff) {
  createPod("p");
  runtime.exit("main", 1);
  cluster.loop.advance(1s);
  ASSERT_EQ(runtime.started.size(), 2u);
  EXPECT_EQ(runtime.started[1].attempt, 1);
  runtime.exit("main", 1);
  cluster.loop.advance(1s);
  EXPECT_EQ(cluster.get<api::Pod>("p")->status.containerStatuses[0].state.waiting->reason,
            "CrashLoopBackOff");
  cluster.loop.advance(10s);
  EXPECT_EQ(runtime.started.size(), 3u);
  EXPECT_EQ(cluster.get<api::Pod>("p")->status.containerStatuses[0].restartCount, 2);
}

TEST_F(HostNodeTest, AfterALongRunTheBackoffBeginsAnew) {
  createPod("p");
  for (int crash = 0; crash < 6; ++crash) {
    runtime.exit("main", 1);
    cluster.loop.advance(6min);
  }
  ASSERT_EQ(runtime.started.size(), 7u);
  cluster.loop.advance(11min);
  runtime.exit("main", 1);
  cluster.loop.advance(1s);
  ASSERT_EQ(runtime.started.size(), 8u) << "at once, as the first time";
  for (const auto pause : {10s, 20s}) {
    const auto before = runtime.started.size();
    runtime.exit("main", 1);
    cluster.loop.advance(pause - 2s);
    EXPECT_EQ(runtime.started.size(), before);
    cluster.loop.advance(4s);
    EXPECT_EQ(runtime.started.size(), before + 1);
  }
}

TEST_F(HostNodeTest, AGraceTimeBeyondAllBoundsIsALongOne) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
      "  terminationGracePeriodSeconds: 10000000000\n  activeDeadlineSeconds: 5\n"
      "  containers: [{name: main, image: i, command: [run]}]\n");
  runtime.ignoresSigterm = {"main"};
  cluster.loop.advance(1min);
  EXPECT_EQ(phase("p"), "Failed");
  EXPECT_EQ(runtime.running(), 1u) << "it has been asked to end, and has time for that";
}

TEST_F(HostNodeTest, ACgroupThatACrashLeftHalfMadeIsCompleted) {
  node.reset();
  createPod("p");
  for (const char* level : {"/cg/kubepods", "/cg/kubepods/burstable"}) fs.dirs.insert(level);
  fs.dirs.insert(cgroupOf("p"));
  restart();
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(fs.files[cgroupOf("p") + "/cpu.weight"], "20");
}

TEST_F(HostNodeTest, ACgroupWithContainersInItIsLeftAsItIs) {
  createPod("p");
  fs.files[cgroupOf("p") + "/cpu.weight"] = "77";
  runtime.exit("main", 1);
  cluster.loop.advance(1s);
  ASSERT_EQ(runtime.started.size(), 2u);
  EXPECT_EQ(fs.files[cgroupOf("p") + "/cpu.weight"], "77") << "koordlet's";
}

TEST_F(HostNodeTest, SidecarsEndAfterTheContainersThatTheyServe) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
      "  terminationGracePeriodSeconds: 10\n"
      "  initContainers:\n"
      "  - {name: first, image: i, command: [run], restartPolicy: Always}\n"
      "  - {name: second, image: i, command: [run], restartPolicy: Always}\n"
      "  containers: [{name: main, image: i, command: [run]}]\n");
  cluster.loop.advance(3s);
  ASSERT_EQ(runtime.running(), 3u);
  runtime.ignoresSigterm = {"main"};
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(5s);
  EXPECT_EQ(runtime.running(), 3u) << "the sidecars wait for what they serve";
  runtime.exit("main", 0);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 5s));
  EXPECT_THAT(runtime.stopped, testing::ElementsAre("main", "second", "first"));
}

TEST_F(HostNodeTest, SidecarsDoNotOutliveTheGraceTime) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
      "  terminationGracePeriodSeconds: 10\n"
      "  initContainers: [{name: side, image: i, command: [run], restartPolicy: Always}]\n"
      "  containers: [{name: main, image: i, command: [run]}]\n");
  cluster.loop.advance(3s);
  runtime.ignoresSigterm = {"main", "side"};
  cluster.remove<api::Pod>("p");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 13s));
}

TEST_F(HostNodeTest, ASlowRuntimeIsNotAskedTwice) {
  runtime.latency = 700ms;
  createPod("p");
  cluster.loop.advance(10s);
  EXPECT_EQ(runtime.started.size(), 1u);
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(HostNodeTest, APodThatIsDoneKeepsItsLogAndLosesItsCgroup) {
  createPod("p", "  restartPolicy: Never\n");
  const std::string cgroup = cgroupOf("p");
  EXPECT_TRUE(fs.dirs.contains(cgroup));
  runtime.exit("main", 0);
  cluster.loop.advance(2s);
  EXPECT_EQ(phase("p"), "Succeeded");
  EXPECT_FALSE(fs.dirs.contains(cgroup));
  EXPECT_TRUE(node->logPath({"default", "p"}, "main", false));
}

TEST_F(HostNodeTest, DeletingWaitsForTheGraceTimeAndNoLonger) {
  createPod("p");
  const std::string cgroup = cgroupOf("p");
  runtime.ignoresSigterm = {"main"};
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(9s);
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s));
  EXPECT_TRUE(runtime.containers.empty());
  EXPECT_FALSE(fs.dirs.contains(cgroup));
}

TEST_F(HostNodeTest, AShorterGraceTimeCountsAlsoLater) {
  createPod("p");
  runtime.ignoresSigterm = {"main"};
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(1s);
  kube::DeleteOptions sooner;
  sooner.gracePeriodSeconds = 1;
  cluster.remove<api::Pod>("p", sooner);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s));
}

TEST_F(HostNodeTest, APodThatVanishedFromTheApiIsKilled) {
  createPod("p");
  kube::DeleteOptions force;
  force.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>("p", force);
  EXPECT_TRUE(cluster.until([&] { return runtime.containers.empty(); }, 3s));
  EXPECT_EQ(cgroups.children("kubepods/burstable"), std::vector<std::string>{});
}

TEST_F(HostNodeTest, WhatIsLeftOfPodsThatNobodyKnowsIsSweptAway) {
  createPod("p");
  ASSERT_TRUE(cgroups.create("kubepods/besteffort/podorphan/c9", {}));
  fs.files["/cg/kubepods/besteffort/podorphan/c9/cgroup.procs"] = "4242\n";
  cluster.loop.advance(30s);
  EXPECT_FALSE(cgroups.exists("kubepods/besteffort/podorphan"));
  EXPECT_THAT(fs.signals, testing::Contains(std::pair(4242, 9)));
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(HostNodeTest, AStartThatFailsIsReportedAndTriedAgain) {
  runtime.startError = Error{ErrorCode::Invalid, "command is empty", {}};
  createPod("p");
  const auto waiting = cluster.get<api::Pod>("p")->status.containerStatuses.at(0).state.waiting;
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(waiting->message, "command is empty");
  runtime.startError.reset();
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "Running"; }, 15s));
}

TEST_F(HostNodeTest, APlanOutlivesTwoChangesOfItsPod) {
  // The list after the first starts fails, so the next step begins with a list of its own. The pod
  // changes during that list, so the plan uses another pod than the step began with; and it changes
  // once more while the first container of that plan starts.
  runtime.onStarted = [&] {
    if (runtime.started.size() != 2) return;
    runtime.exit("a", 1);
    runtime.exit("b", 1);
    runtime.listError = Error{ErrorCode::Unavailable, "busy", {}};
    runtime.listLatency = 3s;
    runtime.latency = 2s;
  };
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n  containers:\n"
      "  - {name: a, image: i, command: [run]}\n  - {name: b, image: i, command: [run]}\n");
  cluster.loop.advance(1s);
  ASSERT_EQ(runtime.started.size(), 2u);
  cluster.loop.advance(1500ms);
  cluster.patch<api::Pod>("p", "metadata: {labels: {round: '1'}}");
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }, 1s));
  cluster.loop.advance(2500ms);
  ASSERT_EQ(runtime.started.size(), 2u) << "the first is being started";
  cluster.patch<api::Pod>("p", "metadata: {labels: {round: '2'}}");
  cluster.loop.advance(20s);
  std::vector<std::string> names;
  for (const auto& config : runtime.started)
    names.push_back(config.name + std::to_string(config.attempt));
  EXPECT_THAT(names, testing::ElementsAre("a0", "b0", "a1", "b1"));
  EXPECT_EQ(phase("p"), "Running");
}

// ---- volumes ----

constexpr const char* kConfigVolume = "  volumes: [{name: conf, configMap: {name: settings}}]\n";

class HostNodeVolumesTest : public HostNodeTest {
 protected:
  // With one container that mounts the volumes that it is given by name.
  void createUser(const std::string& name, const std::string& mounts, const std::string& more) {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                   "}\nspec:\n  nodeName: box\n  terminationGracePeriodSeconds: 5\n  containers: "
                   "[{name: main, image: i, command: [run], volumeMounts: [" +
                   mounts + "]}]\n" + more);
    cluster.loop.advance(1s);
  }
  std::string waitingMessage(const std::string& name) {
    const auto state = cluster.get<api::Pod>(name)->status.containerStatuses.at(0).state;
    return state.waiting ? state.waiting->reason + ": " + state.waiting->message : "";
  }
  std::vector<std::string> events(const std::string& reason) {
    std::vector<std::string> messages;
    for (const auto& event : cluster.list<api::Event>())
      if (event.reason == reason) messages.push_back(event.message);
    return messages;
  }
  std::string podFolder(const std::string& name) {
    return dir.path + "/" + cluster.get<api::Pod>(name)->metadata.uid;
  }
};

TEST_F(HostNodeVolumesTest, APodWaitsForItsVolumesAndSaysWhy) {
  createUser("p", "{name: conf, mountPath: /conf, subPath: a}", kConfigVolume);
  const std::string why =
      "MountVolume.SetUp failed for volume \"conf\" : configmap \"settings\" not found";
  EXPECT_EQ(waitingMessage("p"), "ContainerCreating: " + why);
  EXPECT_THAT(events("FailedMount"), testing::Contains(why));
  EXPECT_TRUE(runtime.started.empty());
  EXPECT_TRUE(runtime.prepared.empty());
  cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: one}\n");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "Running"; }, 5s));
  const auto& mount = runtime.started.at(0).mounts.at(0);
  EXPECT_EQ(mount.target, "/conf");
  EXPECT_EQ(mount.subPath, "a");
  EXPECT_TRUE(mount.readOnly);
  EXPECT_EQ(mount.source, podFolder("p") + "/volumes/kubernetes.io~configmap/conf");
}

TEST_F(HostNodeVolumesTest, FilesFollowTheirObjectsAndOutliveWhatCannotBeRead) {
  cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: one}\n");
  createUser("p", "{name: conf, mountPath: /conf}", kConfigVolume);
  const std::string file = podFolder("p") + "/volumes/kubernetes.io~configmap/conf/a";
  EXPECT_EQ(*readFile(file), "one");
  cluster.patch<api::ConfigMap>("settings", "data: {a: two}");
  EXPECT_TRUE(cluster.until([&] { return *readFile(file) == "two"; }, 5s));
  cluster.remove<api::ConfigMap>("settings");
  cluster.loop.advance(2s);
  EXPECT_EQ(*readFile(file), "two");
  EXPECT_EQ(phase("p"), "Running");
  runtime.exit("main", 1);
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }, 5s))
      << "it is started again with what there is";
}

TEST_F(HostNodeVolumesTest, NothingIsLeftOfThem) {
  createUser("p", "{name: e, mountPath: /e}", "  volumes: [{name: e, emptyDir: {}}]\n");
  createUser("done", "{name: e, mountPath: /e}",
             "  volumes: [{name: e, emptyDir: {}}]\n  restartPolicy: Never\n");
  const std::string one = podFolder("p");
  const std::string two = podFolder("done");
  EXPECT_TRUE(std::filesystem::exists(one + "/volumes/kubernetes.io~empty-dir/e"));
  for (auto& container : runtime.containers)
    if (container.pod.name == "done") {
      container.phase = RuntimeContainer::Phase::Exited;
      container.finishedAt = cluster.loop.wallNow();
    }
  EXPECT_TRUE(cluster.until([&] { return phase("done") == "Succeeded"; }, 5s));
  EXPECT_TRUE(cluster.until([&] { return !std::filesystem::exists(two); }, 5s));
  cluster.remove<api::Pod>("p");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 10s));
  EXPECT_FALSE(std::filesystem::exists(one));
}

TEST_F(HostNodeVolumesTest, WhatACrashLeftOfAPodThatIsGoneIsCleared) {
  createUser("p", "{name: e, mountPath: /e}", "  volumes: [{name: e, emptyDir: {}}]\n");
  const std::string kept = podFolder("p");
  std::filesystem::create_directories(dir.path + "/orphan/volumes/kubernetes.io~empty-dir/e");
  restart();
  cluster.loop.advance(30s);
  EXPECT_FALSE(std::filesystem::exists(dir.path + "/orphan"));
  EXPECT_TRUE(std::filesystem::exists(kept));
  EXPECT_EQ(runtime.started.size(), 1u);
}

TEST_F(HostNodeVolumesTest, WhatTheNodeCannotGiveIsRefusedOutLoud) {
  createUser("nfs", "{name: share, mountPath: /n}",
             "  volumes: [{name: share, nfs: {server: s, path: /}}]\n");
  EXPECT_THAT(waitingMessage("nfs"), testing::HasSubstr("no volume plugin matched"));
  createUser("sandbox", "", "  runtimeClassName: gvisor\n");
  EXPECT_THAT(waitingMessage("sandbox"),
              testing::HasSubstr("ContainerCreating: Failed to create pod sandbox: RuntimeClass"));
  EXPECT_EQ(events("FailedCreatePodSandBox").size(), 1u);
  createUser("windows", "", "  os: {name: windows}\n");
  EXPECT_EQ(phase("windows"), "Failed");
  EXPECT_EQ(cluster.get<api::Pod>("windows")->status.reason, "PodOSNotSupported");
  createUser("root", "", "  securityContext: {runAsNonRoot: true}\n");
  EXPECT_THAT(waitingMessage("root"),
              testing::HasSubstr("CreateContainerConfigError: container has "
                                 "runAsNonRoot"));
  EXPECT_TRUE(runtime.started.empty());
}

TEST_F(HostNodeVolumesTest, TheLastWordsOfAContainerAreInItsStatus) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
      "  restartPolicy: Never\n  containers: [{name: main, image: i, command: [run], "
      "terminationMessagePath: /tmp/words}]\n");
  cluster.loop.advance(1s);
  const auto& mount = runtime.started.at(0).mounts.at(0);
  EXPECT_EQ(mount.target, "/tmp/words");
  ASSERT_TRUE(writeFileAtomic(mount.source, "out of cheese", 0666));
  runtime.exit("main", 3);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "Failed"; }, 5s));
  const auto state = cluster.get<api::Pod>("p")->status.containerStatuses[0].state;
  EXPECT_EQ(state.terminated->message, "out of cheese");
  EXPECT_EQ(state.terminated->exitCode, 3);
}

TEST_F(HostNodeVolumesTest, LastWordsThatAreNoTextAreToldAsFarAsTheyAre) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
      "  restartPolicy: Never\n  containers: [{name: main, image: i, command: [run], "
      "terminationMessagePath: /tmp/words}]\n");
  cluster.loop.advance(1s);
  ASSERT_TRUE(
      writeFileAtomic(runtime.started.at(0).mounts.at(0).source, "bits \xff\xfe\xc3 out", 0666));
  runtime.exit("main", 3);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "Failed"; }, 5s));
  EXPECT_EQ(cluster.get<api::Pod>("p")->status.containerStatuses[0].state.terminated->message,
            "bits \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd out");
}

TEST_F(HostNodeVolumesTest, UsersAndRightsReachTheRuntime) {
  createUser("p", "",
             "  stdin: true\n  securityContext: {runAsUser: 5, runAsGroup: 6, fsGroup: 7, "
             "supplementalGroups: [8]}\n");
  const auto& user = runtime.started.at(0).user;
  EXPECT_EQ(user.user, 5u);
  EXPECT_EQ(user.group, 6u);
  EXPECT_EQ(user.groups, (std::vector<std::uint32_t>{8, 7}));
}

// ---- probes and hooks ----

class HostNodeHealthTest : public HostNodeVolumesTest {
 protected:
  void createProbed(const std::string& container, const std::string& more = "") {
    cluster.create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n"
        "  terminationGracePeriodSeconds: 20\n" +
        more + "  containers:\n  - name: main\n    image: i\n    command: [run]\n" + container);
    cluster.loop.advance(1s);
  }
  bool ready() {
    const auto pod = cluster.get<api::Pod>("p");
    const auto& conditions = pod->status.conditions;
    const auto found = std::ranges::find(conditions, "Ready", &api::PodCondition::type);
    return found != conditions.end() && found->status == "True" &&
           pod->status.containerStatuses.at(0).ready;
  }
  void answer(std::set<std::string> failing) {
    runtime.onExec = [failing](const std::string&, const std::vector<std::string>& command) {
      return failing.contains(command.at(0)) ? ExecResult{1, command.at(0) + " failed"}
                                             : ExecResult{};
    };
  }
};

TEST_F(HostNodeHealthTest, ReadinessMakesThePodReadyAndUnready) {
  answer({"ready"});
  createProbed("    readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}\n");
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_FALSE(ready());
  answer({});
  EXPECT_TRUE(cluster.until([&] { return ready(); }, 3s));
  const auto conditions = cluster.get<api::Pod>("p")->status.conditions;
  EXPECT_EQ(std::ranges::find(conditions, "Ready", &api::PodCondition::type)->message, "");
  answer({"ready"});
  EXPECT_TRUE(cluster.until([&] { return !ready(); }, 5s));
  EXPECT_EQ(runtime.started.size(), 1u);
  EXPECT_THAT(events("Unhealthy"), testing::Contains("Readiness probe failed: ready failed"));
}

TEST_F(HostNodeHealthTest, LivenessThatFailsRestartsTheContainerWithBackoff) {
  createProbed(
      "    livenessProbe: {exec: {command: [alive]}, periodSeconds: 1, failureThreshold: 2, "
      "terminationGracePeriodSeconds: 3}\n");
  answer({"alive"});
  runtime.ignoresSigterm = {"main"};
  cluster.loop.advance(2s);
  EXPECT_EQ(runtime.running(), 1u) << "it has three seconds to end";
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }, 5s));
  EXPECT_THAT(events("Killing"),
              testing::ElementsAre("Container main failed liveness probe, will be restarted"));
  EXPECT_TRUE(cluster.until(
      [&] { return waitingMessage("p").starts_with("CrashLoopBackOff: back-off 10s"); }, 10s));
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 3; }, 12s));
}

TEST_F(HostNodeHealthTest, APodThatNeverRestartsFailsByItsProbe) {
  answer({"alive"});
  createProbed(
      "    livenessProbe: {exec: {command: [alive]}, periodSeconds: 1, failureThreshold: 1}\n",
      "  restartPolicy: Never\n");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "Failed"; }, 5s));
  EXPECT_THAT(events("Killing"), testing::ElementsAre("Container main failed liveness probe"));
}

TEST_F(HostNodeHealthTest, AStartupProbeComesBeforeTheOthers) {
  answer({"up"});
  createProbed(
      "    startupProbe: {exec: {command: [up]}, periodSeconds: 1, failureThreshold: 30}\n"
      "    livenessProbe: {exec: {command: [alive]}, periodSeconds: 1}\n");
  cluster.loop.advance(4s);
  EXPECT_FALSE(cluster.get<api::Pod>("p")->status.containerStatuses[0].started.value());
  EXPECT_THAT(runtime.executed, testing::Each("main: up"));
  answer({});
  EXPECT_TRUE(cluster.until([&] { return ready(); }, 3s));
  EXPECT_TRUE(cluster.get<api::Pod>("p")->status.containerStatuses[0].started.value());
  cluster.loop.advance(3s);
  EXPECT_EQ(runtime.executed.back(), "main: alive");
}

TEST_F(HostNodeHealthTest, NobodyIsProbedToDeathWhileThePodIsDeleted) {
  createProbed(
      "    livenessProbe: {exec: {command: [alive]}, periodSeconds: 1, failureThreshold: 1, "
      "terminationGracePeriodSeconds: 1}\n");
  runtime.ignoresSigterm = {"main"};
  cluster.remove<api::Pod>("p");
  answer({"alive"});
  cluster.loop.advance(15s);
  EXPECT_EQ(runtime.running(), 1u);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 10s));
  EXPECT_THAT(events("Killing"), testing::ElementsAre("Stopping container main"));
}

TEST_F(HostNodeHealthTest, ThePostStartHookComesBeforeTheNextContainer) {
  runtime.execTime = 3s;
  createProbed(
      "    lifecycle: {postStart: {exec: {command: [hello]}}}\n"
      "  - {name: next, image: i, command: [run]}\n");
  cluster.loop.advance(1s);
  EXPECT_EQ(runtime.started.size(), 1u);
  EXPECT_FALSE(cluster.get<api::Pod>("p")->status.containerStatuses[0].ready);
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }, 3s));
  cluster.loop.advance(1s);
  EXPECT_TRUE(ready());
  EXPECT_THAT(runtime.executed, testing::ElementsAre("main: hello"));
}

TEST_F(HostNodeHealthTest, APostStartHookThatFailsEndsTheContainer) {
  answer({"hello"});
  createProbed("    lifecycle: {postStart: {exec: {command: [hello]}}}\n");
  EXPECT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }, 5s));
  EXPECT_THAT(
      events("FailedPostStartHook"),
      testing::Contains("PostStartHook failed: command 'hello' exited with 1: hello failed"));
}

TEST_F(HostNodeHealthTest, ThePreStopHookComesFirstAndItsTimeCounts) {
  createProbed("    lifecycle: {preStop: {sleep: {seconds: 7}}}\n");
  runtime.ignoresSigterm = {"main"};
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(19s);
  EXPECT_EQ(runtime.running(), 1u);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s))
      << "seven seconds of the hook and thirteen to end";
}

TEST_F(HostNodeHealthTest, APreStopHookIsNotCutShortByAClockThatRunsFaster) {
  runtime.execTime = 3s;
  createProbed("    lifecycle: {preStop: {exec: {command: [bye]}}}\n");
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(1s);
  cluster.loop.jumpWallClock(5ms);
  cluster.patch<api::Pod>("p", "metadata: {labels: {look: again}}");
  cluster.loop.advance(1s);
  EXPECT_EQ(runtime.running(), 1u);
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s));
}

TEST_F(HostNodeHealthTest, APreStopHookThatFailsIsToldAndHoldsNothingUp) {
  answer({"bye"});
  createProbed("    lifecycle: {preStop: {exec: {command: [bye]}}}\n");
  cluster.remove<api::Pod>("p");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s));
  EXPECT_THAT(events("FailedPreStopHook"),
              testing::ElementsAre("PreStopHook failed: command 'bye' exited with 1: bye failed"));
}

TEST_F(HostNodeTest, ShutdownEndsThePodsAndLeavesThemInTheApi) {
  createPod("p");
  runtime.startError = Error{ErrorCode::Invalid, "no such image", {}};
  createPod("never-started");
  EXPECT_EQ(runtime.prepared.size(), 2u);
  auto done = std::make_shared<bool>(false);
  TaskGroup tasks;
  tasks.spawn([](HostNode* node, std::shared_ptr<bool> done) -> Task<void> {
    auto stopping = node->shutdown(2s);
    co_await stopping;
    *done = true;
  }(node.get(), done));
  EXPECT_TRUE(cluster.until([&] { return *done; }, 10s));
  EXPECT_EQ(runtime.running(), 0u);
  EXPECT_THAT(runtime.prepared, testing::IsEmpty());
  EXPECT_FALSE(cgroups.exists("kubepods"));
  EXPECT_EQ(phase("p"), "Running");
}

}  // namespace
}  // namespace koord::cluster
