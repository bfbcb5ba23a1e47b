#include "cluster/hostnode/host_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cluster/hostnode/fake_cgroup_fs.h"
#include "cluster/hostnode/fake_runtime.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

// A folder that is gone with it.
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

  // As after a kill -9: a new host node on the runtime as it is.
  void restart() {
    node.reset();
    HostNodeOptions options;
    options.node.name = "box";
    options.node.kubeletPort = 10250;
    options.node.capacity = {{"cpu", Quantity::of(4)}, {"memory", Quantity::of(8 << 20)}};
    options.node.allocatable = options.node.capacity;
    options.node.info = {"m", "s", "b", "6.1", "Debian", "fake://1", "v1", "v1", "linux", "amd64"};
    options.podsDir = dir.path;
    node = std::make_unique<HostNode>(cluster.api, cluster.loop, runtime, cgroups, Random(1),
                                      std::move(options), HostNodeServices{cluster.loop});
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
  runtime.deaf = {"main"};
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(9s);
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_TRUE(cluster.until([&] { return phase("p") == "gone"; }, 3s));
  EXPECT_TRUE(runtime.containers.empty());
  EXPECT_FALSE(fs.dirs.contains(cgroup));
}

TEST_F(HostNodeTest, AShorterGraceTimeCountsAlsoLater) {
  createPod("p");
  runtime.deaf = {"main"};
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
