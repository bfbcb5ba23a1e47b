// MutatingAdmissionPolicies: what they change, in which order, and how they fail.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class MutatingPoliciesTest : public ServerTest {
 protected:
  const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
  const std::string kMaps = "/api/v1/namespaces/default/configmaps";
  const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";

  static std::string quoted(const std::string& text) { return toJson(json::string(text)); }
  static std::string apply(const std::string& expression) {
    return R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)" +
           quoted(expression) + "}}";
  }
  static std::string jsonPatch(const std::string& expression) {
    return R"({"patchType":"JSONPatch","jsonPatch":{"expression":)" + quoted(expression) + "}}";
  }
  // A policy for these resources, with a binding of the same name.
  Answer policyFor(const std::string& name, const std::string& group, const std::string& resource,
                   const std::string& mutations, const std::string& more = "") {
    auto made =
        post(kGroup + "mutatingadmissionpolicies",
             R"({"metadata":{"name":")" + name +
                 R"("},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[")" + group +
                 R"("],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":[")" +
                 resource + R"("]}]},"mutations":[)" + mutations + "]" +
                 (more.find("reinvocationPolicy") == std::string::npos
                      ? R"(,"reinvocationPolicy":"Never")"
                      : "") +
                 more + "}}");
    return made.status == 201 ? bind(name) : made;
  }
  Answer policy(const std::string& name, const std::string& mutations,
                const std::string& more = "") {
    return policyFor(name, "", "configmaps", mutations, more);
  }
  Answer bind(const std::string& name, const std::string& more = "") {
    return post(kGroup + "mutatingadmissionpolicybindings", R"({"metadata":{"name":")" + name +
                                                                R"("},"spec":{"policyName":")" +
                                                                name + "\"" + more + "}}");
  }
  Answer map(const std::string& name, const std::string& data = R"({"x":"1"})") {
    return post(kMaps, R"({"metadata":{"name":")" + name + R"("},"data":)" + data + "}");
  }
  Answer deployment(const std::string& name) {
    return post(kDeployments,
                R"({"metadata":{"name":")" + name +
                    R"("},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{)"
                    R"("labels":{"a":"b"}},"spec":{"containers":[{"name":"web","image":"web:1"},)"
                    R"({"name":"log","image":"log:1"}]}}}})");
  }
};

TEST_F(MutatingPoliciesTest, anApplyConfigurationIsMerged) {
  ASSERT_EQ(policy("p", apply(R"(Object{metadata: Object.metadata{labels: {"added":
      request.userInfo.username == "" ? "no" : "yes"}}, data: {"y": object.data.x + "2"}})"))
                .status,
            201);
  const auto made = map("a");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "metadata", "labels", "added"), "yes");
  EXPECT_EQ(textAt(made.body, "data", "x"), "1");
  EXPECT_EQ(textAt(made.body, "data", "y"), "12");
  // Until it has a binding, a policy does nothing.
  ASSERT_EQ(remove(kGroup + "mutatingadmissionpolicybindings/p").status, 200);
  EXPECT_EQ(textAt(map("b").body, "data", "y"), "");
}

TEST_F(MutatingPoliciesTest, aNamespaceThatDoesNotExistIsNotFound) {
  ASSERT_EQ(map("a").status, 201);
  ASSERT_EQ(policy("p", apply("Object{}")).status, 201);
  Table& namespaces = server->store().table("namespaces");
  server->store().erase(namespaces, namespaces.find("default"));
  const auto refused = mergePatch(kMaps + "/a", R"({"data":{"y":"2"}})");
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.message(), "namespaces \"default\" not found");
}

TEST_F(MutatingPoliciesTest, elementsOfListsMergeByTheirKeys) {
  const auto bound = policyFor("p", "apps", "deployments", apply(R"(Object{spec: Object.spec{
      template: Object.spec.template{spec: Object.spec.template.spec{
        containers: object.spec.template.spec.containers.map(c,
          Object.spec.template.spec.containers{name: c.name, image: "mirror/" + c.image}) +
          [Object.spec.template.spec.containers{name: "mesh", image: "mesh:1"}]}}}})"));
  ASSERT_EQ(bound.status, 201) << bound.message();
  const auto made = deployment("d");
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& containers = at(made.body, "spec", "template", "spec", "containers")->get_array();
  ASSERT_EQ(containers.size(), 3U);
  EXPECT_EQ(textAt(containers[0], "image"), "mirror/web:1");
  EXPECT_EQ(textAt(containers[1], "image"), "mirror/log:1");
  EXPECT_EQ(textAt(containers[2], "name"), "mesh");
  // The new container has the defaults of its kind.
  EXPECT_EQ(textAt(containers[2], "imagePullPolicy"), "IfNotPresent");
}

TEST_F(MutatingPoliciesTest, aJsonPatchChangesAnything) {
  ASSERT_EQ(policy("p", jsonPatch(R"([
      JSONPatch{op: "test", path: "/data/x", value: "1"},
      JSONPatch{op: "add", path: "/metadata/labels", value: {"k8s.io/b": "c"}},
      JSONPatch{op: "replace", path: "/metadata/labels/" + jsonpatch.escapeKey("k8s.io/b"),
                value: "d"},
      JSONPatch{op: "remove", path: "/data/x"}])"))
                .status,
            201);
  const auto made = map("a");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "metadata", "labels", "k8s.io/b"), "d");
  EXPECT_EQ(at(made.body, "data", "x"), nullptr);
  // An object that does not pass the test stays as it is.
  const auto other = map("b", R"({"x":"2"})");
  ASSERT_EQ(other.status, 201) << other.message();
  EXPECT_EQ(textAt(other.body, "data", "x"), "2");
}

TEST_F(MutatingPoliciesTest, policiesSeeWhatThoseBeforeThemChanged) {
  ASSERT_EQ(policy("a", apply(R"(Object{data: {"a": "1"}})")).status, 201);
  ASSERT_EQ(policy("b", apply(R"(Object{data: {"b": object.data.a + "2"}})") + "," +
                            apply(R"(Object{data: {"c": object.data.b + "3"}})"))
                .status,
            201);
  EXPECT_EQ(textAt(map("m").body, "data", "c"), "123");
}

TEST_F(MutatingPoliciesTest, aPolicyIsInvokedAgainIfItWants) {
  const std::string add = apply(R"(Object{data: {"a": object.data[?"a"].orValue("") + "a"}})");
  ASSERT_EQ(policy("a", add, R"(,"reinvocationPolicy":"IfNeeded")").status, 201);
  EXPECT_EQ(textAt(map("once").body, "data", "a"), "aa");
  ASSERT_EQ(mergePatch(kGroup + "mutatingadmissionpolicies/a",
                       R"({"spec":{"reinvocationPolicy":"Never"}})")
                .status,
            200);
  EXPECT_EQ(textAt(map("twice").body, "data", "a"), "a");
}

TEST_F(MutatingPoliciesTest, conditionsVariablesAndParametersDecide) {
  ASSERT_EQ(map("settings", R"({"team":"red"})").status, 201);
  ASSERT_EQ(
      post(kGroup + "mutatingadmissionpolicies",
           R"({"metadata":{"name":"p"},"spec":{"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
      "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
        "operations":["*"],"resources":["configmaps"]}]},
      "matchConditions":[{"name":"opted","expression":"'team' in object.data"}],
      "variables":[{"name":"team","expression":"params.data.team + '!'"}],
      "mutations":[)" +
               apply(R"(Object{data: {"team": variables.team}})") +
               R"(],"reinvocationPolicy":"Never"}})")
          .status,
      201);
  ASSERT_EQ(bind("p", R"(,"paramRef":{"name":"settings","parameterNotFoundAction":"Deny"})").status,
            201);
  EXPECT_EQ(textAt(map("a", R"({"team":""})").body, "data", "team"), "red!");
  EXPECT_EQ(textAt(map("b").body, "data", "team"), "");
  // The policy changes its own parameter, too; without it everything that matches is refused.
  ASSERT_EQ(remove(kMaps + "/settings").status, 200);
  const auto refused = map("c", R"({"team":""})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "policy 'p' with binding 'p' denied request: failed to configure binding: no params "
            "found for policy binding with `Deny` parameterNotFoundAction");
}

TEST_F(MutatingPoliciesTest, errorsCountAsTheFailurePolicySays) {
  const struct {
    std::string mutation, message;
  } rows[] = {
      {apply(R"(Object{data: {"a": object.data.none}})"), "resulted in error: no such key: none"},
      {apply(R"(Object{spec: Object.spec{a: 1}})"),
       "error applying patch: failed to convert patch object to typed object: .spec: field not "
       "declared in schema"},
      {apply(R"(Object{metadata: Object.data{name: "b"}})"),
       "type mismatch: unexpected type name \"Object.data\", expected \"Object.metadata\", which "
       "matches field name path from root Object type"},
      {apply("Object{data: {\"a\": 1}}"),
       "error applying patch: failed to convert patch object to typed object: "},
      {jsonPatch(R"([JSONPatch{op: "remove", path: "/none/x"}])"), "JSON Patch: remove operation"},
      {jsonPatch(R"([JSONPatch{op: "odd", path: "/x"}])"), "JSON Patch: unexpected operation"},
      {jsonPatch(R"([JSONPatch{op: "add", path: "/data/y", value: Object.data{a: Object.b{}}}])"),
       "type mismatch: unexpected type name \"Object.b\", expected \"Object.data.a\""},
  };
  for (const auto& row : rows) {
    ASSERT_EQ(policy("p", row.mutation).status, 201) << row.mutation;
    const auto refused = map("a");
    EXPECT_EQ(refused.status, 403) << row.mutation;
    EXPECT_EQ(textAt(refused.body, "reason"), "Invalid");
    EXPECT_THAT(refused.message(), HasSubstr("policy 'p' with binding 'p' denied request: "));
    EXPECT_THAT(refused.message(), HasSubstr(row.message));
    ASSERT_EQ(
        mergePatch(kGroup + "mutatingadmissionpolicies/p", R"({"spec":{"failurePolicy":"Ignore"}})")
            .status,
        200);
    const auto made = map("a");
    EXPECT_EQ(made.status, 201) << row.mutation << ": " << made.message();
    for (const std::string path : {kMaps + "/a", kGroup + "mutatingadmissionpolicies/p",
                                   kGroup + "mutatingadmissionpolicybindings/p"})
      ASSERT_EQ(remove(path).status, 200) << path;
  }
}

TEST_F(MutatingPoliciesTest, atomicValuesAreNotMerged) {
  ASSERT_EQ(policyFor("p", "apps", "deployments", apply(R"(Object{spec: Object.spec{
      template: Object.spec.template{spec: Object.spec.template.spec{
        containers: [Object.spec.template.spec.containers{name: "web", args: ["-v"]}],
        nodeSelector: {"a": "b"}}}}})"))
                .status,
            201);
  EXPECT_THAT(deployment("d").message(),
              HasSubstr("error applying patch: invalid ApplyConfiguration: may not mutate atomic "
                        "arrays, maps or structs: .spec.template.spec.containers[0].args, "
                        ".spec.template.spec.nodeSelector"));
}

TEST_F(MutatingPoliciesTest, aPatchThatMakesAnotherKindOfObjectFails) {
  ASSERT_EQ(policyFor("p", "apps", "deployments",
                      jsonPatch(R"([JSONPatch{op: "add", path: "/spec/odd", value: 1}])"),
                      R"(,"failurePolicy":"Ignore")")
                .status,
            201);
  const auto failed = deployment("d");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.message(), HasSubstr("unknown field \"spec.odd\""));
}

TEST_F(MutatingPoliciesTest, policiesDoNotApplyToPolicies) {
  ASSERT_EQ(
      policyFor("p", "*", "*", jsonPatch(R"([JSONPatch{op: "remove", path: "/none"}])")).status,
      201);
  EXPECT_EQ(map("a").status, 403);
  EXPECT_EQ(
      mergePatch(kGroup + "mutatingadmissionpolicies/p", R"({"spec":{"failurePolicy":"Ignore"}})")
          .status,
      200);
  EXPECT_EQ(map("a").status, 201);
}

TEST_F(MutatingPoliciesTest, aRenamedObjectIsNotStoredOverAnother) {
  ASSERT_EQ(map("victim").status, 201);
  ASSERT_EQ(policy("p", jsonPatch(R"([
      JSONPatch{op: "replace", path: "/metadata/name", value: "victim"},
      JSONPatch{op: "replace", path: "/data/x", value: "2"}])"))
                .status,
            201);
  EXPECT_EQ(map("other").status, 409);
  EXPECT_EQ(textAt(get(kMaps + "/victim").body, "data", "x"), "1");
  ASSERT_EQ(remove(kMaps + "/victim").status, 200);
  EXPECT_EQ(textAt(map("other").body, "metadata", "name"), "victim");
  EXPECT_EQ(get(kMaps + "/other").status, 404);
}

TEST_F(MutatingPoliciesTest, anObjectStaysInItsNamespace) {
  ASSERT_EQ(policy("p", jsonPatch(R"([
      JSONPatch{op: "replace", path: "/metadata/namespace", value: "kube-system"}])"))
                .status,
            201);
  EXPECT_EQ(map("a").status, 400);
  EXPECT_EQ(get("/api/v1/namespaces/kube-system/configmaps/a").status, 404);
}

TEST_F(MutatingPoliciesTest, whatIsNoPolicyIsRefused) {
  const struct {
    std::string mutations, more, message;
  } rows[] = {
      {"", "", "spec.mutations: Required value: mutations must contain at least one item"},
      {apply("1"), "",
       R"(spec.mutations[0].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int)"},
      {apply("Object.spec{}"), "", "must evaluate to Object but got Object.spec"},
      {jsonPatch("[]"), "", "must evaluate to list(JSONPatch) but got list("},
      {jsonPatch("[JSONPatch{op: 1}]"), "",
       "expected type of field 'op' is 'string' but provided type is 'int'"},
      {apply(" "), "", "spec.mutations[0].applyConfiguration.expression: Required value"},
      {R"({"patchType":"JSONPatch"})", "",
       "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
       "JSONPatch"},
      {R"({"patchType":"Odd"})", "", "spec.mutations[0].patchType: Unsupported value: \"Odd\""},
      {apply("Object{}"), R"(,"reinvocationPolicy":"")", "spec.reinvocationPolicy: Required value"},
      {apply("Object{}"),
       R"(,"matchConditions":[{"name":"a","expression":"variables.x"}],"variables":[{"name":"x","expression":"true"}])",
       "undeclared reference to 'variables'"},
      {apply("Object{}"), R"(,"variables":[{"name":"x","expression":"Object{}"}])",
       "undeclared reference to 'Object'"},
      {apply("Object{}"),
       R"(,"variables":[{"name":"x","expression":"1"},{"name":"x","expression":"2"}])",
       "spec.variables[1].name: Duplicate value: \"x\""},
      {apply("Object{}"), R"(,"variables":[{"name":"for","expression":"1"}])",
       "must be a valid CEL identifier"},
      {apply("Object{a: request.none}"), "", "undefined field 'none'"},
  };
  for (const auto& row : rows) {
    const auto refused = policy("p", row.mutations, row.more);
    EXPECT_EQ(refused.status, 422) << row.mutations << row.more;
    EXPECT_THAT(refused.message(), HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace koord::apiserver::testing
