// ValidatingAdmissionPolicies: which requests they deny, and with what words.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PoliciesTest : public ServerTest {
 protected:
  const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
  const std::string kMaps = "/api/v1/namespaces/default/configmaps";

  Answer policy(const std::string& more) {
    return post(
        kGroup + "validatingadmissionpolicies",
        R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},)" +
            more + "}}");
  }
  Answer binding(const std::string& actions, const std::string& more = "") {
    return post(kGroup + "validatingadmissionpolicybindings",
                R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":)" +
                    actions + more + "}}");
  }
  Answer map(const std::string& name, const std::string& data) {
    return post(kMaps, R"({"metadata":{"name":")" + name + R"("},"data":)" + data + "}");
  }
};

TEST_F(PoliciesTest, aPolicyDeniesOnceItHasABinding) {
  ASSERT_EQ(policy(R"("validations":[{"expression":"object.data.size() < 2"}])").status, 201);
  EXPECT_EQ(map("a", R"({"x":"1","y":"2"})").status, 201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  const auto denied = map("b", R"({"x":"1","y":"2"})");
  EXPECT_EQ(denied.status, 422);
  EXPECT_EQ(textAt(denied.body, "reason"), "Invalid");
  EXPECT_EQ(denied.message(),
            "configmaps \"b\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: failed expression: object.data.size() < 2");
  EXPECT_EQ(map("b", R"({"x":"1"})").status, 201);
  EXPECT_EQ(mergePatch(kMaps + "/b", R"({"data":{"y":"2"}})").status, 422);
  ASSERT_EQ(remove(kGroup + "validatingadmissionpolicybindings/b").status, 200);
  EXPECT_EQ(mergePatch(kMaps + "/b", R"({"data":{"y":"2"}})").status, 200);
}

TEST_F(PoliciesTest, aBindingMayWarnOnly) {
  ASSERT_EQ(
      policy(R"("validations":[{"expression":"false","message":"not good","reason":"Forbidden"}])")
          .status,
      201);
  ASSERT_EQ(binding(R"(["Warn"])").status, 201);
  const auto made = map("a", "{}");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(made.warnings,
              ElementsAre("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
                          "not good"));
}

TEST_F(PoliciesTest, anErrorCountsAsTheFailurePolicySays) {
  ASSERT_EQ(policy(R"("validations":[{"expression":"object.none == 1"}])").status, 201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  const auto denied = map("a", "{}");
  EXPECT_EQ(denied.status, 422);
  EXPECT_THAT(denied.message(),
              HasSubstr("expression 'object.none == 1' resulted in error: no such "
                        "key: none"));
  ASSERT_EQ(
      mergePatch(kGroup + "validatingadmissionpolicies/p", R"({"spec":{"failurePolicy":"Ignore"}})")
          .status,
      200);
  EXPECT_EQ(map("a", "{}").status, 201);
}

TEST_F(PoliciesTest, aBindingGivesParameters) {
  ASSERT_EQ(map("limits", R"({"most":"1"})").status, 201);
  ASSERT_EQ(policy(R"json("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
      "validations":[{"expression":"object.data.size() <= int(params.data.most)"}])json")
                .status,
            201);
  ASSERT_EQ(
      binding(R"(["Deny"])", R"(,"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"})")
          .status,
      201);
  EXPECT_EQ(map("a", R"({"x":"1"})").status, 201);
  EXPECT_EQ(map("b", R"({"x":"1","y":"2"})").status, 422);
  ASSERT_EQ(remove(kMaps + "/limits").status, 200);
  EXPECT_THAT(map("c", "{}").message(),
              HasSubstr("failed to configure binding: no params found for policy binding with "
                        "`Deny` parameterNotFoundAction"));
}

TEST_F(PoliciesTest, aBindingMayNarrowTheRequests) {
  ASSERT_EQ(policy(R"("validations":[{"expression":"false"}])").status, 201);
  ASSERT_EQ(binding(R"(["Deny"])",
                    R"(,"matchResources":{"namespaceSelector":{"matchLabels":{"env":"prod"}}})")
                .status,
            201);
  EXPECT_EQ(map("a", "{}").status, 201);
  ASSERT_EQ(
      mergePatch("/api/v1/namespaces/default", R"({"metadata":{"labels":{"env":"prod"}}})").status,
      200);
  EXPECT_EQ(map("b", "{}").status, 422);
}

TEST_F(PoliciesTest, whatIsNoPolicyIsRefused) {
  const auto wrong = policy(R"("validations":[{"expression":"object."}])");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(wrong.message(),
              HasSubstr("spec.validations[0].expression: Invalid value: \"object.\": "
                        "compilation failed: ERROR: "));
  EXPECT_THAT(policy(R"("failurePolicy":"Odd")").message(),
              HasSubstr("spec.failurePolicy: Unsupported value: \"Odd\""));
  EXPECT_THAT(binding("[]").message(), HasSubstr("spec.validationActions: Required value"));
  EXPECT_THAT(binding(R"(["Deny","Warn"])").message(),
              HasSubstr("must not contain both Deny and Warn"));
}

}  // namespace
}  // namespace koord::apiserver::testing
