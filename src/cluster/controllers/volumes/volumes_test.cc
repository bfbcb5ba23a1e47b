#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "api/storage.h"
#include "base/testing/without_openat2.h"
#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/volumes/volume_folders.h"

namespace koord::cluster {
namespace {

using Claim = api::PersistentVolumeClaim;
using Disk = api::PersistentVolume;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class VolumesTest : public ControllersTest {
 protected:
  void createVolume(const std::string& name, const std::string& size, std::string more = "") {
    cluster.create("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name +
                   ", labels: {disk: " + name + "}}\nspec:\n  capacity: {storage: " + size +
                   "}\n  hostPath: {path: /disk}\n" +
                   (more.empty() ? "  accessModes: [ReadWriteOnce]\n" : more));
  }
  void createClaim(const std::string& name, const std::string& more) {
    cluster.create("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name +
                   "}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: "
                   "1Gi}}\n" +
                   more);
  }
  void createClass(const std::string& name, const std::string& more, bool isDefault = false) {
    cluster.create("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + name +
                   (isDefault ? ", annotations: {storageclass.kubernetes.io/is-default-class: "
                                "'true'}"
                              : std::string()) +
                   "}\n" + more);
  }
  void createStandard(const std::string& policy = "Delete") {
    createClass("standard",
                "provisioner: koordctl.koordinator.sh/host-path\nreclaimPolicy: " + policy +
                    "\nvolumeBindingMode: WaitForFirstConsumer\n",
                true);
  }
  void createNode(const std::string& name, const std::string& annotations) {
    cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
                   ", labels: {kubernetes.io/hostname: " + name + "}, annotations: {" +
                   annotations + "}}");
  }
  // Plays the scheduler.
  void select(const std::string& claim, const std::string& node) {
    cluster.patch<Claim>(
        claim, "metadata: {annotations: {volume.kubernetes.io/selected-node: " + node + "}}");
  }
  std::string phaseOf(const std::string& claim) {
    const auto object = cluster.get<Claim>(claim);
    return object ? object->status.phase : "gone";
  }
  std::string volumePhase(const std::string& name) {
    const auto object = cluster.get<Disk>(name);
    return object ? object->status.phase : "gone";
  }
  std::string volumeOf(const std::string& claim) {
    const auto object = cluster.get<Claim>(claim);
    return object ? object->spec.volumeName : "";
  }
  bool untilBound(const std::string& claim) {
    return cluster.until([&] { return phaseOf(claim) == "Bound"; });
  }
  // "reason: message" of each event about an object.
  std::vector<std::string> eventsOf(const std::string& name) {
    std::vector<std::string> out;
    for (const auto& event : cluster.list<api::Event>())
      if (event.involvedObject.name == name) out.push_back(event.reason + ": " + event.message);
    return out;
  }
};

TEST_F(VolumesTest, AClaimGetsTheSmallestVolumeThatSuits) {
  createVolume("large", "10Gi");
  createVolume("small", "512Mi");
  createVolume("fits", "2Gi");
  createVolume("shared", "1Gi", "  accessModes: [ReadWriteOnce, ReadWriteMany]\n");
  createVolume("block", "1Gi", "  accessModes: [ReadWriteOnce]\n  volumeMode: Block\n");
  createVolume("fast", "1Gi", "  accessModes: [ReadWriteOnce]\n  storageClassName: fast\n");
  createClaim("data", "  storageClassName: ''\n");
  ASSERT_TRUE(untilBound("data"));
  EXPECT_EQ(volumeOf("data"), "fits");
  const auto claim = cluster.get<Claim>("data");
  EXPECT_EQ(claim->metadata.annotations.at("pv.kubernetes.io/bind-completed"), "yes");
  EXPECT_EQ(claim->metadata.annotations.at("pv.kubernetes.io/bound-by-controller"), "yes");
  EXPECT_EQ(claim->status.capacity.at("storage").toString(), "2Gi");
  EXPECT_THAT(claim->status.accessModes, ElementsAre("ReadWriteOnce"));
  const auto volume = cluster.get<Disk>("fits");
  EXPECT_EQ(volume->status.phase, "Bound");
  EXPECT_EQ(volume->spec.claimRef->uid, claim->metadata.uid);
  EXPECT_EQ(volume->metadata.annotations.at("pv.kubernetes.io/bound-by-controller"), "yes");
  EXPECT_EQ(volumePhase("large"), "Available");
}

TEST_F(VolumesTest, TwoClaimsNeverShareAVolume) {
  for (const char* name : {"a", "b", "c"}) createClaim(name, "  storageClassName: ''\n");
  for (const char* name : {"one", "two"}) createVolume(name, "1Gi");
  cluster.loop.advance(10s);
  std::set<std::string> used;
  for (const char* name : {"a", "b", "c"})
    if (phaseOf(name) == "Bound") used.insert(volumeOf(name));
  EXPECT_THAT(used, testing::UnorderedElementsAre("one", "two"));
}

TEST_F(VolumesTest, AClaimWaitsForAVolumeAndSaysSo) {
  createClaim("data", "  storageClassName: ''\n  selector: {matchLabels: {disk: mine}}\n");
  createVolume("other", "1Gi");
  cluster.loop.advance(2s);
  EXPECT_EQ(phaseOf("data"), "Pending");
  EXPECT_THAT(eventsOf("data"),
              ElementsAre("FailedBinding: no persistent volumes available for this claim and no "
                          "storage class is set"));
  createVolume("mine", "1Gi");
  ASSERT_TRUE(untilBound("data"));
  EXPECT_EQ(volumeOf("data"), "mine");
}

TEST_F(VolumesTest, APromiseOfEitherSideIsKept) {
  createVolume("for-b", "5Gi",
               "  accessModes: [ReadWriteOnce]\n  claimRef: {namespace: default, name: b}\n");
  createVolume("any", "1Gi");
  createVolume("asked-for", "3Gi");
  createClaim("b", "  storageClassName: ''\n");
  createClaim("c", "  storageClassName: ''\n  volumeName: asked-for\n");
  ASSERT_TRUE(untilBound("b"));
  ASSERT_TRUE(untilBound("c"));
  EXPECT_EQ(volumeOf("b"), "for-b");
  EXPECT_EQ(volumeOf("c"), "asked-for");
  // A user's reference is not marked as the controller's choice.
  EXPECT_FALSE(cluster.get<Disk>("for-b")->metadata.annotations.contains(
      "pv.kubernetes.io/bound-by-controller"));
  EXPECT_FALSE(cluster.get<Claim>("c")->metadata.annotations.contains(
      "pv.kubernetes.io/bound-by-controller"));
  EXPECT_EQ(volumePhase("any"), "Available");
}

TEST_F(VolumesTest, AVolumeThatIsAskedForButDoesNotSuitIsRefused) {
  createVolume("tiny", "1Mi");
  createVolume("taken", "1Gi",
               "  accessModes: [ReadWriteOnce]\n  claimRef: {namespace: default, name: other}\n");
  createClaim("a", "  storageClassName: ''\n  volumeName: tiny\n");
  createClaim("b", "  storageClassName: ''\n  volumeName: taken\n");
  cluster.loop.advance(2s);
  EXPECT_EQ(phaseOf("a"), "Pending");
  EXPECT_THAT(eventsOf("a"),
              ElementsAre("VolumeMismatch: Cannot bind to requested volume \"tiny\": requested PV "
                          "is too small"));
  EXPECT_THAT(eventsOf("b"),
              ElementsAre("FailedBinding: volume \"taken\" already bound to a different claim."));
}

TEST_F(VolumesTest, AVolumeIsReleasedWithItsClaimAndKeptByRetain) {
  createVolume("disk", "1Gi");
  createClaim("data", "  storageClassName: ''\n");
  ASSERT_TRUE(untilBound("data"));
  cluster.remove<Claim>("data");
  ASSERT_TRUE(cluster.until([&] { return volumePhase("disk") == "Released"; }));
  EXPECT_EQ(phaseOf("data"), "gone");
  // Data of one claim never goes to another claim automatically.
  createClaim("data", "  storageClassName: ''\n");
  cluster.loop.advance(5s);
  EXPECT_EQ(phaseOf("data"), "Pending");
  cluster.patch<Disk>("disk", "spec: {claimRef: null}");
  EXPECT_TRUE(untilBound("data"));
}

TEST_F(VolumesTest, AVolumeMadeByHandCannotBeDeletedAndFails) {
  createVolume("disk", "1Gi",
               "  accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Delete\n");
  createClaim("data", "  storageClassName: ''\n");
  ASSERT_TRUE(untilBound("data"));
  cluster.remove<Claim>("data");
  ASSERT_TRUE(cluster.until([&] { return volumePhase("disk") == "Failed"; }));
  EXPECT_THAT(eventsOf("disk"), Contains(HasSubstr("VolumeFailedDelete: ")));
}

TEST_F(VolumesTest, AClaimWhoseVolumeIsGoneIsLost) {
  createVolume("disk", "1Gi");
  createClaim("data", "  storageClassName: ''\n");
  ASSERT_TRUE(untilBound("data"));
  cluster.remove<Disk>("disk");
  cluster.loop.advance(5s);
  EXPECT_EQ(volumePhase("disk"), "Bound") << "a volume in use is protected";
  cluster.patch<Disk>("disk", "metadata: {finalizers: null}");
  ASSERT_TRUE(cluster.until([&] { return phaseOf("data") == "Lost"; }));
  EXPECT_THAT(eventsOf("data"), Contains("ClaimLost: Bound claim has lost its PersistentVolume. "
                                         "Data on the volume is lost!"));
}

TEST_F(VolumesTest, AClaimIsThereWhileAPodUsesIt) {
  createVolume("disk", "1Gi");
  createClaim("data", "  storageClassName: ''\n");
  ASSERT_TRUE(untilBound("data"));
  cluster.create(R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: box
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}])");
  cluster.loop.advance(1s);
  cluster.remove<Claim>("data");
  cluster.loop.advance(10s);
  ASSERT_TRUE(cluster.get<Claim>("data"));
  EXPECT_TRUE(cluster.get<Claim>("data")->metadata.deletionTimestamp);
  cluster.remove<api::Pod>("web");
  EXPECT_TRUE(cluster.until([&] { return phaseOf("data") == "gone"; }));
  EXPECT_TRUE(cluster.until([&] { return volumePhase("disk") == "Released"; }));
}

TEST_F(VolumesTest, AClaimOfAWaitingClassGetsNoVolumeBeforeItsFirstPod) {
  createClass("local",
              "provisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: "
              "WaitForFirstConsumer\n");
  createVolume("disk", "1Gi", "  accessModes: [ReadWriteOnce]\n  storageClassName: local\n");
  createClaim("data", "  storageClassName: local\n");
  cluster.loop.advance(10s);
  EXPECT_EQ(phaseOf("data"), "Pending");
  EXPECT_THAT(eventsOf("data"), ElementsAre("WaitForFirstConsumer: waiting for first consumer to "
                                            "be created before binding"));
  // The scheduler reserves a volume for it.
  cluster.patch<Disk>("disk",
                      "spec: {claimRef: {kind: PersistentVolumeClaim, namespace: default, "
                      "name: data, uid: " +
                          cluster.get<Claim>("data")->metadata.uid + "}}");
  EXPECT_TRUE(untilBound("data"));
}

TEST_F(VolumesTest, AVolumeIsMadeOnTheNodeThatWasChosenAndGoesWithItsClaim) {
  createStandard();
  createNode("sim", "kwok.x-k8s.io/node: fake");
  createClaim("data", "");
  cluster.loop.advance(2s);
  EXPECT_EQ(cluster.get<Claim>("data")->spec.storageClassName, "standard");
  select("data", "sim");
  ASSERT_TRUE(untilBound("data"));
  const auto volume = cluster.get<Disk>(volumeOf("data"));
  ASSERT_TRUE(volume);
  EXPECT_EQ(volume->metadata.name, "pvc-" + cluster.get<Claim>("data")->metadata.uid);
  EXPECT_EQ(volume->metadata.annotations.at("pv.kubernetes.io/provisioned-by"),
            "koordctl.koordinator.sh/host-path");
  const auto& term = volume->spec.nodeAffinity->required->nodeSelectorTerms.at(0);
  EXPECT_EQ(term.matchExpressions.at(0).key, "kubernetes.io/hostname");
  EXPECT_THAT(term.matchExpressions.at(0).values, ElementsAre("sim"));
  const std::string key = "default/data";
  EXPECT_THAT(
      eventsOf("data"),
      testing::IsSupersetOf(
          {std::string("WaitForFirstConsumer: waiting for first consumer to be created before "
                       "binding"),
           "Provisioning: External provisioner is provisioning volume for claim \"" + key + "\"",
           "ProvisioningSucceeded: Successfully provisioned volume " + volume->metadata.name}));
  cluster.remove<Claim>("data");
  EXPECT_TRUE(cluster.until([&] { return cluster.list<Disk>().empty(); }));
}

TEST_F(VolumesTest, RetainedVolumesThatWereMadeStayUntilSomebodyDeletesThem) {
  createStandard("Retain");
  createNode("sim", "kwok.x-k8s.io/node: fake");
  createClaim("data", "");
  cluster.loop.advance(1s);
  select("data", "sim");
  ASSERT_TRUE(untilBound("data"));
  const std::string volume = volumeOf("data");
  cluster.remove<Claim>("data");
  ASSERT_TRUE(cluster.until([&] { return volumePhase(volume) == "Released"; }));
  cluster.loop.advance(10s);
  EXPECT_EQ(volumePhase(volume), "Released");
  cluster.remove<Disk>(volume);
  EXPECT_TRUE(cluster.until([&] { return volumePhase(volume) == "gone"; }));
}

TEST_F(VolumesTest, WhatAFolderOfOneNodeCannotBeIsRefused) {
  createStandard();
  createNode("sim", "kwok.x-k8s.io/node: fake");
  createNode("strange", "");
  createClaim("many", "  volumeMode: Block\n");
  createClaim("lost", "");
  cluster.loop.advance(1s);
  select("many", "sim");
  select("lost", "strange");
  cluster.loop.advance(5s);
  EXPECT_EQ(phaseOf("many"), "Pending");
  EXPECT_THAT(eventsOf("many"),
              Contains(HasSubstr("ProvisioningFailed: failed to provision volume with StorageClass "
                                 "\"standard\": spec.volumeMode: Block is not supported")));
  // Another node may be possible.
  EXPECT_THAT(eventsOf("lost"), Contains(HasSubstr("neither this host nor a simulated node")));
  EXPECT_FALSE(cluster.get<Claim>("lost")->metadata.annotations.contains(
      "volume.kubernetes.io/selected-node"));
}

TEST_F(VolumesTest, ADefaultClassIsForClaimsFromBeforeItAsWell) {
  createClaim("early", "");
  createClaim("none", "  storageClassName: ''\n");
  cluster.loop.advance(2s);
  EXPECT_FALSE(cluster.get<Claim>("early")->spec.storageClassName);
  createStandard();
  EXPECT_TRUE(cluster.until(
      [&] { return cluster.get<Claim>("early")->spec.storageClassName == "standard"; }));
  EXPECT_EQ(cluster.get<Claim>("none")->spec.storageClassName, "");
}

TEST_F(VolumesTest, OthersProvisionersAreAskedAndMissingClassesSaid) {
  createClass("cloud", "provisioner: csi.example.com\nvolumeBindingMode: Immediate\n");
  createClaim("data", "  storageClassName: cloud\n");
  createClaim("typo", "  storageClassName: cluod\n");
  cluster.loop.advance(2s);
  EXPECT_EQ(cluster.get<Claim>("data")->metadata.annotations.at(
                "volume.kubernetes.io/storage-provisioner"),
            "csi.example.com");
  EXPECT_THAT(eventsOf("data"),
              ElementsAre(HasSubstr("ExternalProvisioning: Waiting for a volume to be created "
                                    "either by the external provisioner 'csi.example.com'")));
  EXPECT_THAT(eventsOf("typo"), ElementsAre("ProvisioningFailed: storageclass.storage.k8s.io "
                                            "\"cluod\" not found"));
}

TEST_F(VolumesTest, AnEphemeralVolumeGetsAClaimThatGoesWithItsPod) {
  createVolume("disk", "1Gi");
  cluster.create(R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i}]
  volumes:
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {kind: scratch}}
        spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}})");
  ASSERT_TRUE(untilBound("web-scratch"));
  EXPECT_EQ(cluster.get<Claim>("web-scratch")->metadata.labels.at("kind"), "scratch");
  cluster.remove<api::Pod>("web");
  EXPECT_TRUE(cluster.until([&] { return phaseOf("web-scratch") == "gone"; }));
}

// The host with its own data folder.
class HostVolumesTest : public VolumesTest {
 protected:
  HostVolumesTest() {
    std::string path = (std::filesystem::temp_directory_path() / "volumes-XXXXXX").string();
    folder = ::mkdtemp(path.data());
    controllers.setVolumeHost("box", folder + "/volumes");
    createStandard();
    createNode("box", "");
  }
  ~HostVolumesTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(HostVolumesTest, AVolumeOfThisMachineIsAFolderUntilItIsDeleted) {
  createClaim("data", "");
  cluster.loop.advance(1s);
  select("data", "box");
  ASSERT_TRUE(untilBound("data"));
  const std::filesystem::path path = folder + "/volumes/" + volumeOf("data");
  ASSERT_TRUE(std::filesystem::is_directory(path));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0777));
  std::filesystem::create_directories(path / "a/b/c");
  for (int i = 0; i < 5'000; ++i) std::ofstream(path / ("a/" + std::to_string(i))) << "x";
  std::filesystem::create_directory(folder + "/precious");
  std::ofstream(folder + "/precious/file") << "x";
  std::filesystem::create_directory_symlink(folder + "/precious", path / "link");
  // A path in the spec comes from any user who may write it, and is not removed.
  cluster.remove<Claim>("data");
  EXPECT_TRUE(cluster.until([&] { return cluster.list<Disk>().empty(); }));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(folder + "/precious/file"));
}

TEST_F(HostVolumesTest, WhatIsMountedInAVolumeStays) {
  const VolumeFolders folders(folder + "/volumes");
  const auto path = folders.make("pvc-1");
  ASSERT_TRUE(path);
  std::filesystem::create_directories(folder + "/precious");
  std::filesystem::create_directories(*path + "/inner");
  std::ofstream(folder + "/precious/file") << "x";
  if (::mount((folder + "/precious").c_str(), (*path + "/inner").c_str(), nullptr, MS_BIND,
              nullptr) != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  const auto removed = folders.remove("pvc-1", 100);
  const bool refused = withoutOpenat2(ENOSYS, [&] { return !folders.remove("pvc-1", 100); });
  const bool there = std::filesystem::exists(folder + "/precious/file");
  ASSERT_EQ(::umount2((*path + "/inner").c_str(), MNT_DETACH), 0);
  EXPECT_TRUE(there);
  EXPECT_TRUE(refused);
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, ::testing::HasSubstr("is a mount point"));
  EXPECT_TRUE(withoutOpenat2(EPERM, [&] { return folders.remove("pvc-1", 100).value_or(false); }));
  EXPECT_FALSE(std::filesystem::exists(*path));
}

TEST_F(HostVolumesTest, AForgedVolumeRemovesNothingOutsideOfTheFolder) {
  std::filesystem::create_directories(folder + "/precious");
  const VolumeFolders folders(folder + "/volumes");
  for (const char* name : {"..", ".", "", "a/b", "../precious", "/etc", "Up", "a\\b"}) {
    EXPECT_FALSE(folders.make(name)) << name;
    EXPECT_FALSE(folders.remove(name, 10)) << name;
  }
  // A link in place of a volume's folder.
  std::filesystem::create_directories(folder + "/volumes");
  std::filesystem::create_directory_symlink(folder + "/precious", folder + "/volumes/pvc-1");
  EXPECT_FALSE(folders.make("pvc-1"));
  EXPECT_FALSE(folders.remove("pvc-1", 10));
  EXPECT_TRUE(std::filesystem::exists(folder + "/precious"));
  cluster.create(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: forged, annotations: {pv.kubernetes.io/provisioned-by: koordctl.koordinator.sh/host-path}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  claimRef: {namespace: default, name: nobody, uid: 00000000-0000-4000-8000-000000000000}
  hostPath: {path: )" +
                 folder + "/precious}");
  EXPECT_TRUE(cluster.until([&] { return cluster.list<Disk>().empty(); }));
  EXPECT_TRUE(std::filesystem::exists(folder + "/precious"));
}

}  // namespace
}  // namespace koord::cluster
