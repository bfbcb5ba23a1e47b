// Admission webhooks: which ones are called, with what, and the effect of their answers.

#include <gmock/gmock.h>

#include <map>

#include "apiserver/testing.h"
#include "net/tls.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WebhooksTest : public ServerTest {
 protected:
  void SetUp() override {
    options.webhookCaller = [this](WebhookRequest request) {
      return call(this, std::move(request));
    };
    ServerTest::SetUp();
  }

  static Task<Result<std::string>> call(WebhooksTest* self, WebhookRequest request) {
    auto pause = sleepFor(self->loop, std::chrono::milliseconds(1));
    co_await pause;
    if (request.url == "https://throws") throw std::out_of_range("odd");
    auto review = parseJson(request.body);
    self->asked.push_back(*review);
    self->requests.push_back(request);
    const auto it = self->answers_.find(request.url);
    if (it == self->answers_.end())
      co_return fail(ErrorCode::Unavailable, "connect to " + request.url + ": connection refused");
    json::object response = it->second;
    response["uid"] = textAt(*review, "request", "uid");
    co_return toJson(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                  {"kind", "AdmissionReview"},
                                  {"response", std::move(response)}});
  }

  static json::object patching(const std::string& patch) {
    return {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", net::base64Encode(patch)}};
  }

  void hook(bool mutating, const std::string& name, const std::string& url,
            const std::string& more = "") {
    const std::string kind = mutating ? "mutating" : "validating";
    const auto made = post(
        "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations",
        R"({"metadata":{"name":")" + name + R"("},"webhooks":[{"name":")" + name +
            R"(.example.com","clientConfig":{"url":")" + url +
            R"("},"rules":[{"operations":["CREATE","UPDATE","DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}],
                               "sideEffects":"None","admissionReviewVersions":["v1"])" +
            more + "}]}");
    ASSERT_EQ(made.status, 201) << made.message();
  }

  // Webhooks answer after a moment.
  Answer slowly(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& type = "") {
    request(method, path, body, type);
    loop.advance(std::chrono::milliseconds(100));
    return *answers.back();
  }

  // A webhook with these rules.
  Answer hookFor(bool mutating, const std::string& url, const std::string& rule,
                 const std::string& more = "") {
    const std::string kind = mutating ? "mutating" : "validating";
    return post(
        "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations",
        R"({"metadata":{"name":"h"},"webhooks":[{"name":"h.example.com","clientConfig":{"url":")" +
            url + R"("},"rules":[)" + rule +
            R"(],"sideEffects":"None","admissionReviewVersions":["v1"])" + more + "}]}");
  }

  std::map<std::string, json::object> answers_;
  std::vector<json::value> asked;
  std::vector<WebhookRequest> requests;
};

TEST_F(WebhooksTest, aMutatingWebhookChangesTheObject) {
  answers_["https://m"] = patching(
      R"([{"op":"add","path":"/metadata/labels","value":{"qos":"BE"}},{"op":"add","path":"/spec/schedulerName","value":"koord-scheduler"},{"op":"add","path":"/spec/bogus","value":1}])");
  hook(true, "m", "https://m");
  const auto made = slowly("POST", kPods, pod("web"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "metadata", "labels", "qos"), "BE");
  EXPECT_EQ(textAt(made.body, "spec", "schedulerName"), "koord-scheduler");
  EXPECT_EQ(at(made.body, "spec", "bogus"), nullptr);
  ASSERT_THAT(asked, SizeIs(1));
  const auto& review = asked[0].at("request");
  EXPECT_EQ(textAt(review, "operation"), "CREATE");
  EXPECT_EQ(textAt(review, "kind", "kind"), "Pod");
  EXPECT_EQ(textAt(review, "resource", "resource"), "pods");
  EXPECT_EQ(textAt(review, "namespace"), "default");
  EXPECT_EQ(textAt(review, "userInfo", "username"), "system:admin");
  EXPECT_EQ(textAt(review, "object", "spec", "restartPolicy"), "Always");
  EXPECT_EQ(requests[0].timeout, std::chrono::seconds(10));
}

TEST_F(WebhooksTest, aDenialReachesTheClient) {
  answers_["https://v"] = {{"allowed", false},
                           {"status", {{"message", "no pods on Sundays"}, {"code", 403}}}};
  hook(false, "v", "https://v");
  const auto denied = slowly("POST", kPods, pod("web"));
  EXPECT_EQ(denied.status, 403);
  EXPECT_EQ(denied.message(),
            "admission webhook \"v.example.com\" denied the request: no pods on Sundays");
  EXPECT_EQ(get(std::string(kPods) + "/web").status, 404);
}

TEST_F(WebhooksTest, aRequestThatThrowsInTheMiddleIsAnsweredAndTheNextIsServed) {
  hook(false, "v", "https://throws");
  const auto failed = slowly("POST", kPods, pod("web"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.reason(), "InternalError");
  EXPECT_EQ(failed.message(), "unexpected exception; the log of the API server has more");
  EXPECT_EQ(get(std::string(kPods) + "/web").status, 404);
  EXPECT_EQ(get(kPods).status, 200);
}

TEST_F(WebhooksTest, aMutatingWebhookRefusesDeletionsBindingsAndEvictions) {
  post(kPods, pod("web"));
  answers_["https://m"] = {{"allowed", false}};
  const auto made = hookFor(
      true, "https://m",
      R"({"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods","pods/*"]})");
  ASSERT_EQ(made.status, 201) << made.message();
  const std::string web = std::string(kPods) + "/web";
  EXPECT_EQ(slowly("DELETE", web).status, 403);
  EXPECT_EQ(slowly("DELETE", kPods).status, 403);
  EXPECT_EQ(slowly("POST", web + "/binding", R"({"target":{"name":"n1"}})").status, 403);
  EXPECT_EQ(slowly("POST", web + "/eviction", R"({"metadata":{"name":"web"}})").status, 403);
  EXPECT_EQ(textAt(get(web).body, "spec", "nodeName"), "");
  ASSERT_THAT(asked, SizeIs(4));
  EXPECT_EQ(textAt(asked[0], "request", "operation"), "DELETE");
  EXPECT_EQ(textAt(asked[0], "request", "oldObject", "metadata", "name"), "web");
  EXPECT_EQ(textAt(asked[2], "request", "kind", "kind"), "Binding");
  EXPECT_EQ(textAt(asked[3], "request", "kind", "kind"), "Eviction");
}

TEST_F(WebhooksTest, aMutatingWebhookChangesBindingsAndScalesButNoDeletion) {
  post(kPods, pod("web"));
  answers_["https://m"] = patching(R"([{"op":"replace","path":"/target/name","value":"n2"}])");
  ASSERT_EQ(
      hookFor(
          true, "https://m",
          R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["pods","pods/*","*/scale"]})")
          .status,
      201);
  const std::string web = std::string(kPods) + "/web";
  EXPECT_EQ(slowly("POST", web + "/binding", R"({"target":{"name":"n1"}})").status, 201);
  EXPECT_EQ(textAt(get(web).body, "spec", "nodeName"), "n2");
  EXPECT_EQ(slowly("DELETE", web).status, 500);
  EXPECT_EQ(get(web).status, 200);

  const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
  ASSERT_EQ(
      post(
          sets,
          R"({"metadata":{"name":"r"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .status,
      201);
  answers_["https://m"] = patching(R"([{"op":"replace","path":"/spec/replicas","value":7}])");
  asked.clear();
  const auto scaled = slowly("PATCH", sets + "/r/scale", R"({"spec":{"replicas":3}})",
                             "application/merge-patch+json");
  EXPECT_EQ(scaled.status, 200) << scaled.message();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(textAt(asked[0], "request", "object", "kind"), "Scale");
  EXPECT_EQ(*at(asked[0], "request", "object", "spec", "replicas"), 3);
  EXPECT_EQ(*at(asked[0], "request", "oldObject", "spec", "replicas"), 1);
  EXPECT_EQ(*at(get(sets + "/r").body, "spec", "replicas"), 7);
}

TEST_F(WebhooksTest, aWebhookForAnotherVersionIsAskedInThatVersion) {
  ASSERT_EQ(
      post(
          "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
          R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},"versions":[
        {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
        {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})")
          .status,
      201);
  const std::string rule =
      R"({"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["gizmos"]})";
  answers_["https://m"] = patching(R"([{"op":"add","path":"/seen","value":"yes"}])");
  ASSERT_EQ(hookFor(true, "https://m", rule).status, 201);
  const std::string gizmos = "/apis/example.com/v1/namespaces/default/gizmos";
  const auto made = slowly("POST", gizmos, R"({"metadata":{"name":"g"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "apiVersion"), "example.com/v1");
  EXPECT_EQ(textAt(made.body, "seen"), "yes");
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(textAt(asked[0], "request", "resource", "version"), "v2");
  EXPECT_EQ(textAt(asked[0], "request", "kind", "version"), "v2");
  EXPECT_EQ(textAt(asked[0], "request", "requestResource", "version"), "v1");
  EXPECT_EQ(textAt(asked[0], "request", "object", "apiVersion"), "example.com/v2");

  ASSERT_EQ(remove("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/h").status,
            200);
  ASSERT_EQ(hookFor(true, "https://m", rule, R"(,"matchPolicy":"Exact")").status, 201);
  EXPECT_EQ(at(slowly("POST", gizmos, R"({"metadata":{"name":"exact"}})").body, "seen"), nullptr);
}

TEST_F(WebhooksTest, whatIsNoMatchConditionIsRefused) {
  const std::string rule =
      R"({"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]})";
  const auto refused = hookFor(
      false, "https://v", rule,
      R"(,"matchConditions":[{"name":"c","expression":"1"},{"name":"c","expression":"true"},{"expression":""}])");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      AllOf(HasSubstr("webhooks[0].matchConditions[0].expression: Invalid value: \"1\": must "
                      "evaluate to bool"),
            HasSubstr("webhooks[0].matchConditions[1].name: Duplicate value: \"c\""),
            HasSubstr("webhooks[0].matchConditions[2].expression: Required value"),
            HasSubstr("webhooks[0].matchConditions[2].name: Required value")));
  EXPECT_EQ(hookFor(false, "https://v", rule, R"(,"matchPolicy":"Sometimes")").status, 422);
  EXPECT_EQ(hookFor(false, "https://v", rule, R"(,"timeoutSeconds":31)").status, 422);
  EXPECT_EQ(hookFor(false, "https://v", rule, R"(,"matchConditions":[])").status, 201);
}

TEST_F(WebhooksTest, aWebhookIsCalledOnlyIfItsMatchConditionsAreTrue) {
  const std::string rule =
      R"({"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]})";
  answers_["https://v"] = {{"allowed", false}};
  ASSERT_EQ(
      hookFor(
          false, "https://v", rule,
          R"(,"matchConditions":[{"name":"c","expression":"object.metadata.labels.seen == 'yes'"}])")
          .status,
      201);
  const auto create = [&](const char* name, const char* labels) {
    return slowly("POST", "/api/v1/namespaces/default/configmaps",
                  fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}}}})", name, labels));
  };
  EXPECT_EQ(create("a", R"({"seen":"no"})").status, 201);
  EXPECT_THAT(asked, SizeIs(0));
  EXPECT_EQ(create("b", R"({"seen":"yes"})").status, 403);
  EXPECT_THAT(asked, SizeIs(1));
  const auto fails = create("c", "{}");
  EXPECT_EQ(fails.status, 403);
  EXPECT_THAT(fails.message(),
              HasSubstr("configmaps \"c\" is forbidden: expression "
                        "'object.metadata.labels.seen == 'yes'' resulted in error: "
                        "no such key: "));
  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(WebhooksTest, aCollectionIsDeletedAlsoWhereItChangesMeanwhile) {
  hook(false, "v", "https://v");
  answers_["https://v"] = {{"allowed", true}};
  for (const auto* name : {"a", "b", "c"}) ASSERT_EQ(slowly("POST", kPods, pod(name)).status, 201);
  request("DELETE", kPods);
  ASSERT_EQ(
      mergePatch(std::string(kPods) + "/c/status", R"({"status":{"phase":"Running"}})").status,
      200);
  loop.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(answers.front()->status, 201);
  EXPECT_TRUE(get(kPods).body.at("items").get_array().empty());
}

TEST_F(WebhooksTest, theFailurePolicyDecidesWhenNobodyAnswers) {
  hook(false, "v", "https://dead");
  const auto failed = slowly("POST", kPods, pod("web"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.message(),
            "Internal error occurred: failed calling webhook \"v.example.com\": connect to "
            "https://dead: connection refused");
  remove("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v");
  hook(false, "i", "https://dead", R"(,"failurePolicy":"Ignore")");
  EXPECT_EQ(slowly("POST", kPods, pod("web")).status, 201);
}

TEST_F(WebhooksTest, onlyMatchingRequestsAreSent) {
  answers_["https://v"] = {{"allowed", true}};
  hook(
      false, "v", "https://v",
      R"(,"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}},"objectSelector":{"matchLabels":{"app":"web"}})");
  EXPECT_EQ(slowly("POST", "/api/v1/namespaces/kube-system/pods", pod("a", "", R"({"app":"web"})"))
                .status,
            201);
  EXPECT_EQ(slowly("POST", kPods, pod("b")).status, 201);
  EXPECT_EQ(slowly("POST", "/api/v1/namespaces/default/configmaps",
                   R"({"metadata":{"name":"c","labels":{"app":"web"}}})")
                .status,
            201);
  EXPECT_EQ(slowly("PATCH", std::string(kPods) + "/b/status", R"({"status":{"phase":"Running"}})",
                   "application/merge-patch+json")
                .status,
            200);
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(slowly("POST", kPods, pod("d", "", R"({"app":"web"})")).status, 201);
  EXPECT_THAT(asked, SizeIs(1));
  EXPECT_EQ(slowly("DELETE", std::string(kPods) + "/d").status, 200);
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(textAt(asked[1], "request", "operation"), "DELETE");
  EXPECT_TRUE(asked[1].at("request").at("object").is_null());
  EXPECT_EQ(textAt(asked[1], "request", "oldObject", "metadata", "name"), "d");
}

TEST_F(WebhooksTest, validatingWebhooksSeeWhatMutatingOnesMade) {
  answers_["https://m"] = patching(R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}}])");
  answers_["https://v"] = {{"allowed", true}, {"warnings", {"mind the gap"}}};
  hook(true, "m", "https://m");
  hook(false, "v", "https://v");
  const auto made = slowly("POST", kPods, pod("web"));
  EXPECT_THAT(made.warnings, ElementsAre("mind the gap"));
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(textAt(asked[1], "request", "object", "metadata", "labels", "a"), "b");
  EXPECT_FALSE(textAt(asked[1], "request", "object", "metadata", "uid").empty());
}

TEST_F(WebhooksTest, webhooksSeeWhoOwnsWhatAndMaySayIt) {
  answers_["https://m"] = patching(R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}}])");
  hook(true, "m", "https://m");
  const auto made = slowly("POST", std::string(kPods) + "?fieldManager=maker", pod("web"));
  ASSERT_EQ(made.status, 201) << made.message();
  const auto& seen = *at(asked[0], "request", "object", "metadata", "managedFields");
  EXPECT_EQ(textAt(seen.get_array()[0], "manager"), "maker");
  // The webhook's changes have no owner.
  EXPECT_EQ(*at(made.body, "metadata", "managedFields"), seen);
  EXPECT_EQ(textAt(made.body, "metadata", "labels", "a"), "b");

  answers_["https://m"] =
      patching(R"([{"op":"replace","path":"/metadata/managedFields/0/manager","value":"heir"}])");
  const auto changed =
      slowly("PATCH", std::string(kPods) + "/web?fieldManager=other",
             R"({"metadata":{"annotations":{"c":"d"}}})", "application/merge-patch+json");
  ASSERT_EQ(changed.status, 200) << changed.message();
  EXPECT_EQ(*at(asked[1], "request", "oldObject", "metadata", "managedFields"), seen);
  EXPECT_EQ(at(asked[1], "request", "object", "metadata", "managedFields")->get_array().size(), 2u);
  EXPECT_EQ(textAt(at(changed.body, "metadata", "managedFields")->get_array()[0], "manager"),
            "heir");

  answers_["https://m"] =
      patching(R"([{"op":"add","path":"/metadata/managedFields","value":[{"manager":"x"}]}])");
  const auto broken =
      slowly("PATCH", std::string(kPods) + "/web", R"({"metadata":{"annotations":{"e":"f"}}})",
             "application/merge-patch+json");
  ASSERT_EQ(broken.status, 200) << broken.message();
  EXPECT_THAT(broken.warnings,
              ElementsAre(HasSubstr(".metadata.managedFields was in an invalid state")));
  EXPECT_EQ(textAt(at(broken.body, "metadata", "managedFields")->get_array()[0], "manager"),
            "heir");
}

TEST_F(WebhooksTest, aPatchIsTriedAgainWhenTheObjectChangedMeanwhile) {
  post(kPods, pod("web"));
  answers_["https://v"] = {{"allowed", true}};
  hook(false, "v", "https://v");
  request("PATCH", std::string(kPods) + "/web", R"({"metadata":{"labels":{"a":"1"}}})",
          "application/merge-patch+json");
  request("PATCH", std::string(kPods) + "/web", R"({"metadata":{"labels":{"b":"2"}}})",
          "application/merge-patch+json");
  loop.advance(std::chrono::milliseconds(100));
  const auto now = get(std::string(kPods) + "/web").body;
  EXPECT_EQ(*at(now, "metadata", "labels"), json::value({{"a", "1"}, {"b", "2"}}));
  EXPECT_THAT(asked, SizeIs(3));
}

TEST_F(WebhooksTest, aDryRunIsNotForWebhooksWithSideEffects) {
  const auto made = post(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      R"({"metadata":{"name":"s"},"webhooks":[{"name":"s.example.com","clientConfig":{"url":"https://s"},"rules":[{"operations":["*"],
                             "apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}],"sideEffects":"Some","admissionReviewVersions":["v1"]}]})");
  ASSERT_EQ(made.status, 201) << made.message();
  const auto refused = slowly("POST", std::string(kPods) + "?dryRun=All", pod("web"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.message(), HasSubstr("does not support dry run"));
}

}  // namespace
}  // namespace koord::apiserver::testing
