// Admission policies whose authors mean harm: the server refuses the request and goes on.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class HostilePoliciesTest : public ServerTest {
 protected:
  const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
  const std::string kMaps = "/api/v1/namespaces/default/configmaps";

  static std::string quoted(const std::string& text) { return toJson(json::string(text)); }
  static std::string apply(const std::string& expression) {
    return R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)" +
           quoted(expression) + "}}";
  }
  static std::string rules(const std::string& group, const std::string& resource) {
    return R"("matchConstraints":{"resourceRules":[{"apiGroups":[")" + group +
           R"("],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":[")" + resource +
           R"("]}]})";
  }
  void mutating(const std::string& name, const std::string& group, const std::string& resource,
                const std::string& mutations) {
    const auto made =
        post(kGroup + "mutatingadmissionpolicies",
             R"({"metadata":{"name":")" + name + R"("},"spec":{)" + rules(group, resource) +
                 R"(,"mutations":[)" + mutations + R"(],"reinvocationPolicy":"Never"}})");
    ASSERT_EQ(made.status, 201) << made.message();
    ASSERT_EQ(
        post(kGroup + "mutatingadmissionpolicybindings",
             R"({"metadata":{"name":")" + name + R"("},"spec":{"policyName":")" + name + R"("}})")
            .status,
        201);
  }
  // An expression that is true and costs some 200,000.
  static std::string costly() {
    std::string expression = "true";
    for (const char* name : {"a", "b", "c", "d", "e"})
      expression = "[0,1,2,3,4,5,6,7,8,9].all(" + std::string(name) + ", " + expression + ")";
    return expression;
  }
  // The turns of another task until the ConfigMap is stored.
  int turnsUntilStored(const std::string& name) {
    int turns = 0;
    tasks.spawn(countTurns(loop, *server, name, turns));
    const auto made = map(name);
    EXPECT_EQ(made.status, 201) << made.message();
    loop.advance(std::chrono::milliseconds(10));
    return turns;
  }
  static Task<void> countTurns(VirtualLoop& loop, Server& server, std::string name, int& turns) {
    for (; turns < 1000; ++turns) {
      auto yield = sleepFor(loop, Duration::zero());
      co_await yield;
      if (server.store().table("configmaps").find(makeKey("default", name))) co_return;
    }
  }
  Answer map(const std::string& name) {
    return post(kMaps, R"({"metadata":{"name":")" + name + R"("},"data":{"x":"1"}})");
  }
};

TEST_F(HostilePoliciesTest, aPatchMayBeNull) {
  mutating("p", "", "configmaps", apply("object.data.x == '1' ? null : Object{}"));
  const auto denied = map("a");
  EXPECT_EQ(denied.status, 403);
  EXPECT_THAT(denied.message(), HasSubstr("unsupported return type from ApplyConfiguration"));
}

TEST_F(HostilePoliciesTest, anObjectDoesNotBecomeDeeperThanCanBeStored) {
  ASSERT_EQ(post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                 R"({"metadata":{"name":"things.a.b"},"spec":{"group":"a.b","scope":"Cluster",
      "names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
        {"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})")
                .status,
            201);
  // Each mutation puts what is there below sixty further levels.
  std::string deeper = "object.spec", mutations;
  for (int i = 0; i < 60; ++i) deeper = "{'a': " + deeper + "}";
  for (int i = 0; i < 20; ++i)
    mutations += (i == 0 ? "" : ",") + apply("Object{spec: " + deeper + "}");
  mutating("p", "a.b", "things", mutations);
  const auto denied = post("/apis/a.b/v1/things", R"({"metadata":{"name":"a"},"spec":{"b":1}})");
  EXPECT_EQ(denied.status, 403);
  EXPECT_THAT(denied.message(), HasSubstr("levels"));
}

TEST_F(HostilePoliciesTest, otherRequestsRunBetweenCostlyExpressions) {
  const int without = turnsUntilStored("none");
  std::string validations;
  for (int i = 0; i < 20; ++i)
    validations += std::string(i == 0 ? "" : ",") + R"({"expression":)" + quoted(costly()) + "}";
  ASSERT_EQ(post(kGroup + "validatingadmissionpolicies",
                 R"({"metadata":{"name":"p"},"spec":{)" + rules("", "configmaps") +
                     R"(,"validations":[)" + validations + "]}}")
                .status,
            201);
  ASSERT_EQ(
      post(kGroup + "validatingadmissionpolicybindings",
           R"({"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}})")
          .status,
      201);
  EXPECT_GE(turnsUntilStored("validated"), without + 20);
  std::string mutations;
  for (int i = 0; i < 20; ++i)
    mutations += (i == 0 ? "" : ",") + apply("Object{data: {'x': " + costly() + " ? '2' : '3'}}");
  mutating("p", "", "configmaps", mutations);
  EXPECT_GE(turnsUntilStored("mutated"), without + 40);
}

// A policy that is deleted while a request waits for its turn applies to this request.
TEST_F(HostilePoliciesTest, policiesMayChangeBetweenTheirExpressions) {
  std::string mutations;
  for (int i = 0; i < 20; ++i)
    mutations += (i == 0 ? "" : ",") + apply("Object{data: {'x': " + costly() + " ? '2' : '3'}}");
  mutating("p", "", "configmaps", mutations);
  Answer made;
  tasks.spawn(collect(
      server.get(), routed("POST", kMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})", "", ""),
      &made));
  ASSERT_EQ(made.status, 0);
  ASSERT_EQ(remove(kGroup + "mutatingadmissionpolicies/p").status, 200);
  loop.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(get(kMaps + "/a").body, "data", "x"), "2");
}

}  // namespace
}  // namespace koord::apiserver::testing
