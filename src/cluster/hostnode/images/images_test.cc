// Images of the host node's containers: pulled, loaded, missing, or not there at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/base64.h"
#include "cluster/hostnode/fake_cgroup_fs.h"
#include "cluster/hostnode/fake_runtime.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/images/pull_credentials.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImagesTest : public ::testing::Test {
 protected:
  ImagesTest()
      : folder(::testing::TempDir() + "images-" + std::to_string(::getpid())),
        cgroups({2, "/cg", {}}, fs),
        runtime(cluster.loop, cgroups) {
    fs.dirs = {"/cg"};
    HostNodeOptions options;
    options.node.name = "box";
    options.node.capacity = {{"cpu", Quantity::of(4)}, {"memory", Quantity::of(8 << 20)}};
    options.node.allocatable = options.node.capacity;
    options.podsDir = folder;
    node = std::make_unique<HostNode>(cluster.api, cluster.loop, runtime, cgroups, Random(1),
                                      std::move(options), HostNodeServices{cluster.loop});
    node->start();
    cluster.loop.advance(1s);
  }
  ~ImagesTest() override { std::filesystem::remove_all(folder); }

  void createPod(const std::string& container, const std::string& more = "") {
    cluster.create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: box\n  containers: "
        "[{name: main, " +
        container + "}]\n" + more);
    cluster.loop.advance(1s);
  }
  // "Running", or the reason for which the container waits.
  std::string state() {
    const auto pod = cluster.get<api::Pod>("p");
    if (!pod || pod->status.containerStatuses.empty()) return "";
    const auto& now = pod->status.containerStatuses.begin()->state;
    return now.waiting ? now.waiting->reason : now.running ? "Running" : "other";
  }
  std::string message() {
    const auto pod = cluster.get<api::Pod>("p");
    if (!pod || pod->status.containerStatuses.empty()) return "";
    const auto& now = pod->status.containerStatuses.begin()->state;
    return now.waiting ? now.waiting->message : "";
  }
  std::vector<std::string> events() {
    std::vector<std::string> reasons;
    for (const auto& event : cluster.list<api::Event>()) reasons.push_back(event.reason);
    return reasons;
  }

  std::string folder;
  TestCluster cluster;
  FakeCgroupFs fs;
  Cgroups cgroups;
  FakeRuntime runtime;
  std::unique_ptr<HostNode> node;
};

TEST_F(ImagesTest, AProcessRuntimeSaysAtOnceThatItPullsNothing) {
  runtime.hasImages = false;
  createPod("image: nginx");
  EXPECT_EQ(state(), "ErrImageNeverPull");
  EXPECT_THAT(message(), HasSubstr("image \"nginx\" is not pulled"));
  EXPECT_THAT(message(), HasSubstr("--runtime=containerd"));
  EXPECT_THAT(events(), ::testing::Contains("Failed"));
}

TEST_F(ImagesTest, ACommandOfAProcessRuntimeRunsWithAnEvent) {
  runtime.hasImages = false;
  createPod("image: nginx, command: [run]");
  EXPECT_EQ(state(), "Running");
  EXPECT_THAT(events(), ::testing::Contains("ImageNotPulled"));
}

TEST_F(ImagesTest, PoliciesSayWhenAnImageIsPulled) {
  createPod("image: 'web:1'");
  EXPECT_EQ(state(), "Running");
  EXPECT_THAT(runtime.pulled, IsEmpty()) << "it is there";
}

TEST_F(ImagesTest, AlwaysPullsOnceForEachStart) {
  createPod("image: web");
  EXPECT_EQ(state(), "Running");
  EXPECT_THAT(runtime.pulled, ElementsAre("web"));
  runtime.exit("main", 1);
  ASSERT_TRUE(cluster.until([&] { return runtime.started.size() == 2; }));
  EXPECT_THAT(runtime.pulled, ElementsAre("web", "web"));
}

TEST_F(ImagesTest, LoadedImagesAreNotPulled) {
  runtime.onImage = [](const auto&) { return ImageInfo{.local = true}; };
  createPod("image: web");
  EXPECT_EQ(state(), "Running");
  EXPECT_THAT(runtime.pulled, IsEmpty());
}

TEST_F(ImagesTest, NeverWaitsForTheImage) {
  runtime.onImage = [](const auto&) { return std::nullopt; };
  createPod("image: web, imagePullPolicy: Never");
  EXPECT_EQ(state(), "ErrImageNeverPull");
  runtime.onImage = [](const auto&) { return ImageInfo{}; };
  EXPECT_TRUE(cluster.until([&] { return state() == "Running"; }));
}

TEST_F(ImagesTest, FailuresAreRetriedLaterAndLater) {
  bool there = false;
  runtime.onImage = [&](const auto&) {
    return there ? std::optional<ImageInfo>(ImageInfo{}) : std::nullopt;
  };
  runtime.onPull = [](const auto&) { return fail(ErrorCode::NotFound, "no such image"); };
  createPod("image: 'web:1'");
  EXPECT_EQ(state(), "ErrImagePull");
  EXPECT_THAT(message(), HasSubstr("no such image"));
  ASSERT_TRUE(cluster.until([&] { return runtime.pulled.size() == 2; }, 15s));
  EXPECT_TRUE(cluster.until([&] { return state() == "ImagePullBackOff"; }, 5s));
  cluster.loop.advance(15s);
  EXPECT_EQ(runtime.pulled.size(), 2u) << "20 s after the second failure";
  runtime.onPull = [&](const auto&) -> Result<> {
    there = true;
    return {};
  };
  EXPECT_TRUE(cluster.until([&] { return state() == "Running"; }, 30s));
}

TEST_F(ImagesTest, APodIsDeletedWhileItsImageIsPulled) {
  runtime.onImage = [](const auto&) { return std::nullopt; };
  runtime.pullTime = 1h;
  createPod("image: 'web:1'");
  EXPECT_EQ(state(), "ContainerCreating");
  cluster.remove<api::Pod>("p");
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Pod>("p"); }, 35s));
  cluster.loop.advance(2h);  // the pull ends without its pod
  EXPECT_THAT(runtime.started, IsEmpty());
}

TEST_F(ImagesTest, SecretsOfThePodGiveTheCredentials) {
  const std::string config =
      R"({"auths":{"registry.example.com":{"auth":")" + base64Encode("me:secret") + R"("}}})";
  cluster.create(
      "apiVersion: v1\nkind: Secret\nmetadata: {name: pull}\ntype: "
      "kubernetes.io/dockerconfigjson\ndata: {.dockerconfigjson: " +
      base64Encode(config) + "}\n");
  createPod("image: 'registry.example.com/web:latest'",
            "  imagePullSecrets: [{name: pull}, {name: missing}]\n");
  EXPECT_THAT(runtime.pulled, ElementsAre("registry.example.com/web:latest as me"));
  EXPECT_EQ(state(), "Running");
}

TEST(PullCredentialsTest, NamesOfImages) {
  EXPECT_EQ(fullImageName("nginx"), "docker.io/library/nginx:latest");
  EXPECT_EQ(fullImageName("me/web:2"), "docker.io/me/web:2");
  EXPECT_EQ(fullImageName("localhost/web"), "localhost/web:latest");
  EXPECT_EQ(fullImageName("127.0.0.1:5000/web"), "127.0.0.1:5000/web:latest");
  EXPECT_EQ(fullImageName("web@sha256:12"), "docker.io/library/web@sha256:12");
}

TEST(PullCredentialsTest, TheLongestEntryCounts) {
  const char* config = R"({"auths":{
      "https://index.docker.io/v1/":{"username":"hub","password":"p"},
      "example.com":{"username":"all","password":"p"},
      "example.com/team":{"username":"team","password":"p"}}})";
  const auto user = [&](const char* image) {
    const auto found = credentialsIn(config, image);
    return found && *found ? (*found)->user : "";
  };
  EXPECT_EQ(user("nginx"), "hub");
  EXPECT_EQ(user("example.com/other/web"), "all");
  EXPECT_EQ(user("example.com/team/web"), "team");
  EXPECT_EQ(user("example.com/team/web:1"), "team");
  EXPECT_EQ(user("example.com/team:1"), "team");
  EXPECT_EQ(user("example.com/teams/web"), "all");
  EXPECT_EQ(user("example.com:5000/web"), "") << "another registry";
  EXPECT_EQ(user("example.org/web"), "");
  EXPECT_FALSE(credentialsIn("[]", "web"));
  EXPECT_FALSE(credentialsIn(R"({"auths":{"example.com":{"auth":"!"}}})", "example.com/web"));
}

}  // namespace
}  // namespace koord::cluster
