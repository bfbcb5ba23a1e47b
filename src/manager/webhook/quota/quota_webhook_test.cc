// Tests the quota webhooks and pods' quotas with an API server.

#include "manager/webhook/quota/quota_webhook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "api/patch/json_patch.h"
#include "apiserver/embedded_cluster.h"
#include "kube/client.h"
#include "manager/webhook/pod_webhook.h"
#include "manager/webhook/quota/pod_quota.h"
#include "model/well_known.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Task<void> keepVerdict(Task<Verdict> task, std::optional<Verdict>& into) {
  into = co_await task;
}
Task<void> keepCharge(PodQuota* quotas, api::Pod pod, std::vector<std::string>* into,
                      std::size_t index) {
  auto task = quotas->evaluate(pod, nullptr, pod.metadata.name == "asked");
  const auto result = co_await task;
  (*into)[index] = result ? "ok" : result.error().message;
}

class QuotaWebhookTest : public testing::Test {
 protected:
  QuotaWebhookTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/scheduling.sigs.k8s.io_elasticquotas.yaml");
  }
  static std::string document(std::string_view name, std::string_view labels, std::string_view spec,
                              std::string_view annotations = "{}") {
    return fmt::format(
        R"({{"metadata":{{"namespace":"default","name":"{}","labels":{},"annotations":{}}},"spec":{}}})",
        name, labels, annotations, spec);
  }
  void put(std::string_view name, std::string_view labels, std::string_view spec,
           std::string_view annotations = "{}") {
    cluster_.put(api::ElasticQuota::kType, document(name, labels, spec, annotations));
  }
  static api::AdmissionRequest request(std::string_view operation, const std::string& object,
                                       const std::string& old = "") {
    api::AdmissionRequest request;
    request.operation = operation;
    request.resource = {"scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas"};
    if (!object.empty()) request.object = parseJson(object).value();
    if (!old.empty()) request.oldObject = parseJson(old).value();
    return request;
  }
  Verdict run(Task<Verdict> task) {
    std::optional<Verdict> verdict;
    tasks_.spawn(keepVerdict(std::move(task), verdict));
    loop_.advanceUntil([&] { return verdict.has_value(); }, 20s);
    return verdict.value_or(refuse(0, "no answer"));
  }
  json::value filled(const std::string& object) {
    const Verdict verdict = run(webhook_.mutate(request("CREATE", object)));
    EXPECT_TRUE(verdict.allowed) << verdict.message;
    return api::applyJsonPatch(parseJson(object).value(), verdict.patch).value();
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  TaskGroup tasks_;
  QuotaLedger ledger_{cluster_, loop_, Random(1)};
  QuotaWebhook webhook_{cluster_, loop_, metrics_, ledger_, {}};
};

constexpr const char* kParent = R"({"quota.scheduling.koordinator.sh/parent":"p"})";
constexpr const char* kSpec = R"({"min":{"cpu":"4"},"max":{"cpu":"8"}})";

TEST_F(QuotaWebhookTest, ANewQuotaIsCompleted) {
  auto object = filled(document("a", "{}", kSpec));
  EXPECT_EQ(textAt(object, "metadata", "labels", "quota.scheduling.koordinator.sh/parent"),
            "koordinator-root-quota");
  EXPECT_EQ(
      textAt(object, "metadata", "annotations", "quota.scheduling.koordinator.sh/shared-weight"),
      R"({"cpu":"8"})");
  EXPECT_THAT(metrics_.internalText(),
              HasSubstr(R"(quota_shared_weight{elasticquota_name="a",resource_name="cpu"} 8)"));

  put("p",
      R"({"quota.scheduling.koordinator.sh/tree-id":"t","quota.scheduling.koordinator.sh/is-parent":"true"})",
      kSpec);
  object = filled(
      document("b", kParent, R"({"max":{"cpu":"8","memory":"1Gi"}})",
               R"({"quota.scheduling.koordinator.sh/shared-weight":"{\"cpu\":\"3\",\"gpu\":1}"})"));
  EXPECT_EQ(textAt(object, "metadata", "labels", "quota.scheduling.koordinator.sh/tree-id"), "t");
  EXPECT_EQ(
      textAt(object, "metadata", "annotations", "quota.scheduling.koordinator.sh/shared-weight"),
      R"({"cpu":"3","memory":"1Gi"})");
  const std::string root = document("koordinator-root-quota", "{}", kSpec);
  EXPECT_EQ(filled(root), parseJson(root).value());
}

TEST_F(QuotaWebhookTest, WhatCannotBeCompletedIsRefused) {
  auto verdict = run(webhook_.mutate(request("CREATE", document("a", kParent, kSpec))));
  EXPECT_EQ(verdict.code, 400);
  EXPECT_EQ(verdict.message, "fill quota a failed, parent not exist");
  verdict = run(webhook_.mutate(request(
      "CREATE",
      document("a", "{}", kSpec, R"({"quota.scheduling.koordinator.sh/shared-weight":"x"})"))));
  EXPECT_THAT(verdict.message, HasSubstr("fillDefaultQuotaInfo unmarshal sharedWeight failed:"));
  EXPECT_FALSE(run(webhook_.mutate(request("CREATE", "[]"))).allowed);
  EXPECT_FALSE(
      run(webhook_.validate(request("CREATE", R"({"spec":{"max":{"cpu":"x"}}})"))).allowed);
}

TEST_F(QuotaWebhookTest, ChecksSeeWhatTheServerHoldsAndNothingElse) {
  const std::string child = document("c", kParent, R"({"max":{"cpu":"8"}})");
  EXPECT_THAT(run(webhook_.validate(request("CREATE", child))).message,
              HasSubstr("not find parentInfo"));
  put("p", R"({"quota.scheduling.koordinator.sh/is-parent":"true"})", kSpec);
  EXPECT_TRUE(run(webhook_.validate(request("CREATE", child))).allowed);
  EXPECT_TRUE(run(webhook_.validate(request("CREATE", child))).allowed)
      << "what was admitted and never stored is not in the way";
  put("c", kParent, R"({"max":{"cpu":"8"}})");
  EXPECT_EQ(run(webhook_.validate(request("CREATE", child))).message,
            "AddQuota quota already exist:c");
  EXPECT_EQ(run(webhook_.validate(request("DELETE", "", document("p", "{}", kSpec)))).message,
            "delete quota failed, quota p has 1 child quotas");

  cluster_.failure = [](const kube::Request& asked) -> std::optional<Error> {
    if (asked.resource != "elasticquotas") return std::nullopt;
    return Error{ErrorCode::Unavailable, "no answer"};
  };
  const auto lost = run(webhook_.validate(request("CREATE", child)));
  EXPECT_EQ(lost.code, 500);
  EXPECT_THAT(lost.message, HasSubstr("elastic quotas"));
}

TEST_F(QuotaWebhookTest, PodsKeepTheirQuotaFromBecomingAParentOrLeaving) {
  const char* asParent = R"({"quota.scheduling.koordinator.sh/is-parent":"true"})";
  put("c", "{}", kSpec);
  const std::string before = document("c", "{}", kSpec);
  EXPECT_TRUE(
      run(webhook_.validate(request("UPDATE", document("c", asParent, kSpec), before))).allowed);
  cluster_.put(api::Pod::kType, R"({"metadata":{"namespace":"default","name":"one",
      "labels":{"quota.scheduling.koordinator.sh/name":"c"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_THAT(
      run(webhook_.validate(request("UPDATE", document("c", asParent, kSpec), before))).message,
      HasSubstr("quota has bound pods"));
  EXPECT_EQ(run(webhook_.validate(request("DELETE", "", before))).message,
            "delete quota failed, quota c has 1 child pods: one");
}

TEST_F(QuotaWebhookTest, TwoChildrenAtTheSameTimeDoNotTakeTheSameRoom) {
  for (const bool informed : {false, true}) {
    const std::string parent = fmt::format("p{}", informed);
    if (informed) {
      ledger_.start();
      loop_.advance(1s);
    }
    put(parent, R"({"quota.scheduling.koordinator.sh/is-parent":"true"})",
        R"({"min":{"cpu":"10"},"max":{"cpu":"10"}})");
    loop_.advance(1s);
    const std::string below = fmt::format(R"({{"{}":"{}"}})", model::kLabelQuotaParent, parent);
    const char* spec = R"({"min":{"cpu":"6"},"max":{"cpu":"10"}})";
    std::optional<Verdict> first, second;
    tasks_.spawn(keepVerdict(
        webhook_.validate(request("CREATE", document(parent + "a", below, spec))), first));
    tasks_.spawn(keepVerdict(
        webhook_.validate(request("CREATE", document(parent + "b", below, spec))), second));
    loop_.advanceUntil([&] { return first && second; }, 20s);
    EXPECT_TRUE(first->allowed) << first->message;
    EXPECT_FALSE(second->allowed);
    EXPECT_THAT(second->message, HasSubstr("all brothers' MinQuota > parent MinQuota"));
    EXPECT_THAT(second->message, HasSubstr("try again"));

    EXPECT_TRUE(
        run(webhook_.validate(request("CREATE", document(parent + "a", below, spec)))).allowed)
        << "the same quota once more is not in its own way";
    loop_.advance(1min);
    EXPECT_TRUE(
        run(webhook_.validate(request("CREATE", document(parent + "b", below, spec)))).allowed)
        << "the first was never stored, and its request has ended";
  }
}

TEST_F(QuotaWebhookTest, AParentThatShrinksOrLeavesAndAChildThatComesAreNotBothAdmitted) {
  ledger_.start();
  const char* parents = R"({"quota.scheduling.koordinator.sh/is-parent":"true"})";
  put("p", parents, kSpec);
  loop_.advance(1s);
  const std::string before = document("p", parents, kSpec);
  const std::string less = document("p", parents, R"({"min":{"cpu":"1"},"max":{"cpu":"8"}})");
  const std::string child = document("c", kParent, R"({"min":{"cpu":"2"},"max":{"cpu":"8"}})");
  EXPECT_TRUE(run(webhook_.validate(request("UPDATE", less, before))).allowed);
  EXPECT_THAT(run(webhook_.validate(request("CREATE", child))).message,
              HasSubstr("all brothers' MinQuota"));
  loop_.advance(1min);
  EXPECT_TRUE(run(webhook_.validate(request("DELETE", "", before))).allowed);
  EXPECT_THAT(run(webhook_.validate(request("CREATE", child))).message,
              HasSubstr("not find parentInfo"));
  loop_.advance(1min);
  EXPECT_TRUE(run(webhook_.validate(request("CREATE", child))).allowed);
  EXPECT_THAT(run(webhook_.validate(request("DELETE", "", before))).message,
              HasSubstr("has 1 child quotas"));
  put("c", kParent, R"({"min":{"cpu":"2"},"max":{"cpu":"8"}})");
  loop_.advance(1s);
  EXPECT_THAT(run(webhook_.validate(request("DELETE", "", before))).message,
              testing::EndsWith("has 1 child quotas"))
      << "it is stored by now";
}

TEST_F(QuotaWebhookTest, WhatIsAdmittedCostsNoListOfAllAndADryRunHoldsNothing) {
  ledger_.start();
  put("p", R"({"quota.scheduling.koordinator.sh/is-parent":"true"})", kSpec);
  loop_.advance(1s);
  int lists = 0;
  cluster_.failure = [&](const kube::Request& asked) -> std::optional<Error> {
    lists += asked.resource == "elasticquotas" && asked.verb == kube::Verb::List &&
             !asked.query.contains("labelSelector");
    return std::nullopt;
  };
  for (int i = 0; i < 20; ++i) {
    auto dry = request("CREATE", document(fmt::format("c{}", i), kParent, kSpec));
    dry.dryRun = true;
    EXPECT_TRUE(run(webhook_.validate(dry)).allowed);
  }
  EXPECT_EQ(lists, 0);
}

// Receives no events after its first lists.
class SilentWatchApi final : public kube::Api {
 public:
  explicit SilentWatchApi(kube::Api& api) : api_(api) {}
  Task<Result<std::string>> call(kube::Request request) override {
    return api_.call(std::move(request));
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    sink.onEvent = [](std::string_view) {};
    return api_.watch(std::move(request), std::move(sink));
  }

 private:
  kube::Api& api_;
};

TEST_F(QuotaWebhookTest, WhatAnotherReplicaAdmittedCountsHoweverLateTheWatchIs) {
  const char* parents = R"({"quota.scheduling.koordinator.sh/is-parent":"true"})";
  put("p", parents, kSpec);
  put("c", kParent, R"({"min":{"cpu":"1"},"max":{"cpu":"8"}})");
  SilentWatchApi deaf(cluster_);
  QuotaLedger book(deaf, loop_, Random(1));
  QuotaWebhook webhook(deaf, loop_, metrics_, book, {});
  book.start();
  loop_.advance(1s);
  const auto three =
      request("CREATE", document("d", kParent, R"({"min":{"cpu":"3"},"max":{"cpu":"8"}})"));
  put("new", kParent, R"({"min":{"cpu":"2"},"max":{"cpu":"8"}})");
  EXPECT_FALSE(run(webhook.validate(three)).allowed) << "a sibling has come";
  cluster_.remove(api::ElasticQuota::kType, "new", "default");
  put("p", parents, R"({"min":{"cpu":"2"},"max":{"cpu":"8"}})");
  EXPECT_FALSE(run(webhook.validate(three)).allowed) << "the parent has less";
  put("p", parents, kSpec);
  EXPECT_TRUE(run(webhook.validate(three)).allowed);
  EXPECT_FALSE(
      run(webhook.validate(request(
              "CREATE", document("e", kParent, R"({"min":{"cpu":"1"},"max":{"cpu":"8"}})"))))
          .allowed)
      << "what this replica has admitted is remembered, too";
  loop_.advance(1min);
  put("below", R"({"quota.scheduling.koordinator.sh/parent":"c"})", kSpec);
  EXPECT_FALSE(run(webhook.validate(request("DELETE", "", document("c", kParent, kSpec)))).allowed);
  cluster_.remove(api::ElasticQuota::kType, "p", "default");
  EXPECT_FALSE(run(webhook.validate(three)).allowed) << "the parent has gone";
}

TEST_F(QuotaWebhookTest, AQuotaWhoseNameIsTooLongForALabelCanBeDeletedAndBecomeAParent) {
  const std::string name(70, 'q');
  put(name, "{}", kSpec);
  const std::string before = document(name, "{}", kSpec);
  const auto left = run(webhook_.validate(request("DELETE", "", before)));
  EXPECT_TRUE(left.allowed) << left.message;
  loop_.advance(1min);
  const auto parent = run(webhook_.validate(request(
      "UPDATE", document(name, R"({"quota.scheduling.koordinator.sh/is-parent":"true"})", kSpec),
      before)));
  EXPECT_TRUE(parent.allowed) << parent.message;
}

class PodQuotaTest : public QuotaWebhookTest {
 protected:
  PodQuotaTest() { ledger_.start(); }
  static api::Pod pod(std::string_view quota, std::string_view cpu = "1") {
    return api::decode<api::Pod>(parseJson(fmt::format(
                                               R"({{"metadata":{{"namespace":"team","name":"x",
      "labels":{{"quota.scheduling.koordinator.sh/name":"{}"}}}},"spec":{{"containers":[
      {{"name":"c","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
                                               quota, cpu))
                                     .value())
        .value();
  }
  std::vector<std::string> charge(PodQuota& quotas, const std::vector<api::Pod>& pods) {
    std::vector<std::string> results(pods.size());
    for (std::size_t i = 0; i < pods.size(); ++i)
      tasks_.spawn(keepCharge(&quotas, pods[i], &results, i));
    loop_.advance(15s);
    return results;
  }
  std::string charged(const std::string& name) {
    return std::string(textAt(*cluster_.get(api::ElasticQuota::kType, name, "default"), "metadata",
                              "annotations", "quota.scheduling.koordinator.sh/child-request"));
  }
};

TEST_F(PodQuotaTest, PodsAreNotOfQuotasThatOthersAreBelow) {
  put("p", R"({"quota.scheduling.koordinator.sh/is-parent":"true"})", kSpec);
  put("leaf", "{}", kSpec, R"({"quota.scheduling.koordinator.sh/namespaces":"[\"team\"]"})");
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, {});
  quotas.start();
  loop_.advance(1s);
  EXPECT_EQ(quotas.check(pod("p"), nullptr),
            "pod can not be linked to a parentQuotaGroup,quota:p, pod:x");
  EXPECT_EQ(quotas.check(pod("leaf"), nullptr), std::nullopt);
  EXPECT_EQ(quotas.check(pod("nobody"), nullptr), std::nullopt);
  EXPECT_EQ(quotas.quotaOf(pod("")), "leaf") << "by its namespace";
  auto changed = pod("leaf");
  changed.metadata.labels["quota.scheduling.koordinator.sh/preemptible"] = "false";
  const auto before = pod("leaf");
  EXPECT_EQ(quotas.check(changed, &before), "Preemptible label is forbidden modify now.");
  PodQuota::Options open;
  open.parentsHavePods = true;
  PodQuota free(cluster_, loop_, Random(1), ledger_, open);
  free.start();
  loop_.advance(1s);
  EXPECT_EQ(free.check(pod("p"), nullptr), std::nullopt);
}

TEST_F(PodQuotaTest, PodsOfATreeStayOnItsNodes) {
  cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                   "crds/quota.koordinator.sh_elasticquotaprofiles.yaml");
  put("leaf", R"({"quota.scheduling.koordinator.sh/tree-id":"t"})", kSpec);
  cluster_.put(api::ElasticQuotaProfile::kType, R"({"metadata":{"namespace":"default","name":"p",
      "labels":{"quota.scheduling.koordinator.sh/tree-id":"t"}},"spec":{"quotaName":"root",
      "nodeSelector":{"matchLabels":{"pool":"a"}}}})");
  PodQuota::Options options;
  options.trees = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  loop_.advance(1s);
  json::value document =
      parseJson(R"({"metadata":{"labels":{"quota.scheduling.koordinator.sh/name":"leaf"}}})")
          .value();
  quotas.requireNodesOfTree("team", document);
  EXPECT_THAT(toJson(document), HasSubstr(R"({"key":"pool","operator":"In","values":["a"]})"));
  document = parseJson(R"({"metadata":{}})").value();
  quotas.requireNodesOfTree("team", document);
  EXPECT_EQ(toJson(document), R"({"metadata":{}})");
}

TEST_F(PodQuotaTest, PodsAreAdmittedInTheOrderOfTheirArrivalWhileTheyFit) {
  put("q", "{}", R"({"max":{"cpu":"10"}})",
      R"({"quota.scheduling.koordinator.sh/child-request":"{\"cpu\":\"9\"}"})");
  PodQuota::Options options;
  options.evaluate = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  loop_.advance(1s);
  EXPECT_THAT(charge(quotas, {pod("q", "2"), pod("q", "1"), pod("q", "100m"), pod("none", "1")}),
              testing::ElementsAre(
                  "exceeded quota: default/q, requested: cpu=2, used: cpu=9, limited: cpu=10", "ok",
                  "exceeded quota: default/q, requested: cpu=100m, used: cpu=10, limited: cpu=10",
                  "elastic quota none not found"));
  EXPECT_EQ(charged("q"), R"({"cpu":"10"})");
}

TEST_F(PodQuotaTest, ADryRunIsAnsweredAndNotCharged) {
  put("q", "{}", R"({"max":{"cpu":"10"}})",
      R"({"quota.scheduling.koordinator.sh/child-request":"{\"cpu\":\"5\"}"})");
  PodQuota::Options options;
  options.evaluate = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  loop_.advance(1s);
  auto fits = pod("q", "5");
  auto doesNot = pod("q", "6");
  fits.metadata.name = doesNot.metadata.name = "asked";
  cluster_.writes.clear();
  EXPECT_THAT(
      charge(quotas, {fits, fits, doesNot}),
      testing::ElementsAre(
          "ok", "ok", "exceeded quota: default/q, requested: cpu=6, used: cpu=5, limited: cpu=10"));
  EXPECT_TRUE(cluster_.writes.empty());
  EXPECT_THAT(charge(quotas, {fits, pod("q", "5")}), testing::ElementsAre("ok", "ok"));
  EXPECT_EQ(charged("q"), R"({"cpu":"10"})");
}

TEST_F(PodQuotaTest, APodThatAnotherCheckRefusesIsNotCharged) {
  put("q", "{}", R"({"max":{"cpu":"10"}})");
  PodQuota::Options options;
  options.evaluate = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  PodWebhook::Options checks;
  checks.validation.checkDevices = true;
  PodWebhook webhook(cluster_, loop_, metrics_, Random(1), checks, {&quotas, nullptr});
  loop_.advance(1s);
  const auto asked = [](std::string_view more) {
    api::AdmissionRequest create;
    create.operation = "CREATE";
    create.namespace_ = "team";
    create.resource = {"", "v1", "pods"};
    create.object = parseJson(fmt::format(R"({{"metadata":{{"name":"x","labels":{{
        "quota.scheduling.koordinator.sh/name":"q"}}}},"spec":{{"containers":[{{"name":"c",
        "resources":{{"requests":{{"cpu":"1"{}}}}}}}]}}}})",
                                          more))
                        .value();
    return create;
  };
  EXPECT_FALSE(run(webhook.validate(asked(R"(,"koordinator.sh/gpu":"150")"))).allowed);
  EXPECT_EQ(charged("q"), "");
  EXPECT_TRUE(run(webhook.validate(asked(""))).allowed);
  EXPECT_EQ(charged("q"), R"({"cpu":"1"})");
}

TEST_F(PodQuotaTest, AThousandPodsAtOnceTakeAFewWritesAndConflictsAreJudgedAgain) {
  put("q", "{}", R"({"max":{"cpu":"600"}})");
  PodQuota::Options options;
  options.evaluate = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  loop_.advance(1s);
  int conflicts = 2;
  cluster_.failure = [&](const kube::Request& asked) -> std::optional<Error> {
    if (asked.verb != kube::Verb::Patch || conflicts == 0) return std::nullopt;
    --conflicts;
    return Error{ErrorCode::Conflict, "somebody else wrote"};
  };
  cluster_.writes.clear();
  const auto results = charge(quotas, std::vector<api::Pod>(1000, pod("q", "1")));
  EXPECT_EQ(std::ranges::count(results, "ok"), 600);
  EXPECT_EQ(charged("q"), R"({"cpu":"600"})");
  EXPECT_LE(cluster_.writes.size(), 4u) << "two conflicts, the first pod, all others";
}

TEST_F(PodQuotaTest, WhatCannotBeWrittenIsNotAdmitted) {
  put("q", "{}", R"({"max":{"cpu":"600"}})");
  PodQuota::Options options;
  options.evaluate = true;
  PodQuota quotas(cluster_, loop_, Random(1), ledger_, options);
  quotas.start();
  loop_.advance(1s);
  cluster_.failure = [](const kube::Request& asked) -> std::optional<Error> {
    if (asked.verb != kube::Verb::Patch) return std::nullopt;
    return Error{ErrorCode::Unavailable, "no answer"};
  };
  EXPECT_THAT(charge(quotas, {pod("q")}), testing::ElementsAre(HasSubstr("no answer")));
  EXPECT_EQ(retriesForBatch(1, 10), 3);
  EXPECT_EQ(retriesForBatch(8, 10), 6);
  EXPECT_EQ(retriesForBatch(1 << 20, 10), 10);
  EXPECT_EQ(retriesForBatch(1 << 20, 3), 3);
}

}  // namespace
}  // namespace koord::manager
