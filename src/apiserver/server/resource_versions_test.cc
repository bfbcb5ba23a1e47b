// The versions of resource.k8s.io: objects written in one are read in another.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

std::string pathOf(const std::string& version, const std::string& rest) {
  return "/apis/resource.k8s.io/" + version + "/" + rest;
}
constexpr const char* kClaimsPath = "namespaces/default/resourceclaims";

class ResourceVersionsTest : public ServerTest {
 protected:
  std::string specIn(const std::string& version, const std::string& rest) {
    const auto answer = get(pathOf(version, rest));
    EXPECT_EQ(answer.status, 200) << answer.message();
    EXPECT_EQ(textAt(answer.body, "apiVersion"), "resource.k8s.io/" + version);
    const auto* spec = find(answer.body, "spec");
    return spec ? toJson(*spec) : "";
  }
};

TEST_F(ResourceVersionsTest, aRequestIsFlatInV1beta1AndNestedInLaterVersions) {
  const std::string flat =
      R"({"devices":{"requests":[{"name":"a","deviceClassName":"gpu","selectors":[{"cel":{"expression":"true"}}],)"
      R"("allocationMode":"ExactCount","count":2,"adminAccess":false,"tolerations":[{"key":"k","operator":"Exists"}],)"
      R"("capacity":{"requests":{"memory":"1Gi"}}},{"name":"b","firstAvailable":[{"name":"x",)"
      R"("deviceClassName":"gpu","allocationMode":"All"}]}]}})";
  const auto made = post(pathOf("v1beta1", kClaimsPath),
                         R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim",)"
                         R"("metadata":{"name":"c"},"spec":)" +
                             flat + "}");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(toJson(*find(made.body, "spec")), flat);
  const std::string claim = std::string(kClaimsPath) + "/c";
  EXPECT_EQ(specIn("v1beta1", claim), flat);
  for (const auto* version : {"v1", "v1beta2"})
    EXPECT_EQ(
        specIn(version, claim),
        R"({"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":"true"}}],"allocationMode":"ExactCount","count":2,"adminAccess":false,"tolerations":[{"key":"k","operator":"Exists"}],"capacity":{"requests":{"memory":"1Gi"}}}},{"name":"b","firstAvailable":[{"name":"x","deviceClassName":"gpu","allocationMode":"All"}]}]}})")
        << version;
}

TEST_F(ResourceVersionsTest, anUpdateInAnOldVersionThatChangesNothingIsNoChange) {
  ASSERT_EQ(post(pathOf("v1", kClaimsPath),
                 R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"a",)"
                 R"("exactly":{"deviceClassName":"gpu"}}]}}})")
                .status,
            201);
  const std::string path = pathOf("v1beta1", std::string(kClaimsPath) + "/c");
  const auto old = get(path);
  const auto same = put(path, old.body);
  ASSERT_EQ(same.status, 200) << same.message();
  EXPECT_EQ(textAt(same.body, "metadata", "resourceVersion"),
            textAt(old.body, "metadata", "resourceVersion"));
  const auto labeled = strategicPatch(path, R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labeled.status, 200) << labeled.message();
  const auto changed = mergePatch(
      path, R"({"spec":{"devices":{"requests":[{"name":"a","deviceClassName":"other"}]}}})");
  EXPECT_EQ(changed.status, 422);
}

TEST_F(ResourceVersionsTest, aTemplateIsConvertedAsAClaim) {
  const auto made =
      post(pathOf("v1beta1", "namespaces/default/resourceclaimtemplates"),
           R"({"metadata":{"name":"t"},"spec":{"metadata":{"labels":{"a":"b"}},)"
           R"("spec":{"devices":{"requests":[{"name":"a","deviceClassName":"g"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(
      specIn("v1", "namespaces/default/resourceclaimtemplates/t"),
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"g","allocationMode":"ExactCount","count":1}}]}}})");
}

TEST_F(ResourceVersionsTest, aDeviceHasItsContentsInBasicInV1beta1) {
  const std::string device =
      R"("attributes":{"model":{"string":"a"}},"capacity":{"memory":{"value":"1Gi"}})";
  const std::string given =  // amounts are stored in canonical form
      R"("attributes":{"model":{"string":"a"}},"capacity":{"memory":{"value":"1024Mi"}})";
  const auto made = post(
      pathOf("v1beta1", "resourceslices"),
      R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","generation":0,)"
      R"("resourceSliceCount":1},"nodeName":"n","allNodes":false,"devices":[{"name":"a","basic":{)" +
          device + R"(}},{"name":"b","basic":{}}]}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(
      specIn("v1", "resourceslices/s"),
      R"({"driver":"d","pool":{"name":"p","generation":0,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a",)" +
          device + R"(},{"name":"b"}]})");
  EXPECT_EQ(
      specIn("v1beta1", "resourceslices/s"),
      R"({"driver":"d","pool":{"name":"p","generation":0,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a","basic":{)" +
          device + R"(}},{"name":"b","basic":{}}]})");
}

TEST_F(ResourceVersionsTest, aWatchOfAnOldVersionReceivesItsForm) {
  auto& log = watch(pathOf("v1beta1", kClaimsPath));
  ASSERT_EQ(post(pathOf("v1", kClaimsPath),
                 R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"a",)"
                 R"("exactly":{"deviceClassName":"gpu"}}]}}})")
                .status,
            201);
  ASSERT_FALSE(log.objects.empty());
  EXPECT_EQ(textAt(at(log.objects.back(), "spec", "devices", "requests")->get_array()[0],
                   "deviceClassName"),
            "gpu");
}

TEST_F(ResourceVersionsTest, theApplyOfAnOldVersionOwnsTheFieldsOfTheStoredForm) {
  const std::string path = pathOf("v1beta1", std::string(kClaimsPath) + "/c");
  const auto applied =
      request("PATCH", path + "?fieldManager=me",
              R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim",)"
              R"("metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"a",)"
              R"("deviceClassName":"gpu"}]}}})",
              "application/apply-patch+yaml");
  ASSERT_EQ(applied.status, 201) << applied.message();
  EXPECT_EQ(
      textAt(at(applied.body, "spec", "devices", "requests")->get_array()[0], "deviceClassName"),
      "gpu");
  const auto& owner = at(applied.body, "metadata", "managedFields")->get_array()[0];
  EXPECT_EQ(textAt(owner, "apiVersion"), "resource.k8s.io/v1");
}

TEST_F(ResourceVersionsTest, anUnknownFieldIsOneOfTheVersion) {
  const auto made = post(pathOf("v1", kClaimsPath),
                         R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"a",)"
                         R"("deviceClassName":"gpu","exactly":{"deviceClassName":"gpu"}}]}}})");
  ASSERT_EQ(made.status, 201) << made.message();
  ASSERT_EQ(made.warnings.size(), 1U);
  EXPECT_THAT(made.warnings[0], HasSubstr("spec.devices.requests[0].deviceClassName"));
}

}  // namespace
}  // namespace koord::apiserver::testing
