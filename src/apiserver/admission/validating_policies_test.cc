// ValidatingAdmissionPolicies: which requests they deny, and with what words.

#include <gmock/gmock.h>

#include "apiserver/admission/policy_params.h"
#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

TEST_F(PoliciesTest, theFirstDenialIsThatOfTheFirstPolicy) {
  ASSERT_EQ(policy(R"("validations":[{"expression":"false"}])").status, 201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  auto second = get(kGroup + "validatingadmissionpolicies/p").body.get_object();
  second["metadata"] = json::object{{"name", "q"}};
  second["spec"].get_object()["paramKind"] = {{"apiVersion", "a.b/v1"}, {"kind", "None"}};
  ASSERT_EQ(post(kGroup + "validatingadmissionpolicies", toJson(second)).status, 201);
  ASSERT_EQ(post(kGroup + "validatingadmissionpolicybindings",
                 R"({"metadata":{"name":"c"},"spec":{"policyName":"q","validationActions":["Deny"],
                    "paramRef":{"name":"none","parameterNotFoundAction":"Deny"}}})")
                .status,
            201);
  EXPECT_THAT(map("a", "{}").message(), HasSubstr("'p' with binding 'b' denied request: failed"));
  ASSERT_EQ(remove(kGroup + "validatingadmissionpolicybindings/b").status, 200);
  EXPECT_THAT(map("a", "{}").message(),
              HasSubstr("'q' denied request: failed to configure policy: failed to find resource "
                        "referenced by paramKind: 'a.b/v1, Kind=None'"));
}

TEST_F(PoliciesTest, parametersHaveTheVersionOfTheirKind) {
  ASSERT_EQ(post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                 R"({"metadata":{"name":"limits.a.b"},"spec":{"group":"a.b","scope":"Namespaced",
      "names":{"plural":"limits","singular":"limit","kind":"Limit","listKind":"LimitList"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
        {"type":"object"}}},{"name":"v2","served":true,"storage":false,"schema":
        {"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  ASSERT_EQ(post("/apis/a.b/v1/namespaces/default/limits", R"({"metadata":{"name":"l"}})").status,
            201);
  ASSERT_EQ(policy(R"("paramKind":{"apiVersion":"a.b/v2","kind":"Limit"},
      "validations":[{"expression":"params.apiVersion == 'a.b/v2'"}])")
                .status,
            201);
  ASSERT_EQ(
      binding(R"(["Deny"])", R"(,"paramRef":{"name":"l","parameterNotFoundAction":"Deny"})").status,
      201);
  EXPECT_EQ(map("a", "{}").status, 201);
  ASSERT_EQ(mergePatch(kGroup + "validatingadmissionpolicies/p",
                       R"({"spec":{"paramKind":{"apiVersion":"a.b/v3"}}})")
                .status,
            200);
  EXPECT_THAT(map("b", "{}").message(), HasSubstr("failed to find resource referenced by"));
}

TEST_F(PoliciesTest, bindingsShareTheirParameters) {
  ASSERT_EQ(map("limits", R"({"most":"1"})").status, 201);
  kube::Request request;
  request.version = "v1";
  request.resource = "configmaps";
  const auto kind = findTarget(server->registry(), server->store(), request);
  ASSERT_TRUE(kind);
  PolicyParams params;
  const auto byName = params.find(*kind, {{"name", "limits"}}, "default");
  const auto bySelector = params.find(*kind, {{"selector", json::object()}}, "default");
  ASSERT_TRUE(byName && bySelector);
  ASSERT_EQ(byName->size(), 1U);
  EXPECT_EQ(textAt(*byName->front(), "data", "most"), "1");
  EXPECT_THAT(*bySelector, ::testing::Contains(byName->front()));
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

TEST_F(PoliciesTest, failuresAreAuditedAndAnnotated) {
  ASSERT_EQ(policy(R"json("validations":[{"expression":"false","message":"no"}],
      "auditAnnotations":[{"key":"size","valueExpression":"'has ' + string(object.data.size())"},
        {"key":"none","valueExpression":"null"}])json")
                .status,
            201);
  ASSERT_EQ(binding(R"(["Audit"])").status, 201);
  const auto made = map("a", R"({"x":"1"})");
  EXPECT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(made.auditAnnotations.at("p/size"), "has 1");
  EXPECT_FALSE(made.auditAnnotations.contains("p/none"));
  EXPECT_EQ(made.auditAnnotations.at("validation.policy.admission.k8s.io/validation_failure"),
            R"([{"message":"no","policy":"p","binding":"b","expressionIndex":0,)"
            R"("validationActions":["Audit"]}])");
}

TEST_F(PoliciesTest, anAnnotationThatFailsDenies) {
  ASSERT_EQ(
      policy(R"json("auditAnnotations":[{"key":"a","valueExpression":"string(object.none)"}])json")
          .status,
      201);
  ASSERT_EQ(binding(R"(["Audit"])").status, 201);
  EXPECT_THAT(map("a", "{}").message(), HasSubstr("no such key: none"));
}

TEST_F(PoliciesTest, theStatusSaysWhichFieldsDoNotExist) {
  ASSERT_EQ(policy(R"json("validations":[{"expression":"object.dta.size() > 0"},
      {"expression":"object.data.size() > 0 && object.metadata.labels.size() > 0",
       "messageExpression":"string(object.nme)"},{"expression":"'a' in object.data || object.immutable"}])json")
                .status,
            201);
  loop.advance(std::chrono::milliseconds(10));
  const auto stored = get(kGroup + "validatingadmissionpolicies/p");
  EXPECT_EQ(toJson(memberOf(memberOf(stored.body, "status"), "observedGeneration")), "1");
  const auto* warnings = at(stored.body, "status", "typeChecking", "expressionWarnings");
  ASSERT_NE(warnings, nullptr) << toJson(stored.body);
  ASSERT_EQ(warnings->get_array().size(), 2U);
  EXPECT_EQ(textAt(warnings->get_array()[0], "fieldRef"), "spec.validations[0].expression");
  EXPECT_EQ(textAt(warnings->get_array()[0], "warning"),
            "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'dta'\n"
            " | object.dta.size() > 0\n | ......^\n");
  EXPECT_EQ(textAt(warnings->get_array()[1], "fieldRef"), "spec.validations[1].messageExpression");
  ASSERT_EQ(mergePatch(kGroup + "validatingadmissionpolicies/p",
                       R"({"spec":{"validations":[{"expression":"true"}]}})")
                .status,
            200);
  loop.advance(std::chrono::milliseconds(10));
  const auto mended = get(kGroup + "validatingadmissionpolicies/p");
  EXPECT_EQ(at(mended.body, "status", "typeChecking", "expressionWarnings"), nullptr);
  EXPECT_EQ(toJson(*at(mended.body, "status", "observedGeneration")), "2");
}

TEST_F(PoliciesTest, aNamespaceThatDoesNotExistIsNotFound) {
  ASSERT_EQ(map("a", "{}").status, 201);
  ASSERT_EQ(policy(R"("validations":[{"expression":"true"}])").status, 201);
  ASSERT_EQ(binding(R"(["Warn"])").status, 201);
  Table& namespaces = server->store().table("namespaces");
  server->store().erase(namespaces, namespaces.find("default"));
  const auto refused = mergePatch(kMaps + "/a", R"({"data":{"y":"2"}})");
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.message(), "namespaces \"default\" not found");
}

TEST_F(PoliciesTest, otherWorkRunsBetweenTwoKindsOfATypeCheck) {
  int turns = 0;
  const auto rules = [](const std::string& group, const std::string& resources) {
    return R"({"apiGroups":[")" + group +
           R"("],"apiVersions":["v1"],"operations":["CREATE"],"resources":[)" + resources + "]}";
  };
  // The first rule has ten kinds, so Secrets are not checked.
  const auto body = R"({"metadata":{"name":"q"},"spec":{"matchConstraints":{"resourceRules":[)" +
                    rules("", R"("configmaps","endpoints","events","limitranges","namespaces",
                        "nodes","pods","podtemplates","replicationcontrollers","resourcequotas")") +
                    "," + rules("", R"("secrets")") +
                    R"(]},"validations":[{"expression":"object.dta == 1"}]}})";
  // The turns of a task beside the check.
  const auto count = [](VirtualLoop& loop, Server& server, int& turns) -> Task<void> {
    for (int i = 0; i < 100; ++i) {
      auto yield = sleepFor(loop, Duration::zero());
      co_await yield;
      const auto entry = server.store()
                             .table("validatingadmissionpolicies.admissionregistration.k8s.io")
                             .find("q");
      if (entry && entry->text.contains("observedGeneration")) co_return;
      ++turns;
    }
  };
  tasks.spawn(count(loop, *server, turns));
  ASSERT_EQ(post(kGroup + "validatingadmissionpolicies", body).status, 201);
  loop.advance(std::chrono::milliseconds(10));
  EXPECT_GE(turns, 10);
  EXPECT_LT(turns, 100);
  const auto stored = get(kGroup + "validatingadmissionpolicies/q");
  const auto* warnings = at(stored.body, "status", "typeChecking", "expressionWarnings");
  ASSERT_NE(warnings, nullptr);
  const std::string text(textAt(warnings->get_array()[0], "warning"));
  EXPECT_THAT(text, HasSubstr("/v1, Kind=ResourceQuota: ERROR"));
  EXPECT_THAT(text, Not(HasSubstr("Secret")));
}

TEST_F(PoliciesTest, thousandsOfVariablesDoNotEndTheServer) {
  std::string variables = R"({"name":"v0","expression":"1"})";
  for (int i = 1; i < 3000; ++i)
    variables += R"(,{"name":"v)" + std::to_string(i) + R"(","expression":"variables.v)" +
                 std::to_string(i - 1) + R"("})";
  ASSERT_EQ(policy(R"("variables":[)" + variables +
                   R"(],"validations":[{"expression":"variables.v2999 == 1"}])")
                .status,
            201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  EXPECT_THAT(map("a", "{}").message(), HasSubstr("more than 200 variables read each other"));
}

TEST_F(PoliciesTest, variablesShareTheBudget) {
  // Each costs most of what one expression may, and all of them more than a policy may.
  std::string variables, sum = "0";
  for (int i = 0; i < 120; ++i) {
    variables +=
        (i == 0 ? "" : ",") + std::string(R"({"name":"v)") + std::to_string(i) +
        R"json(","expression":"[0,1,2,3,4,5,6,7,8,9].map(a,[0,1,2,3,4,5,6,7,8,9].map(b,[0,1,2,3,4,5,6,7,8,9].map(c,[0,1,2,3,4,5,6,7,8,9].map(d,[0,1,2,3].map(e,1).size()).size()).size()).size()).size()"})json";
    sum += " + variables.v" + std::to_string(i);
  }
  ASSERT_EQ(policy(R"("variables":[)" + variables + R"(],"validations":[{"expression":")" + sum +
                   R"( >= 0"}])")
                .status,
            201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  EXPECT_THAT(map("a", "{}").message(),
              HasSubstr("validation failed due to running out of cost budget"));
}

TEST_F(PoliciesTest, theRequestsResourceCanBeAuthorized) {
  ASSERT_EQ(policy(R"json("validations":[{"expression":
      "authorizer.requestResource.check('create').allowed() && namespaceObject.metadata.name == 'default'"}])json")
                .status,
            201);
  ASSERT_EQ(binding(R"(["Deny"])").status, 201);
  EXPECT_EQ(map("a", "{}").status, 201);
  EXPECT_THAT(policy(R"("validations":[{"expression":"namespaceObject.none == ''"}])").message(),
              HasSubstr("undefined field 'none'"));
}

}  // namespace
}  // namespace koord::apiserver::testing
