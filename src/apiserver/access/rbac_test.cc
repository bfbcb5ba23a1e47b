#include "apiserver/access/access_testing.h"
#include "apiserver/authz/bootstrap_policy.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRbacPath = "/apis/rbac.authorization.k8s.io/v1/";
constexpr const char* kReadPods =
    R"([{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods"]}])";

TEST_F(AccessTest, whoHasNoRoleIsToldWhatHeMayNot) {
  const auto alice = user("alice");
  struct Row {
    const char* method;
    const char* path;
    const char* message;
    const char* details;
  };
  const Row rows[] = {
      {"GET", "/api/v1/namespaces/default/pods",
       R"(pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default")",
       R"({"kind":"pods"})"},
      {"GET", "/api/v1/pods?watch=1",
       R"(pods is forbidden: User "alice" cannot watch resource "pods" in API group "" at the cluster scope)",
       R"({"kind":"pods"})"},
      {"GET", "/apis/apps/v1/namespaces/shop/deployments/web",
       R"(deployments.apps "web" is forbidden: User "alice" cannot get resource "deployments" in API group "apps" in the namespace "shop")",
       R"({"name":"web","group":"apps","kind":"deployments"})"},
      {"GET", "/api/v1/namespaces/shop",
       R"(namespaces "shop" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "shop")",
       R"({"name":"shop","kind":"namespaces"})"},
      {"PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale",
       R"(deployments.apps "web" is forbidden: User "alice" cannot patch resource "deployments/scale" in API group "apps" in the namespace "shop")",
       R"({"name":"web","group":"apps","kind":"deployments"})"},
      {"POST", "/api/v1/namespaces",
       R"(namespaces is forbidden: User "alice" cannot create resource "namespaces" in API group "" at the cluster scope)",
       R"({"kind":"namespaces"})"},
      {"DELETE", "/api/v1/nodes",
       R"(nodes is forbidden: User "alice" cannot deletecollection resource "nodes" in API group "" at the cluster scope)",
       R"({"kind":"nodes"})"},
      {"GET", "/apis/nothing.io/v1/things",
       R"(things.nothing.io is forbidden: User "alice" cannot list resource "things" in API group "nothing.io" at the cluster scope)",
       R"({"group":"nothing.io","kind":"things"})"},
      {"GET", "/metrics", R"(forbidden: User "alice" cannot get path "/metrics")", "{}"},
      {"POST", "/nothing", R"(forbidden: User "alice" cannot post path "/nothing")", "{}"},
  };
  for (const auto& row : rows) {
    const auto answer = send(alice, row.method, row.path, "{}");
    EXPECT_EQ(answer.status, 403) << row.path;
    EXPECT_EQ(answer.reason(), "Forbidden");
    EXPECT_EQ(answer.message(), row.message);
    EXPECT_EQ(toJson(answer.body.at("details")), row.details);
  }
  for (const auto* path : {"/api", "/apis/apps/v1", "/version", "/openapi/v2", "/healthz"})
    EXPECT_EQ(send(alice, "GET", path).status, 200) << path;
}

TEST_F(AccessTest, rolesGiveWhatTheySayAndNoMore) {
  const std::string alice = R"({"kind":"User","name":"alice"})";
  grant("reader", "default", kReadPods, alice);
  EXPECT_TRUE(may(user("alice"), "list", "pods"));
  EXPECT_FALSE(may(user("alice"), "list", "pods", "kube-system"));
  EXPECT_FALSE(may(user("alice"), "list", "pods", ""));
  EXPECT_FALSE(may(user("alice"), "delete", "pods"));
  EXPECT_FALSE(may(user("alice"), "get", "secrets"));
  EXPECT_FALSE(may(user("bob"), "list", "pods"));
  EXPECT_EQ(send(user("alice"), "GET", "/api/v1/namespaces/default/pods").status, 200);

  grant("named", "", R"([{"verbs":["get"],"apiGroups":[""],"resources":["secrets"],
      "resourceNames":["mine"]},{"verbs":["get"],"nonResourceURLs":["/metrics","/logs/*"]},
      {"verbs":["update"],"apiGroups":["*"],"resources":["*/scale"]}])",
        R"({"kind":"Group","name":"dev"})");
  const auto dev = user("carol", {"dev"});
  EXPECT_EQ(send(dev, "GET", "/api/v1/namespaces/default/secrets/mine").status, 404);
  EXPECT_EQ(send(dev, "GET", "/api/v1/namespaces/default/secrets/other").status, 403);
  // A list limited to one name is authorized with that name.
  EXPECT_EQ(
      send(dev, "GET", "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dmine")
          .message(),
      R"(secrets "mine" is forbidden: User "carol" cannot list resource "secrets" in API group "" in the namespace "default")");
  EXPECT_EQ(send(dev, "GET", "/metrics").status, 200);
  EXPECT_EQ(send(dev, "GET", "/logs/x").status, 404);
  EXPECT_EQ(send(dev, "PUT", "/apis/apps/v1/namespaces/default/deployments/web/scale", "{}").status,
            404);
  EXPECT_EQ(send(dev, "PUT", "/apis/apps/v1/namespaces/default/deployments/web", "{}").status, 403);
}

// The role "view" has the verbs get, list and watch on pods/log; others have all on pods/eviction.
TEST_F(AccessTest, aRightToASubresourceShowsNothingOfTheObject) {
  grant(
      "logs", "default",
      R"([{"verbs":["*"],"apiGroups":[""],"resources":["pods/log","pods/eviction","pods/binding"]}])",
      R"({"kind":"User","name":"alice"})");
  ASSERT_EQ(send(kAdmin, "POST", kPods, pod("web")).status, 201);
  const auto alice = user("alice");
  const std::string web = std::string(kPods) + "/web";
  for (const auto& [target, status] :
       {std::pair{web + "/log?watch=true", 404},
        {web + "/eviction", 405},
        {web + "/binding", 405},
        {web + "/log", 404},
        {std::string("/api/v1/watch/namespaces/default/pods/web/log"), 405}}) {
    const auto answer = send(alice, "GET", target);
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_EQ(find(answer.body, "spec"), nullptr) << target;
    EXPECT_EQ(find(answer.body, "object"), nullptr) << target;
  }
}

TEST_F(AccessTest, whatIsGrantedEndsWithTheRoleOrTheBinding) {
  const std::string alice = R"({"kind":"User","name":"alice"})";
  grant("reader", "default", kReadPods, alice);
  const std::string role = std::string(kRbacPath) + "namespaces/default/roles/reader";
  EXPECT_TRUE(may(user("alice"), "list", "pods"));
  EXPECT_EQ(send(kAdmin, "PATCH", role,
                 R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})")
                .status,
            200);
  EXPECT_FALSE(may(user("alice"), "list", "pods"));
  EXPECT_TRUE(may(user("alice"), "get", "pods"));
  EXPECT_EQ(send(kAdmin, "DELETE", role).status, 200);
  EXPECT_THAT(send(user("alice"), "GET", "/api/v1/namespaces/default/pods/p").message(),
              HasSubstr(R"(: RBAC: role.rbac.authorization.k8s.io "reader" not found)"));
  bind("other", "default", "ClusterRole", "view", alice);
  EXPECT_TRUE(may(user("alice"), "list", "pods"));
  EXPECT_EQ(send(kAdmin, "DELETE", std::string(kRbacPath) + "namespaces/default/rolebindings/other")
                .status,
            200);
  EXPECT_FALSE(may(user("alice"), "list", "pods"));
}

TEST_F(AccessTest, aServiceAccountIsNamedWithOrWithoutItsNamespace) {
  grant("local", "default", kReadPods, R"({"kind":"ServiceAccount","name":"robot"})");
  grant("far", "kube-system", kReadPods,
        R"({"kind":"ServiceAccount","name":"robot","namespace":"default"})");
  const auto robot = user("system:serviceaccount:default:robot", {"system:serviceaccounts"});
  EXPECT_TRUE(may(robot, "list", "pods"));
  EXPECT_TRUE(may(robot, "list", "pods", "kube-system"));
  EXPECT_FALSE(may(user("system:serviceaccount:other:robot"), "list", "pods"));
}

TEST_F(AccessTest, aggregatedRolesFollowWhatTheySelect) {
  const auto rulesOfRole = [&](const std::string& name) {
    return toJson(
        send(kAdmin, "GET", std::string(kRbacPath) + "clusterroles/" + name).body.at("rules"));
  };
  for (const auto* name : {"view", "edit", "admin"})
    EXPECT_THAT(rulesOfRole(name), HasSubstr(R"("pods/log")")) << name;
  EXPECT_THAT(rulesOfRole("view"), Not(HasSubstr("secrets")));
  EXPECT_THAT(rulesOfRole("admin"), HasSubstr("rolebindings"));
  // Aggregated into view, so also into edit and admin.
  EXPECT_EQ(send(kAdmin, "POST", std::string(kRbacPath) + "clusterroles",
                 R"({"metadata":{"name":"more","labels":{
                     "rbac.authorization.k8s.io/aggregate-to-view":"true"}},
                     "rules":[{"verbs":["list"],"apiGroups":["x.io"],"resources":["things"]}]})")
                .status,
            201);
  for (const auto* name : {"view", "edit", "admin"})
    EXPECT_THAT(rulesOfRole(name), HasSubstr("x.io")) << name;
  EXPECT_EQ(send(kAdmin, "DELETE", std::string(kRbacPath) + "clusterroles/more").status, 200);
  for (const auto* name : {"view", "edit", "admin"})
    EXPECT_THAT(rulesOfRole(name), Not(HasSubstr("x.io"))) << name;
}

TEST_F(AccessTest, nobodyGrantsWhatHeDoesNotHave) {
  grant("rbac-author", "default",
        R"([{"verbs":["*"],"apiGroups":["rbac.authorization.k8s.io"],
             "resources":["rolebindings"]},
            {"verbs":["create","update","patch"],"apiGroups":["rbac.authorization.k8s.io"],
             "resources":["roles"]},
            {"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])",
        R"({"kind":"User","name":"alice"})");
  const std::string roles = std::string(kRbacPath) + "namespaces/default/roles";
  const auto role = [](const std::string& name, const std::string& verbs) {
    return R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":)" + verbs +
           R"(,"apiGroups":[""],"resources":["pods"]}]})";
  };
  const auto alice = user("alice");
  EXPECT_EQ(send(alice, "POST", roles, role("mine", R"(["get"])")).status, 201);
  const auto refused = send(alice, "POST", roles, role("more", R"(["get","list","watch"])"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(
      refused.message(),
      "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"alice\" "
      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not "
      "currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}");
  EXPECT_EQ(send(alice, "PATCH", roles + "/mine",
                 R"({"rules":[{"verbs":["delete"],"apiGroups":[""],"resources":["pods"]}]})")
                .status,
            403);
  EXPECT_EQ(send(alice, "PATCH", roles + "/mine", R"({"metadata":{"labels":{"a":"b"}}})").status,
            200);
  // "bind" on rolebindings is not "bind" on the role.
  const std::string bindings = std::string(kRbacPath) + "namespaces/default/rolebindings";
  const auto binding = [](const std::string& kind, const std::string& name) {
    return R"({"metadata":{"generateName":"b-"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",
        "kind":")" +
           kind + R"(","name":")" + name +
           R"("},"subjects":[{"kind":"User","name":"bob","apiGroup":"rbac.authorization.k8s.io"}]})";
  };
  EXPECT_EQ(send(alice, "POST", bindings, binding("Role", "mine")).status, 201);
  EXPECT_EQ(send(alice, "POST", bindings, binding("ClusterRole", "cluster-admin")).status, 403);
  EXPECT_EQ(send(alice, "POST", bindings, binding("Role", "none")).message(),
            R"(roles.rbac.authorization.k8s.io "none" not found)");
  grant("binder", "default",
        R"([{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],
             "resources":["clusterroles"],"resourceNames":["view"]},
            {"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],
             "resources":["roles"],"resourceNames":["more"]}])",
        R"({"kind":"User","name":"alice"})");
  EXPECT_EQ(send(alice, "POST", bindings, binding("ClusterRole", "view")).status, 201);
  EXPECT_EQ(send(alice, "POST", bindings, binding("ClusterRole", "edit")).status, 403);
  EXPECT_EQ(send(alice, "POST", roles, role("more", R"(["list"])")).status, 201);
}

// A thousand verbs of a thousand resources of a thousand groups would be a billion single
// permissions.
TEST_F(AccessTest, aRoleOfBillionsOfPermissionsIsGrantedAsAWholeOrNotAtAll) {
  const auto listOf = [](const char* what) {
    std::string list;
    for (int i = 0; i < 1000; ++i) list += fmt::format("{}\"{}{}\"", i == 0 ? "" : ",", what, i);
    return "[" + list + "]";
  };
  const auto role = [&](const std::string& name) {
    return R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":)" + listOf("v") +
           R"(,"apiGroups":)" + listOf("g") + R"(,"resources":)" + listOf("r") + "}]}";
  };
  const std::string roles = std::string(kRbacPath) + "namespaces/default/roles";
  grant("author", "default",
        R"([{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}])",
        R"({"kind":"User","name":"alice"})");
  const auto refused = send(user("alice"), "POST", roles, role("mine"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(), HasSubstr("not currently held:\n{APIGroups:[\"g0\" \"g1\""));
  EXPECT_LT(refused.message().size(), 32u << 10);

  grant("everything", "default", R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])",
        R"({"kind":"User","name":"owner"})");
  EXPECT_EQ(send(user("owner"), "POST", roles, role("his")).status, 201);
}

TEST_F(AccessTest, aggregationRulesAreForClusterAdmins) {
  grant("author", "", R"([{"verbs":["*"],"apiGroups":["rbac.authorization.k8s.io"],
      "resources":["clusterroles"]}])",
        R"({"kind":"User","name":"chief"})");
  // "*" has "escalate" in it.
  grant("smaller", "", R"([{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],
      "resources":["clusterroles"]}])",
        R"({"kind":"User","name":"alice"})");
  const char* role = R"({"metadata":{"generateName":"all-"},"rules":[],"aggregationRule":{
      "clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  const std::string path = std::string(kRbacPath) + "clusterroles";
  EXPECT_THAT(send(user("alice"), "POST", path, role).message(),
              HasSubstr("must have cluster-admin privileges to use the aggregationRule"));
  EXPECT_EQ(send(user("chief"), "POST", path, role).status, 201);
}

TEST_F(AccessTest, whatAnUpdateCreatesMustBeAllowedToBeCreated) {
  grant("updater", "default",
        R"([{"verbs":["update","patch"],"apiGroups":["","coordination.k8s.io"],
      "resources":["leases","configmaps"]}])",
        R"({"kind":"User","name":"alice"})");
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  EXPECT_EQ(
      send(user("alice"), "PUT", lease, R"({"metadata":{"name":"l"}})").message(),
      R"(leases.coordination.k8s.io "l" is forbidden: User "alice" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default")");
}

TEST_F(AccessTest, impersonationTakesTheRightToIt) {
  const auto alice = user("alice");
  const auto as = [&](net::Headers headers) {
    auto who = alice;
    who.headers = std::move(headers);
    return who;
  };
  const std::string self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  EXPECT_EQ(
      send(as({{"Impersonate-User", "bob"}}), "POST", self).message(),
      R"(users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope)");
  grant("actor", "", R"([{"verbs":["impersonate"],"apiGroups":[""],
      "resources":["users","groups","serviceaccounts"]}])",
        R"({"kind":"User","name":"alice"})");
  const auto who = [&](net::Headers headers) {
    const auto answer = send(as(std::move(headers)), "POST", self);
    const auto* info = at(answer.body, "status", "userInfo");
    return info ? toJson(*info) : answer.message();
  };
  EXPECT_EQ(who({{"Impersonate-User", "bob"}}),
            R"({"username":"bob","groups":["system:authenticated"]})");
  EXPECT_EQ(who({{"Impersonate-User", "bob"}, {"impersonate-group", "dev"}}),
            R"({"username":"bob","groups":["dev","system:authenticated"]})");
  EXPECT_EQ(who({{"Impersonate-User", "system:serviceaccount:shop:robot"}}),
            R"({"username":"system:serviceaccount:shop:robot","groups":["system:serviceaccounts",)"
            R"("system:serviceaccounts:shop","system:authenticated"]})");
  EXPECT_EQ(
      who({{"Impersonate-User", "bob"}, {"Impersonate-Extra-Scopes", "all"}}),
      R"(userextras.authentication.k8s.io "all" is forbidden: User "alice" cannot impersonate )"
      R"(resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope)");
  EXPECT_EQ(send(as({{"Impersonate-Group", "dev"}}), "POST", self).status, 500);
  EXPECT_EQ(who({{"Impersonate-User", ""}}),
            R"({"username":"alice","groups":["system:authenticated"]})");
  EXPECT_EQ(
      send(admin({{"Impersonate-User", "system:anonymous"}}), "GET", "/api/v1/nodes").message(),
      R"(nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope)");
}

TEST_F(AccessTest, reviewsTellWhatTheEvaluatorSays) {
  grant("reader", "default", kReadPods, R"({"kind":"Group","name":"dev"})");
  const std::string authorization = "/apis/authorization.k8s.io/v1/";
  const auto review = send(kAdmin, "POST", authorization + "subjectaccessreviews",
                           R"({"spec":{"user":"carol","groups":["dev"],"resourceAttributes":{
                               "verb":"get","resource":"pods","namespace":"default"}}})");
  EXPECT_EQ(
      toJson(review.body.at("status")),
      R"({"allowed":true,"reason":"RBAC: allowed by RoleBinding \"reader/default\" of Role \"reader\" to Group \"dev\""})");
  const auto path =
      send(kAdmin, "POST", authorization + "subjectaccessreviews",
           R"({"spec":{"user":"carol","nonResourceAttributes":{"verb":"get","path":"/metrics"}}})");
  EXPECT_EQ(path.body.at("status").at("allowed"), false);
  EXPECT_EQ(send(kAdmin, "POST", authorization + "subjectaccessreviews", R"({"spec":{}})").status,
            422);
  EXPECT_EQ(send(kAdmin, "POST", authorization + "namespaces/default/localsubjectaccessreviews",
                 R"({"spec":{"user":"carol","groups":["dev"],"resourceAttributes":{"verb":"list",
                     "resource":"pods","namespace":"other"}}})")
                .status,
            400);
  const auto rules = send(user("carol", {"dev"}), "POST", authorization + "selfsubjectrulesreviews",
                          R"({"spec":{"namespace":"default"}})");
  EXPECT_THAT(
      toJson(rules.body.at("status").at("resourceRules")),
      HasSubstr(R"({"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods"]})"));
  EXPECT_EQ(rules.body.at("status").at("incomplete"), false);
  // Not every user may post reviews about others.
  EXPECT_EQ(send(user("carol"), "POST", authorization + "subjectaccessreviews", "{}").status, 403);
  EXPECT_EQ(send(kAdmin, "GET", authorization + "subjectaccessreviews").status, 405);
}

TEST_F(AccessTest, rolesAndBindingsThatMeanNothingAreRefused) {
  struct Row {
    const char* resource;
    const char* body;
    const char* message;
  };
  const Row rows[] = {
      {"roles", R"("rules":[{"apiGroups":[""],"resources":["pods"]}])",
       "rules[0].verbs: Required value"},
      {"roles", R"("rules":[{"verbs":["get"],"resources":["pods"]}])",
       "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
      {"roles", R"("rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}])",
       R"(Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs)"},
      {"rolebindings", R"("roleRef":{"kind":"Group","name":"x"})",
       R"(roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole")"},
      {"rolebindings",
       R"("roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"Robot","name":"r"}])",
       R"(subjects[0].kind: Unsupported value: "Robot")"},
  };
  const std::string path = std::string(kRbacPath) + "namespaces/default/";
  for (const auto& row : rows) {
    const auto answer = send(kAdmin, "POST", path + row.resource,
                             R"({"metadata":{"name":"a"},)" + std::string(row.body) + "}");
    EXPECT_EQ(answer.status, 422) << row.message;
    EXPECT_THAT(answer.message(), HasSubstr(row.message));
  }
  bind("a", "default", "ClusterRole", "view", R"({"kind":"User","name":"alice"})");
  EXPECT_EQ(
      textAt(send(kAdmin, "GET", path + "rolebindings/a").body.at("subjects").at(0), "apiGroup"),
      "rbac.authorization.k8s.io");
  EXPECT_THAT(
      send(kAdmin, "PATCH", path + "rolebindings/a", R"({"roleRef":{"name":"edit"}})").message(),
      HasSubstr("cannot change roleRef"));
}

TEST(BootstrapPolicyTest, whatIsMissingIsAddedAndWhatIsLeftAloneStays) {
  json::value wanted;
  for (auto& object : bootstrapPolicy())
    if (textAt(object, "metadata", "name") == "system:basic-user" &&
        textAt(object, "kind") == "ClusterRole")
      wanted = object;
  ASSERT_TRUE(wanted.is_object());
  EXPECT_FALSE(reconciled(wanted, wanted));
  json::value less = wanted;
  less.at("rules").get_array().pop_back();
  auto next = reconciled(less, wanted);
  ASSERT_TRUE(next);
  EXPECT_FALSE(reconciled(*next, wanted));
  less.at("metadata")
      .at("annotations")
      .get_object()["rbac.authorization.kubernetes.io/autoupdate"] = "false";
  EXPECT_FALSE(reconciled(less, wanted));
}

TEST_F(AccessTest, whatThisServerDoesNotHaveItSays) {
  send(kAdmin, "POST", kPods, pod("web"));
  for (const auto* sub : {"exec", "attach", "portforward", "proxy", "proxy/metrics"}) {
    const auto answer = send(kAdmin, "POST", std::string(kPods) + "/web/" + sub);
    EXPECT_EQ(answer.status, 501) << sub;
    EXPECT_EQ(answer.reason(), "NotImplemented");
    EXPECT_THAT(answer.message(), HasSubstr("this server has no pods/"));
  }
  EXPECT_EQ(send(kAdmin, "GET", std::string(kPods) + "/none/exec").status, 404);
  EXPECT_EQ(send(user("alice"), "POST", std::string(kPods) + "/web/exec").status, 403);
}

}  // namespace
}  // namespace koord::apiserver::testing
