// Administrative access to devices, and who may change which part of a claim's status.

#include "apiserver/access/access_testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kGroup = "/apis/resource.k8s.io/v1/namespaces/default/";

class ResourceClaimAccessTest : public AccessTest {
 protected:
  static std::string claim(bool admin) {
    return std::string(
               R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"b","exactly":{"deviceClassName":"g"}},{"name":"a","exactly":{"deviceClassName":"g","adminAccess":)") +
           (admin ? "true" : "false") + "}}]}}}";
  }
  void label(const char* value) {
    const auto labeled =
        send(kAdmin, "PATCH", "/api/v1/namespaces/default",
             std::string(R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":")") +
                 value + R"("}}})");
    ASSERT_EQ(labeled.status, 200) << labeled.message();
  }
  Answer status(const As& who, const std::string& status) {
    return send(who, "PATCH", std::string(kGroup) + "resourceclaims/c/status",
                R"({"status":)" + status + "}");
  }
  static std::string allocation(const std::string& more = "") {
    return R"({"allocation":{"devices":{"results":[{"request":"a","driver":"d.example.com","pool":"n1","device":"gpu-0")" +
           more +
           R"(}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}})";
  }
};

TEST_F(ResourceClaimAccessTest, onlyALabeledNamespaceHasAdministrativeAccess) {
  const std::string path = std::string(kGroup) + "resourceclaims";
  const auto refused = send(kAdmin, "POST", path, claim(true));
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            "ResourceClaim.resource.k8s.io \"c\" is invalid: "
            "spec.devices.requests[1].adminAccess: Forbidden: admin access to devices requires the "
            "`resource.kubernetes.io/admin-access: true` label on the containing namespace");
  const auto refusedTemplate = send(
      kAdmin, "POST", std::string(kGroup) + "resourceclaimtemplates",
      R"({"metadata":{"name":"t"},"spec":)" +
          claim(true).replace(0, std::string(R"({"metadata":{"name":"c"},)").size(), "{") + "}");
  EXPECT_EQ(refusedTemplate.status, 422) << refusedTemplate.message();
  label("false");
  EXPECT_EQ(send(kAdmin, "POST", path, claim(true)).status, 422);
  label("true");
  const auto made = send(kAdmin, "POST", path, claim(true));
  EXPECT_EQ(made.status, 201) << made.message();
}

TEST_F(ResourceClaimAccessTest, anAllocationHasAdministrativeAccessOnlyThere) {
  ASSERT_EQ(send(kAdmin, "POST", std::string(kGroup) + "resourceclaims", claim(false)).status, 201);
  const auto refused = status(kAdmin, allocation(R"(,"adminAccess":true)") + "}");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("status.allocation.devices.results[0].adminAccess: Forbidden: admin access"));
  label("true");
  EXPECT_EQ(status(kAdmin, allocation(R"(,"adminAccess":true)") + "}").status, 200);
  label("false");
  EXPECT_EQ(status(kAdmin, R"({"reservedFor":[{"resource":"pods","name":"p","uid":"1"}]})").status,
            200);
}

TEST_F(ResourceClaimAccessTest, anAllocationNeedsThePermissionToBind) {
  ASSERT_EQ(send(kAdmin, "POST", std::string(kGroup) + "resourceclaims", claim(false)).status, 201);
  grant(
      "status", "",
      R"([{"verbs":["patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/status"]}])",
      R"({"kind":"User","name":"driver"})");
  const auto refused = status(user("driver"), allocation() + "}");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr(
          "status.allocation: Forbidden: changing status.allocation or status.reservedFor "
          "requires resource=\"resourceclaims/binding\", verb=\"patch\" permission: "
          "resourceclaims.resource.k8s.io is forbidden: User \"driver\" cannot patch resource "
          "\"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope"));
  const auto scheduler = status(user("system:kube-scheduler"), allocation() + "}");
  EXPECT_EQ(scheduler.status, 200) << scheduler.message();
}

TEST_F(ResourceClaimAccessTest, aDriverReportsOnItsOwnDevicesOnItsOwnNode) {
  ASSERT_EQ(send(kAdmin, "POST", std::string(kGroup) + "resourceclaims", claim(false)).status, 201);
  ASSERT_EQ(status(kAdmin, allocation() + "}").status, 200);
  grant(
      "status", "",
      R"([{"verbs":["patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/status"]}])",
      R"({"kind":"User","name":"driver"})");
  const std::string report =
      R"({"devices":[{"driver":"d.example.com","pool":"n1","device":"gpu-0","conditions":[]}]})";
  const auto refused = status(user("driver"), report);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("status.devices: Forbidden: changing status.devices requires "
                "resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\" "
                "permission: resourceclaims.resource.k8s.io \"d.example.com\" is forbidden"));
  grant(
      "other", "",
      R"([{"verbs":["arbitrary-node:patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/driver"],"resourceNames":["e.example.com"]}])",
      R"({"kind":"User","name":"driver"})");
  EXPECT_EQ(status(user("driver"), report).status, 422);
  grant(
      "own", "",
      R"([{"verbs":["arbitrary-node:patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/driver"],"resourceNames":["d.example.com"]}])",
      R"({"kind":"User","name":"driver"})");
  const auto reported = status(user("driver"), report);
  EXPECT_EQ(reported.status, 200) << reported.message();
}

TEST_F(ResourceClaimAccessTest, aKubeletReadsTheClaimsOfItsPodsAndWritesItsOwnSlices) {
  const auto slice = [](const std::string& name, const std::string& node) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":")" +
           node + "\"}}";
  };
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  EXPECT_EQ(send(kNode, "POST", slices, slice("s1", "n1")).status, 201);
  EXPECT_THAT(send(kNode, "POST", slices, slice("s2", "n2")).message(),
              HasSubstr("can only create ResourceSlice with the same NodeName as the requesting"));
  EXPECT_EQ(send(kAdmin, "POST", slices, slice("s2", "n2")).status, 201);
  EXPECT_EQ(send(kNode, "GET", slices + "/s1").status, 200);
  EXPECT_EQ(send(kNode, "DELETE", slices + "/s2").status, 403);
  EXPECT_EQ(send(kNode, "GET", slices).status, 403);
  EXPECT_EQ(send(kNode, "GET", slices + "?fieldSelector=spec.nodeName%3Dn1").status, 200);

  const std::string claims = std::string(kGroup) + "resourceclaims/";
  ASSERT_EQ(send(kAdmin, "POST", kPods,
                 pod("p", R"(,"nodeName":"n1","resourceClaims":[{"name":"a","resourceClaimName":)"
                          R"("own"},{"name":"b","resourceClaimTemplateName":"t"}])"))
                .status,
            201);
  EXPECT_EQ(send(kNode, "GET", claims + "own").status, 404);
  EXPECT_EQ(send(kNode, "GET", claims + "made").status, 403);
  ASSERT_EQ(
      send(kAdmin, "PATCH", std::string(kPods) + "/p/status",
           R"({"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"made"}]}})")
          .status,
      200);
  EXPECT_EQ(send(kNode, "GET", claims + "made").status, 404);
}

TEST_F(ResourceClaimAccessTest, editorsWriteClaimsAndViewersReadThem) {
  bind("e", "default", "ClusterRole", "edit", R"({"kind":"User","name":"ed"})");
  bind("v", "default", "ClusterRole", "view", R"({"kind":"User","name":"vi"})");
  const std::string path = std::string(kGroup) + "resourceclaims";
  EXPECT_EQ(send(user("ed"), "POST", path, claim(false)).status, 201);
  EXPECT_EQ(send(user("vi"), "GET", path + "/c").status, 200);
  EXPECT_EQ(send(user("vi"), "DELETE", path + "/c").status, 403);
  EXPECT_EQ(send(user("ed"), "GET", "/apis/resource.k8s.io/v1/resourceslices").status, 403);
}

}  // namespace
}  // namespace koord::apiserver::testing
