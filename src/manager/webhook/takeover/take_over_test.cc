#include "manager/webhook/takeover/take_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/embedded_cluster.h"
#include "manager/webhook/pod_webhook.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

api::ConfigMap takeOverConfig(api::StringMap data) {
  api::ConfigMap config;
  config.metadata.namespace_ = "koordinator-system";
  config.metadata.name = "koord-take-over";
  config.data = std::move(data);
  return config;
}

TakeOverRules rulesOf(api::StringMap data) {
  auto rules = readTakeOverRules(takeOverConfig(std::move(data)));
  EXPECT_TRUE(rules) << rules.error().message;
  return rules.value_or(TakeOverRules{});
}

std::string problemOf(api::StringMap data) {
  const auto rules = readTakeOverRules(takeOverConfig(std::move(data)));
  return rules ? "" : rules.error().message;
}

// The scheduler that a pod gets.
std::string schedulerOf(const TakeOverRules& rules, std::string_view namespace_,
                        std::string_view text = R"({"spec": {}})",
                        const api::StringMap& labels = {}) {
  json::value pod = parseJson(text).value();
  (void)takeOverPod(rules, namespace_, labels, pod);
  return std::string(textAt(pod, "spec", "schedulerName"));
}

TEST(TakeOverRules, select_pods_of_named_namespaces_that_ask_for_the_incumbent) {
  const TakeOverRules rules = rulesOf({{"namespaces", "shop, batch"}});
  EXPECT_EQ(schedulerOf(rules, "shop"), "koord-scheduler") << "a pod asks for the default";
  EXPECT_EQ(schedulerOf(rules, "batch", R"({"spec": {"schedulerName": "default-scheduler"}})"),
            "koord-scheduler");
  EXPECT_EQ(schedulerOf(rules, "other"), "");
  EXPECT_EQ(schedulerOf(rules, "shop", R"({"spec": {"schedulerName": "volcano"}})"), "volcano");
  EXPECT_EQ(schedulerOf(rules, "shop", R"({"spec": {"nodeName": "n1"}})"), "")
      << "the pod has its node";
}

TEST(TakeOverRules, select_pods_by_their_labels) {
  const TakeOverRules rules = rulesOf({{"namespaces", "*"}, {"selector", "app in (web,api)"}});
  EXPECT_EQ(schedulerOf(rules, "any", R"({"metadata": {"labels": {"app": "web"}}, "spec": {}})"),
            "koord-scheduler");
  EXPECT_EQ(schedulerOf(rules, "any", R"({"metadata": {"labels": {"app": "db"}}, "spec": {}})"),
            "");
  EXPECT_EQ(schedulerOf(rules, "any", R"({"metadata": {"labels": null}, "spec": {}})"), "");
  EXPECT_EQ(schedulerOf(rules, "any", R"({"metadata": {"labels": {"app": 7}}, "spec": {}})"), "");
}

TEST(TakeOverRules, select_namespaces_by_their_labels) {
  const TakeOverRules rules = rulesOf({{"namespaceSelector", "stage=test"}});
  EXPECT_TRUE(needsNamespaceLabels(rules, "a"));
  EXPECT_FALSE(needsNamespaceLabels(rules, "kube-system"));
  EXPECT_EQ(schedulerOf(rules, "a", R"({"spec": {}})", {{"stage", "test"}}), "koord-scheduler");
  EXPECT_EQ(schedulerOf(rules, "a", R"({"spec": {}})", {{"stage", "prod"}}), "");
  EXPECT_FALSE(needsNamespaceLabels(rulesOf({{"namespaces", "a"}}), "b"));
}

TEST(TakeOverRules, leave_the_namespaces_that_schedulers_run_in_unless_they_are_named) {
  const TakeOverRules all = rulesOf({{"namespaces", "*"}});
  EXPECT_EQ(schedulerOf(all, "kube-system"), "");
  EXPECT_EQ(schedulerOf(all, "koordinator-system"), "");
  EXPECT_EQ(schedulerOf(all, "default"), "koord-scheduler");
  EXPECT_EQ(schedulerOf(rulesOf({{"namespaces", "*, kube-system"}}), "kube-system"),
            "koord-scheduler");
}

TEST(TakeOverRules, select_nothing_without_namespaces) {
  EXPECT_FALSE(rulesOf({}).selectsAny());
  EXPECT_EQ(schedulerOf(rulesOf({{"selector", "app=web"}}), "default",
                        R"({"metadata": {"labels": {"app": "web"}}, "spec": {}})"),
            "");
}

TEST(TakeOverRules, go_from_any_scheduler_to_any_other) {
  const TakeOverRules rules =
      rulesOf({{"from", "volcano"}, {"to", "koord-scheduler-next"}, {"namespaces", "*"}});
  EXPECT_EQ(schedulerOf(rules, "a", R"({"spec": {"schedulerName": "volcano"}})"),
            "koord-scheduler-next");
  EXPECT_EQ(schedulerOf(rules, "a"), "");
}

TEST(TakeOverRules, name_the_key_of_an_invalid_value) {
  EXPECT_THAT(problemOf({{"namespace", "a"}}), HasSubstr("data[namespace]: is not a known key"));
  EXPECT_THAT(problemOf({{"to", " "}}), HasSubstr("data[to]: must name a scheduler"));
  EXPECT_THAT(problemOf({{"to", "default-scheduler"}}), HasSubstr("data[to]: must differ"));
  EXPECT_THAT(problemOf({{"namespaces", "shop batch"}}), HasSubstr("data[namespaces]"));
  EXPECT_THAT(problemOf({{"namespaces", "team-*"}}), HasSubstr("data[namespaces]"));
  EXPECT_THAT(problemOf({{"selector", "a in"}}), HasSubstr("data[selector]"));
  EXPECT_THAT(problemOf({{"namespaceSelector", "=="}}), HasSubstr("data[namespaceSelector]"));
  EXPECT_THAT(problemOf({{"namespaceSelector", " "}}), HasSubstr("data[namespaceSelector]"));
  EXPECT_THAT(problemOf({{"selector", ""}}), HasSubstr("data[selector]"));
}

struct TakingOver {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster{loop};
  Metrics metrics;
  TakeOver takeOver{cluster, loop, metrics, Random(1), {}};
  PodWebhook webhook{cluster, loop, metrics, Random(2), {}, {nullptr, nullptr, &takeOver}};
  TaskGroup tasks;

  TakingOver() {
    cluster.install(std::filesystem::path(KOORD_DEPLOY) /
                    "crds/config.koordinator.sh_clustercolocationprofiles.yaml");
    cluster.put(api::Namespace::kType, R"({"metadata": {"name": "koordinator-system"}})");
    cluster.put(api::Namespace::kType,
                R"({"metadata": {"name": "shop", "labels": {"stage": "test"}}})");
    webhook.start();
    takeOver.start();
    loop.advance(1s);
  }
  void configure(const std::string& data) {
    cluster.put(api::ConfigMap::kType,
                R"({"metadata": {"name": "koord-take-over", "namespace": "koordinator-system"},
                    "data": )" +
                    data + "}");
    loop.advance(10ms);
  }
  static Task<void> keepTo(Task<Verdict> task, std::optional<Verdict>* into) {
    *into = co_await task;
  }
  // The answer to a ConfigMap with these rules.
  Verdict validated(const std::string& data, const std::string& name = "koord-take-over") {
    api::AdmissionRequest request;
    request.operation = "UPDATE";
    request.resource = {"", "v1", "configmaps"};
    request.namespace_ = "koordinator-system";
    request.object =
        parseJson(R"({"metadata": {"name": ")" + name + R"("}, "data": )" + data + "}").value();
    std::optional<Verdict> verdict;
    tasks.spawn(keepTo(takeOver.validate(std::move(request)), &verdict));
    return *verdict;
  }
  // The patch of a new pod in the namespace shop.
  std::string patch(bool dryRun = false) {
    api::AdmissionRequest request;
    request.dryRun = dryRun;
    request.operation = "CREATE";
    request.resource = {"", "v1", "pods"};
    request.namespace_ = "shop";
    request.object = parseJson(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"schedulerName": "default-scheduler",
                 "containers": [{"name": "c", "image": "i"}]}})")
                         .value();
    std::optional<Verdict> verdict;
    tasks.spawn(keepTo(webhook.mutate(std::move(request)), &verdict));
    loop.advanceUntil([&] { return verdict.has_value(); }, 20s);
    EXPECT_TRUE(verdict);
    return verdict ? toJson(verdict->patch) : "";
  }
};

TEST(TakeOver, follows_its_configmap_there_and_back) {
  TakingOver t;
  EXPECT_EQ(t.patch().find("koord-scheduler"), std::string::npos);
  t.configure(R"({"namespaces": "shop"})");
  EXPECT_THAT(t.patch(), HasSubstr("koord-scheduler"));
  t.configure(R"({"namespaces": "other"})");
  EXPECT_EQ(t.patch().find("koord-scheduler"), std::string::npos);
  t.configure(R"({"namespaceSelector": "stage=test"})");
  EXPECT_THAT(t.patch(), HasSubstr("koord-scheduler"));
  t.cluster.remove(api::ConfigMap::kType, "koord-take-over", "koordinator-system");
  t.loop.advance(10ms);
  EXPECT_EQ(t.patch().find("koord-scheduler"), std::string::npos);
  EXPECT_THAT(t.metrics.internalText(),
              HasSubstr("koord_manager_taken_over_pods_total{from=\"default-scheduler\","
                        "namespace=\"shop\",to=\"koord-scheduler\"} 2"));
}

TEST(TakeOver, keeps_the_last_valid_rules_when_the_configmap_is_invalid) {
  TakingOver t;
  t.configure(R"({"namespaces": "shop"})");
  t.configure(R"({"namespaces": "shop", "selector": "(("})");
  EXPECT_THAT(t.patch(), HasSubstr("koord-scheduler"));
  EXPECT_THAT(t.metrics.internalText(), HasSubstr("koord_manager_take_over_config_valid 0"));
  t.cluster.remove(api::ConfigMap::kType, "koord-take-over", "koordinator-system");
  t.loop.advance(10ms);
  EXPECT_THAT(t.metrics.internalText(), HasSubstr("koord_manager_take_over_config_valid 1"))
      << "there is no invalid ConfigMap any more";
}

TEST(TakeOver, refuses_an_invalid_configmap_before_it_is_stored) {
  TakingOver t;
  EXPECT_TRUE(t.validated(R"({"namespaces": "shop"})").allowed);
  const Verdict refused = t.validated(R"({"namespaces": "shop", "selector": "(("})");
  EXPECT_FALSE(refused.allowed);
  EXPECT_THAT(refused.message, HasSubstr("data[selector]"));
  EXPECT_TRUE(t.validated(R"({"selector": "(("})", "other").allowed);
}

TEST(TakeOver, does_not_count_dry_runs) {
  TakingOver t;
  t.configure(R"({"namespaces": "shop"})");
  EXPECT_THAT(t.patch(true), HasSubstr("koord-scheduler"));
  EXPECT_THAT(t.metrics.internalText(), Not(HasSubstr("koord_manager_taken_over_pods_total{")));
}

}  // namespace
}  // namespace koord::manager
