// Who may name the parameters of admission policies.

#include "apiserver/access/access_testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class ParamAccessTest : public AccessTest {
 protected:
  void SetUp() override {
    AccessTest::SetUp();
    grant("policies", "",
          R"([{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]}])",
          R"({"kind":"User","name":"ann"})");
  }
  Answer policy(const As& who) {
    return send(who, "POST", kAdmission + "mutatingadmissionpolicies",
                R"({"metadata":{"name":"p"},"spec":{"reinvocationPolicy":"Never",
        "paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
        "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
          "operations":["CREATE"],"resources":["pods"]}]},
        "mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]}})");
  }
  Answer binding(const As& who) {
    return send(who, "POST", kAdmission + "mutatingadmissionpolicybindings",
                R"({"metadata":{"name":"b"},"spec":{"policyName":"p","paramRef":{"name":"secret",
        "namespace":"default","parameterNotFoundAction":"Deny"}}})");
  }
  const std::string kAdmission = "/apis/admissionregistration.k8s.io/v1/";
};

TEST_F(ParamAccessTest, onlyThoseWhoMayReadParametersNameThem) {
  const As ann = user("ann");
  const auto refused = policy(ann);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.paramKind: Forbidden: user ann must have \"get\" permission on all "
                        "objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)"));
  EXPECT_THAT(binding(ann).message(), HasSubstr("unable to get policy p to determine minimum"));
  ASSERT_EQ(policy(kAdmin).status, 201);
  EXPECT_THAT(
      binding(ann).message(),
      HasSubstr("spec.paramRef: Forbidden: user ann does not have \"get\" permission on the "
                "object referenced by paramRef"));
  grant("maps", "default", R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}])",
        R"({"kind":"User","name":"ann"})");
  EXPECT_EQ(binding(ann).status, 201);
  // What does not change the parameters needs no access to them.
  EXPECT_EQ(send(ann, "PATCH", kAdmission + "mutatingadmissionpolicies/p",
                 R"({"spec":{"failurePolicy":"Ignore"}})")
                .status,
            200);
}

}  // namespace
}  // namespace koord::apiserver::testing
