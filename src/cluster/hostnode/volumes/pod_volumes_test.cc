#include "cluster/hostnode/volumes/pod_volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/storage.h"
#include "base/file.h"
#include "base/time.h"
#include "cluster/hostnode/test_pods.h"
#include "cluster/testing/test_cluster.h"
#include "kube/fake_api.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PodVolumesTest : public testing::Test {
 protected:
  PodVolumesTest() { makeVolumes(cluster.api); }
  ~PodVolumesTest() override { fs::remove_all(dir); }

  void makeVolumes(kube::Api& api) {
    PodVolumes::Options options{dir, "127.0.0.1", {{"cpu", Quantity::of(4)}}, true};
    volumes = std::make_unique<PodVolumes>(
        api, cluster.loop, cluster.loop, Random(1), options,
        PodVolumes::Listener{
            [this](const std::string& uid) { changed.push_back(uid); },
            [this](const HostPod&, const std::string& text) { said.push_back(text); }});
  }
  // A pod whose one container mounts all of its volumes.
  HostPodPtr pod(const std::string& volumes, const std::string& more = "") {
    auto made = podOf(
        "u", R"({"volumes": [)" + volumes + R"(], "containers": [{"name": "main"}])" + more + "}");
    for (const auto& volume : made.details.volumes)
      made.details.containers[0].volumeMounts.push_back({volume.name, "/" + volume.name});
    return std::make_shared<const HostPod>(made);
  }
  std::string errorOf(const HostPodPtr& pod) {
    auto places = cluster.run(volumes->setUp(pod));
    return places ? "" : places.error().message;
  }
  std::string read(const std::string& path) {
    return readFile(dir + "/u/volumes/kubernetes.io~" + path).value_or("(none)");
  }

  TestCluster cluster;
  std::string dir = testing::TempDir() + "pod-volumes-" + std::to_string(::getpid());
  std::vector<std::string> changed;
  std::vector<std::string> said;
  std::unique_ptr<PodVolumes> volumes;
};

constexpr const char* kObjects = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {mode: fast, other: x}
binaryData: {bin: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: sec}
data: {password: czNjcmV0}
)";

TEST_F(PodVolumesTest, ObjectsBecomeFilesAndStayAsTheyAre) {
  cluster.create(kObjects);
  const auto one = pod(R"({"name": "c", "configMap": {"name": "cm"}},
                          {"name": "s", "secret": {"secretName": "sec", "items": [{"key": "password", "path": "p/w"}]}},
                          {"name": "e"})");
  ASSERT_EQ(errorOf(one), "");
  EXPECT_EQ(read("configmap/c/mode"), "fast");
  EXPECT_EQ(read("configmap/c/bin"), std::string("\0\1\2", 3));
  EXPECT_EQ(read("secret/s/p/w"), "s3cret");
  EXPECT_TRUE(fs::is_directory(dir + "/u/volumes/kubernetes.io~empty-dir/e"));
  cluster.loop.advance(5s);
  changed.clear();
  cluster.patch<api::ConfigMap>("cm", "data: {mode: slow, other: null}");
  cluster.loop.advance(1s);
  EXPECT_THAT(changed, testing::ElementsAre("u"));
  ASSERT_EQ(errorOf(one), "");
  EXPECT_EQ(read("configmap/c/mode"), "slow");
  EXPECT_EQ(read("configmap/c/other"), "(none)");
  ASSERT_TRUE(cluster.run(volumes->tearDown("u")));
  EXPECT_FALSE(fs::exists(dir + "/u"));
  changed.clear();
  cluster.patch<api::ConfigMap>("cm", "data: {mode: fast}");
  cluster.loop.advance(1s);
  EXPECT_TRUE(changed.empty()) << "no pod uses it";
}

TEST_F(PodVolumesTest, WhatIsMissingIsSaidAndHeardOfWhenItComes) {
  const auto one = pod(R"({"name": "c", "configMap": {"name": "cm"}})");
  EXPECT_EQ(errorOf(one), "MountVolume.SetUp failed for volume \"c\" : configmap \"cm\" not found");
  EXPECT_EQ(errorOf(pod(R"({"name": "s", "secret": {"secretName": "sec"}})")),
            "MountVolume.SetUp failed for volume \"s\" : secret \"sec\" not found");
  EXPECT_EQ(errorOf(pod(R"({"name": "c", "configMap": {"name": "cm", "optional": true}})")), "");
  EXPECT_EQ(errorOf(one), "MountVolume.SetUp failed for volume \"c\" : configmap \"cm\" not found");
  cluster.create(kObjects);
  cluster.loop.advance(1s);
  EXPECT_THAT(changed, testing::Contains("u"));
  EXPECT_EQ(errorOf(one), "");
  EXPECT_THAT(
      errorOf(pod(
          R"({"name": "c", "configMap": {"name": "cm", "items": [{"key": "k", "path": "p"}]}})")),
      HasSubstr("configmap references non-existent config key: k"));
}

TEST_F(PodVolumesTest, TheDownwardApiShowsThePodAndItsResources) {
  auto made = *pod(R"({"name": "d", "downwardAPI": {"items": [
      {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
      {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}}]}})");
  made.metadata.labels["app"] = "web";
  ASSERT_EQ(errorOf(std::make_shared<const HostPod>(made)), "");
  EXPECT_EQ(read("downward-api/d/labels"), "app=\"web\"");
  EXPECT_EQ(read("downward-api/d/cpu"), "4");
}

TEST_F(PodVolumesTest, WhatThisNodeHasNotIsRefused) {
  EXPECT_THAT(
      errorOf(pod(R"({"name": "n", "nfs": {"server": "s", "path": "/"}})")),
      HasSubstr(
          "failed to process volumes=[n]: failed to get Plugin from volumeSpec for volume \"n\" "
          "err=no volume plugin matched"));
  EXPECT_THAT(errorOf(pod(R"({"name": "e", "emptyDir": {"medium": "HugePages"}})")),
              HasSubstr("storage medium \"HugePages\""));
  EXPECT_THAT(
      errorOf(pod(
          R"({"name": "p", "projected": {"sources": [{"clusterTrustBundle": {"path": "x"}}]}})")),
      HasSubstr("clusterTrustBundle"));
}

class ClaimTest : public PodVolumesTest {
 protected:
  // A claim bound to a volume with this source.
  void bind(const std::string& source, const std::string& claimUid = "") {
    cluster.create(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: pv, resources: {requests: {storage: 1Gi}}}
)");
    const auto claim = cluster.get<api::PersistentVolumeClaim>("data");
    const auto uid = claimUid.empty() ? claim->metadata.uid : claimUid;
    cluster.create(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n"
        "  accessModes: [ReadWriteOnce]\n  capacity: {storage: 1Gi}\n"
        "  claimRef: {namespace: default, name: data, uid: " +
        uid + "}\n  " + source + "\n");
    cluster.patch<api::PersistentVolumeClaim>("data", "status: {phase: Bound}", "status");
  }
  HostPodPtr user =
      pod(R"({"name": "v", "persistentVolumeClaim": {"claimName": "data", "readOnly": true}})");
};

TEST_F(ClaimTest, ABoundHostPathIsUsed) {
  bind("hostPath: {path: " + dir + "/disk, type: DirectoryOrCreate}");
  auto places = cluster.run(volumes->setUp(user));
  ASSERT_TRUE(places) << places.error().message;
  EXPECT_EQ(places->at("v").path, dir + "/disk");
  EXPECT_TRUE(places->at("v").readOnly);
  EXPECT_TRUE(fs::is_directory(dir + "/disk"));
  ASSERT_TRUE(cluster.run(volumes->tearDown("u")));
  EXPECT_TRUE(fs::is_directory(dir + "/disk")) << "it is not the pod's";
}

TEST_F(ClaimTest, OneThatIsNotThereNotBoundOrSomebodyElsesIsSaid) {
  EXPECT_THAT(errorOf(user),
              HasSubstr("error processing PVC default/data: failed to fetch PVC from API "
                        "server: persistentvolumeclaims \"data\" not found"));
  bind("hostPath: {path: /x}", "another");
  EXPECT_THAT(errorOf(user), HasSubstr("PV pv is bound to another claim"));
  cluster.patch<api::PersistentVolumeClaim>("data", "status: {phase: Pending}", "status");
  EXPECT_THAT(errorOf(user), HasSubstr("error processing PVC default/data: PVC is not bound"));
}

TEST_F(ClaimTest, OtherSortsAreRefused) {
  bind("nfs: {server: s, path: /}");
  EXPECT_THAT(errorOf(user), HasSubstr("only hostPath and local persistent volumes"));
}

TEST_F(PodVolumesTest, AnEphemeralClaimMustBeThePodsOwn) {
  cluster.create(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: pod-u-v}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
)");
  EXPECT_THAT(
      errorOf(pod(R"({"name": "v", "ephemeral": {"volumeClaimTemplate": {}}})")),
      HasSubstr("PVC default/pod-u-v was not created for pod default/pod-u (pod is not owner)"));
}

// A projected volume with API servers that support tokens and others that do not.
class TokenTest : public PodVolumesTest {
 protected:
  TokenTest() : api(cluster.loop) {
    makeVolumes(api);
    api.answer = [this](const kube::Request& request) -> Result<std::string> {
      if (request.subresource == "token") return tokens(request);
      return fail(ErrorCode::NotFound, request.resource + " not found");
    };
  }
  ~TokenTest() override { volumes.reset(); }

  HostPodPtr user = pod(R"({"name": "t", "projected": {"sources": [
      {"serviceAccountToken": {"path": "token", "expirationSeconds": 600, "audience": "me"}},
      {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}})",
                        R"(, "serviceAccountName": "robot")");
  kube::FakeApi api;
  std::vector<kube::Request> asked;
  std::function<Result<std::string>(const kube::Request&)> tokens =
      [this](const kube::Request& request) -> Result<std::string> {
    asked.push_back(request);
    return toJson(
        json::object{{"status",
                      {{"token", "t" + std::to_string(asked.size())},
                       {"expirationTimestamp", formatTime(cluster.loop.wallNow() + 600s)}}}});
  };
};

TEST_F(TokenTest, AreAskedForThePodAndRenewedBeforeTheyEnd) {
  ASSERT_EQ(errorOf(user), "");
  EXPECT_EQ(read("projected/t/token"), "t1");
  EXPECT_EQ(read("projected/t/ns"), "default");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].name, "robot");
  const auto body = parseJson(asked[0].body);
  EXPECT_EQ(textAt(*body, "spec", "boundObjectRef", "uid"), "u");
  EXPECT_EQ(toJson(*at(*body, "spec", "audiences")), "[\"me\"]");
  const auto due = volumes->refreshAt("u");
  ASSERT_TRUE(due);
  EXPECT_LE(*due - cluster.loop.wallNow(), 480s);
  EXPECT_GE(*due - cluster.loop.wallNow(), 478s);
  cluster.loop.advance(400s);
  ASSERT_EQ(errorOf(user), "");
  EXPECT_EQ(asked.size(), 1u);
  cluster.loop.advance(81s);
  ASSERT_EQ(errorOf(user), "");
  EXPECT_EQ(read("projected/t/token"), "t2");
}

TEST_F(TokenTest, AreLeftOutWhereThereAreNone) {
  tokens = [](const kube::Request&) {
    return Result<std::string>(
        fail(ErrorCode::NotFound, "the server could not find the requested resource"));
  };
  ASSERT_EQ(errorOf(user), "");
  EXPECT_EQ(read("projected/t/token"), "(none)");
  EXPECT_EQ(read("projected/t/ns"), "default");
  ASSERT_EQ(errorOf(user), "");
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("the file token is omitted")));
}

TEST_F(TokenTest, AreAskedForAgainWhateverWordsAFailureHas) {
  std::optional<Error> failure;
  tokens = [&](const kube::Request&) -> Result<std::string> {
    if (failure) return fail(*failure);
    return toJson(json::object{{"status", {{"token", "good"}}}});
  };
  const Error failures[] = {
      {ErrorCode::Forbidden, "serviceaccounts \"job-2501\" is forbidden: quota", {}},
      {ErrorCode::Unavailable, "connect 127.0.0.1:45013: refused", {}},
      {ErrorCode::Internal, "etcd: 501 lost", {}},
      {ErrorCode::NotFound, "pods \"pod-u\" not found", {}},
  };
  for (const auto& one : failures) {
    failure = one;
    EXPECT_THAT(errorOf(user), HasSubstr(one.message));
    failure.reset();
    EXPECT_EQ(errorOf(user), "");
    EXPECT_EQ(read("projected/t/token"), "good");
    ASSERT_TRUE(cluster.run(volumes->tearDown("u")));
  }
  failure = Error{ErrorCode::Internal, "POST https://api/: HTTP status 501: no", {}};
  EXPECT_EQ(errorOf(user), "");
  EXPECT_EQ(read("projected/t/token"), "(none)");
}

TEST_F(TokenTest, AreWaitedForWhenTheAccountIsMissing) {
  tokens = [](const kube::Request&) {
    return Result<std::string>(fail(ErrorCode::NotFound, "serviceaccounts \"robot\" not found"));
  };
  EXPECT_EQ(errorOf(user),
            "MountVolume.SetUp failed for volume \"t\" : failed to fetch token: "
            "serviceaccounts \"robot\" not found");
}

TEST_F(PodVolumesTest, MountsAreWhatTheContainerAsksFor) {
  auto made = *pod(R"({"name": "e"}, {"name": "d", "downwardAPI": {"items": []}})",
                   R"(, "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["db"]}])");
  auto& mounts = made.details.containers[0].volumeMounts;
  mounts[0].subPathExpr = "logs/$(POD)";
  mounts[0].mountPropagation = "HostToContainer";
  mounts[0].readOnly = true;
  mounts[0].recursiveReadOnly = "Enabled";
  const auto one = std::make_shared<const HostPod>(made);
  auto places = cluster.run(volumes->setUp(one));
  ASSERT_TRUE(places) << places.error().message;
  auto found = cluster.run(volumes->mountsOf(one, "main", *places, {"POD=p1"}));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->at(0).target, "/etc/hosts");
  EXPECT_THAT(*readFile(found->at(0).source), HasSubstr("10.0.0.1\tdb\n"));
  const MountSpec logs{dir + "/u/volumes/kubernetes.io~empty-dir/e",
                       "logs/p1",
                       "/e",
                       true,
                       true,
                       Propagation::HostToContainer};
  EXPECT_EQ(found->at(1), logs);
  EXPECT_TRUE(fs::is_directory(logs.source + "/logs/p1"));
  EXPECT_TRUE(found->at(2).readOnly);
  EXPECT_EQ(cluster.run(volumes->mountsOf(one, "main", *places, {})).error().message,
            "missing value for \"POD\"");
}

TEST_F(PodVolumesTest, ASubPathThatLeadsOutIsRefused) {
  auto made = *pod(R"({"name": "e"})");
  made.details.containers[0].volumeMounts[0].subPath = "link/x";
  const auto one = std::make_shared<const HostPod>(made);
  auto places = cluster.run(volumes->setUp(one));
  ASSERT_TRUE(places);
  fs::create_symlink(dir, places->at("e").path + "/link");
  EXPECT_THAT(cluster.run(volumes->mountsOf(one, "main", *places, {})).error().message,
              HasSubstr("failed to prepare subPath for volumeMount \"e\" of container \"main\""));
}

}  // namespace
}  // namespace koord::cluster
