// Admission of volumes and claims, through the server.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver {
namespace {

using ::testing::HasSubstr;

class StorageTest : public testing::ServerTest {
 protected:
  static constexpr const char* kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
  static constexpr const char* kClasses = "/apis/storage.k8s.io/v1/storageclasses";

  void storageClass(const std::string& name, const std::string& isDefault) {
    const auto made =
        post(kClasses,
             R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")" +
                 name + R"(","annotations":{"storageclass.kubernetes.io/is-default-class":")" +
                 isDefault + R"("}},"provisioner":"p"})");
    ASSERT_EQ(made.status, 201) << made.message();
  }
  json::value claim(const std::string& name, const std::string& spec,
                    const std::string& metadata = "") {
    const auto made =
        post(kClaims, R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" +
                          name + "\"" + metadata +
                          R"(},"spec":{"accessModes":["ReadWriteOnce"],"resources":)" +
                          R"({"requests":{"storage":"1Gi"}})" + spec + "}}");
    EXPECT_EQ(made.status, 201) << made.message();
    return made.body;
  }
};

TEST_F(StorageTest, AClaimThatNamesNoClassGetsTheDefaultOne) {
  EXPECT_EQ(textAt(claim("early", ""), "spec", "storageClassName"), "");
  storageClass("other", "false");
  storageClass("b", "true");
  storageClass("a", "true");  // of the same second: the first by name
  EXPECT_EQ(textAt(claim("late", ""), "spec", "storageClassName"), "a");
  EXPECT_EQ(textAt(claim("own", R"(,"storageClassName":"other")"), "spec", "storageClassName"),
            "other");
  const auto none = claim("none", R"(,"storageClassName":"")");
  ASSERT_TRUE(at(none, "spec", "storageClassName"));
  EXPECT_EQ(textAt(none, "spec", "storageClassName"), "");
  const auto old =
      claim("old", "", R"(,"annotations":{"volume.beta.kubernetes.io/storage-class":"other"})");
  EXPECT_FALSE(at(old, "spec", "storageClassName"));
}

TEST_F(StorageTest, TheNewestOfSeveralDefaultClassesCounts) {
  storageClass("a", "true");
  loop.advance(std::chrono::seconds(2));
  storageClass("z", "true");
  EXPECT_EQ(textAt(claim("data", ""), "spec", "storageClassName"), "z");
}

TEST_F(StorageTest, VolumesAndClaimsAreProtectedFromTheStart) {
  const auto made = claim("data", "", R"(,"finalizers":["example.com/mine"])");
  EXPECT_EQ(toJson(made.at("metadata").at("finalizers")),
            R"(["example.com/mine","kubernetes.io/pvc-protection"])");
  const auto volume = post("/api/v1/persistentvolumes",
                           R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},
      "spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/d"}}})");
  ASSERT_EQ(volume.status, 201) << volume.message();
  EXPECT_EQ(toJson(volume.body.at("metadata").at("finalizers")),
            R"(["kubernetes.io/pv-protection"])");
}

TEST_F(StorageTest, TablesHaveTheColumnsOfKubectl) {
  storageClass("standard", "true");
  const auto volume = post("/api/v1/persistentvolumes",
                           R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},
      "spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadOnlyMany"],"storageClassName":"s",
      "claimRef":{"namespace":"n","name":"c"},"hostPath":{"path":"/d"}}})");
  ASSERT_EQ(volume.status, 201) << volume.message();
  const auto cells = [&](const std::string& path) {
    const auto table = get(path, "application/json;as=Table;v=v1;g=meta.k8s.io").body;
    return toJson(table.at("rows").at(0).at("cells"));
  };
  EXPECT_EQ(cells("/api/v1/persistentvolumes"),
            R"(["v","1Gi","ROX,RWX","Retain","Pending","n/c","s","<unset>","","0s","Filesystem"])");
  EXPECT_EQ(cells(kClasses), R"x(["standard (default)","p","Delete","Immediate",false,"0s"])x");
}

TEST_F(StorageTest, PodsOfAStatefulSetMayMountTheirClaimTemplates) {
  const auto set = [](const std::string& volume) {
    return R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"serviceName":"db",
      "selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{
      "initContainers":[{"name":"i","image":"i","volumeMounts":[{"name":"data","mountPath":"/d"}]}],
      "containers":[{"name":"c","image":"i","volumeMounts":[{"name":")" +
           volume + R"(","mountPath":"/d"}]}],"volumes":[{"name":"data","emptyDir":{}}]}},
      "volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"]}},
      {"metadata":{"name":"logs"},"spec":{"accessModes":["ReadWriteOnce"]}}]}})";
  };
  const std::string path = "/apis/apps/v1/namespaces/default/statefulsets";
  const auto refused = post(path, set("dta"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.template.spec.containers[0].volumeMounts[0].name: Not found"));
  const auto made = post(path, set("logs"));
  EXPECT_EQ(made.status, 201) << made.message();
}

}  // namespace
}  // namespace koord::apiserver
