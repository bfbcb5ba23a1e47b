// Tests which users may bind pods, and which labels pods must have.

#include <gmock/gmock.h>

#include "api/codec.h"
#include "apiserver/embedded_cluster.h"
#include "base/virtual_loop.h"
#include "manager/webhook/binding_webhook.h"
#include "manager/webhook/enhanced_validation.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Task<void> keepDecision(Task<Verdict> task, std::optional<Verdict>& into) {
  into = co_await task;
}

// Counts reads of single objects.
class CountingApi final : public kube::Api {
 public:
  explicit CountingApi(kube::Api& api) : api_(api) {}
  Task<Result<std::string>> call(kube::Request request) override {
    gets += request.verb == kube::Verb::Get;
    return api_.call(std::move(request));
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return api_.watch(std::move(request), std::move(sink));
  }
  int gets = 0;

 private:
  kube::Api& api_;
};

class Binding : public testing::Test {
 protected:
  Binding() {
    cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"shop"}})");
    pod("plain", "{}", "{}");
    flags_.userNames = "koord-scheduler, other-scheduler ,";
    flags_.namespaces = "*";
  }
  void pod(const std::string& name, const std::string& labels, const std::string& annotations) {
    cluster_.put(api::Pod::kType, R"({"metadata":{"namespace":"shop","name":")" + name +
                                      R"(","labels":)" + labels + R"(,"annotations":)" +
                                      annotations +
                                      R"(},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
  Verdict ask(const std::string& user, const std::string& name = "plain",
              const std::string& ns = "shop", bool gate = true) {
    BindingWebhook webhook(counting_, loop_, metrics_, Random(1), flags_, gate);
    webhook.start();
    loop_.advanceUntil([&] { return webhook.synced(); }, 10s);
    return ask(webhook, user, name, ns);
  }
  Verdict ask(BindingWebhook& webhook, const std::string& user, const std::string& name,
              const std::string& ns = "shop") {
    api::AdmissionRequest request;
    request.operation = "CREATE";
    request.resource = {"", "v1", "pods"};
    request.subResource = "binding";
    request.namespace_ = ns;
    request.name = name;
    request.userInfo.username = user;
    std::optional<Verdict> verdict;
    tasks_.spawn(keepDecision(webhook.validate(std::move(request)), verdict));
    loop_.advanceUntil([&] { return verdict.has_value(); }, 10s);
    return verdict.value_or(refuse(0, "no answer"));
  }
  bool counted(const std::string& decision) const {
    return metrics_.internalText().contains(
        "koord_manager_webhook_binding_admission_decisions_total{decision=\"" + decision + "\"} 1");
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  CountingApi counting_{cluster_};
  Metrics metrics_;
  BindingAdmissionFlags flags_;
  TaskGroup tasks_;
};

TEST_F(Binding, IsDeniedToUsersWhoAreNotListed) {
  const Verdict verdict = ask("system:serviceaccount:kube-system:old-scheduler");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.code, 403);
  EXPECT_EQ(verdict.message, "binding denied: username is not in the allowed list");
  EXPECT_TRUE(counted("denied"));
}

TEST_F(Binding, IsAllowedToThoseWhoseNameHasAListedPart) {
  EXPECT_TRUE(ask("system:serviceaccount:koordinator-system:koord-scheduler").allowed);
  EXPECT_TRUE(counted("allowed_username"));
  EXPECT_TRUE(ask("my-other-scheduler-2").allowed);
}

TEST_F(Binding, NobodyIsAskedWithoutTheGateOrAList) {
  EXPECT_TRUE(ask("old", "plain", "shop", false).allowed);
  flags_.userNames = " , ";
  EXPECT_TRUE(ask("old").allowed);
}

TEST_F(Binding, ExcludedNamespacesComeFirst) {
  flags_.excludedNamespaces = "kube-system,shop";
  EXPECT_TRUE(ask("old").allowed);
  EXPECT_TRUE(counted("excluded_ns"));
}

TEST_F(Binding, OnlyListedNamespacesAreLookedAt) {
  flags_.namespaces = "";
  EXPECT_TRUE(ask("old").allowed) << "none is listed";
  flags_.namespaces = "bank";
  EXPECT_TRUE(ask("old").allowed);
  EXPECT_TRUE(counted("out_of_scope"));
  flags_.namespaces = "bank, shop";
  EXPECT_FALSE(ask("old").allowed);
}

TEST_F(Binding, PodsMayCarryAKeyThatLetsThemPass) {
  pod("labelled", R"({"koordinator.sh/binding-admission-bypass":""})", "{}");
  EXPECT_TRUE(ask("old", "labelled").allowed);
  EXPECT_TRUE(counted("bypass_label"));
  flags_.bypassAnnotations = "virtual-kubelet.io/pod";
  pod("annotated", "{}", R"({"virtual-kubelet.io/pod":"no matter what"})");
  EXPECT_TRUE(ask("old", "annotated").allowed);
  EXPECT_TRUE(counted("bypass_annotation"));
  EXPECT_FALSE(ask("old").allowed);
}

TEST_F(Binding, ASchedulerThatIsRefusedAgainAndAgainCostsTheApiServerNothing) {
  BindingWebhook webhook(counting_, loop_, metrics_, Random(1), flags_, true);
  webhook.start();
  loop_.advanceUntil([&] { return webhook.synced(); }, 10s);
  counting_.gets = 0;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ask(webhook, "old", "plain").allowed);
  EXPECT_EQ(counting_.gets, 0);
}

TEST_F(Binding, APodThatCannotBeReadIsAllowed) {
  EXPECT_TRUE(ask("old", "gone").allowed);
}

TEST_F(Binding, ADryRunOnlyCounts) {
  flags_.dryRun = true;
  EXPECT_TRUE(ask("old").allowed);
  EXPECT_TRUE(counted("dry_run"));
}

api::Pod podWith(std::string_view labels, const std::string& ns = "shop") {
  auto pod =
      api::decodeText<api::Pod>(R"({"metadata":{"labels":)" + std::string(labels) + "}}").value();
  pod.metadata.namespace_ = ns;
  return pod;
}

PodRules rulesOf(const std::string& enable, const std::string& rules) {
  api::ConfigMap config;
  config.data = {{"enable", enable}, {"rules", rules}};
  const auto read = readPodRules(config);
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(PodRules());
}

constexpr const char* kTeamAndApp =
    R"([{"name":"owner","requiredLabels":["team","app"],"namespaceWhitelist":["kube-system"]},
        {"name":"tier","requiredLabels":["tier"]}])";

TEST(EnhancedValidation, NamesTheLabelsThatAreMissing) {
  const PodRules rules = rulesOf(" TRUE\n", kTeamAndApp);
  EXPECT_EQ(checkPodRules(rules, podWith(R"({"app":"a"})")), "required label 'team' is missing");
  EXPECT_EQ(checkPodRules(rules, podWith("{}")), "required labels are missing: [team app]");
  EXPECT_EQ(checkPodRules(rules, podWith(R"({"team":"","app":""})")),
            "required label 'tier' is missing");
  EXPECT_EQ(checkPodRules(rules, podWith(R"({"team":"t","app":"a","tier":"1"})")), std::nullopt);
}

TEST(EnhancedValidation, NamespacesAndPodsCanBeLeftAlone) {
  const PodRules rules = rulesOf("true", kTeamAndApp);
  EXPECT_EQ(checkPodRules(rules, podWith("{}", "kube-system")), "required label 'tier' is missing")
      << "the list is of one rule";
  EXPECT_EQ(
      checkPodRules(rules, podWith(R"({"pod.koordinator.sh/skip-enhanced-validation":"true"})")),
      std::nullopt);
  EXPECT_NE(
      checkPodRules(rules, podWith(R"({"pod.koordinator.sh/skip-enhanced-validation":"yes"})")),
      std::nullopt);
}

TEST(EnhancedValidation, IsOffUnlessItSaysTrue) {
  for (const char* text : {"", "false", "1", "tr ue", "truetrue"})
    EXPECT_EQ(checkPodRules(rulesOf(text, kTeamAndApp), podWith("{}")), std::nullopt) << text;
  EXPECT_EQ(checkPodRules(rulesOf("true", "null"), podWith("{}")), std::nullopt);
}

TEST(EnhancedValidation, WhatCannotBeReadNamesTheKey) {
  for (const char* text : {"{", R"({"name":"r"})", R"([{"requiredLabels":"team"}])", R"([7])"}) {
    api::ConfigMap config;
    config.data = {{"enable", "true"}, {"rules", text}};
    const auto read = readPodRules(config);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("data")) << text;
  }
}

TEST(EnhancedValidation, FollowsItsConfigMapAndKeepsTheLastGoodRules) {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster(loop);
  cluster.put(api::Namespace::kType, R"({"metadata":{"name":"koordinator-system"}})");
  EnhancedValidation validation(cluster, loop, Random(1), {.enabled = true});
  validation.start();
  loop.advance(1s);
  EXPECT_TRUE(validation.synced());
  EXPECT_EQ(validation.check(podWith("{}")), std::nullopt) << "there is no ConfigMap";
  const auto configure = [&](const std::string& rules) {
    cluster.put(
        api::ConfigMap::kType,
        R"({"metadata":{"namespace":"koordinator-system","name":"pod-enhanced-validator-config"},
                    "data":{"enable":"true","rules":)" +
            toJson(json::value(rules)) + "}}");
    loop.advance(1s);
  };
  configure(R"([{"name":"r","requiredLabels":["team"]}])");
  EXPECT_EQ(validation.check(podWith("{}")), "required label 'team' is missing");
  configure("[{");
  EXPECT_EQ(validation.check(podWith("{}")), "required label 'team' is missing");
  cluster.remove(api::ConfigMap::kType, "pod-enhanced-validator-config", "koordinator-system");
  loop.advance(1s);
  EXPECT_EQ(validation.check(podWith("{}")), std::nullopt);
}

}  // namespace
}  // namespace koord::manager
