// Tests the webhooks with a cluster: reading of profiles and namespaces, storage of certificates.

#include <gmock/gmock.h>

#include <filesystem>

#include "api/patch/json_patch.h"
#include "apiserver/embedded_cluster.h"
#include "base/log.h"
#include "manager/webhook/certificate_controller.h"
#include "manager/webhook/pod_webhook.h"
#include "manager/webhook/webhook_entries.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

api::AdmissionRequest podRequest(std::string_view pod) {
  api::AdmissionRequest request;
  request.uid = "u1";
  request.operation = "CREATE";
  request.resource = {"", "v1", "pods"};
  request.namespace_ = "demo";
  request.object = parseJson(pod).value();
  return request;
}

Task<void> keep(Task<Verdict> task, std::optional<Verdict>& into) {
  into = co_await task;
}

class PodWebhookTest : public testing::Test {
 protected:
  PodWebhookTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/config.koordinator.sh_clustercolocationprofiles.yaml");
    cluster_.put(
        api::Namespace::kType,
        R"({"metadata":{"name":"demo","labels":{"koordinator.sh/enable-colocation":"true"}}})");
    cluster_.put(
        api::PriorityClass::kType,
        R"({"metadata":{"name":"koord-batch"},"value":5000,"preemptionPolicy":"PreemptLowerPriority"})");
    cluster_.put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"demo"},"spec":{
        "namespaceSelector":{"matchLabels":{"koordinator.sh/enable-colocation":"true"}},
        "selector":{"matchLabels":{"koordinator.sh/enable-colocation":"true"}},
        "qosClass":"BE","priorityClassName":"koord-batch","koordinatorPriority":1000,
        "schedulerName":"koord-scheduler","labels":{"koordinator.sh/mutated":"true"},
        "annotations":{"koordinator.sh/intercepted":"true"},
        "patch":{"spec":{"terminationGracePeriodSeconds":30}}}})");
  }
  Verdict run(Task<Verdict> task) {
    std::optional<Verdict> verdict;
    tasks_.spawn(keep(std::move(task), verdict));
    loop_.advanceUntil([&] { return verdict.has_value(); }, 20s);
    return verdict.value_or(refuse(0, "no answer"));
  }
  json::value mutated(const api::AdmissionRequest& request) {
    const Verdict verdict = run(webhook_.mutate(request));
    EXPECT_TRUE(verdict.allowed) << verdict.message;
    return api::applyJsonPatch(request.object, verdict.patch).value();
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  TaskGroup tasks_;
  PodWebhook webhook_{cluster_, loop_, metrics_, Random(1), {}};
};

constexpr const char* kPod =
    R"({"metadata":{"name":"p","labels":{"koordinator.sh/enable-colocation":"true"}},
    "spec":{"schedulerName":"default-scheduler","priority":0,"terminationGracePeriodSeconds":60,"unknown":{"x":1},
    "containers":[{"name":"main","resources":{"requests":{"cpu":"500m","memory":"1Gi"},
                                              "limits":{"cpu":"1","memory":"4Gi"}}}]}})";

TEST_F(PodWebhookTest, APodOfTheDemoIsMutatedAsDocumented) {
  webhook_.start();
  EXPECT_EQ(mutated(podRequest(kPod)), parseJson(R"({"metadata":{"name":"p",
      "labels":{"koordinator.sh/enable-colocation":"true","koordinator.sh/mutated":"true",
                "koordinator.sh/qosClass":"BE","koordinator.sh/priority":"1000"},
      "annotations":{"koordinator.sh/intercepted":"true","node.koordinator.sh/extended-resource-spec":
        "{\"containers\":{\"main\":{\"limits\":{\"kubernetes.io/batch-cpu\":\"1k\",\"kubernetes.io/batch-memory\":\"4Gi\"},\"requests\":{\"kubernetes.io/batch-cpu\":\"500\",\"kubernetes.io/batch-memory\":\"1Gi\"}}}}"}},
      "spec":{"schedulerName":"koord-scheduler","priority":5000,"priorityClassName":"koord-batch",
      "preemptionPolicy":"PreemptLowerPriority","terminationGracePeriodSeconds":30,"unknown":{"x":1},
      "containers":[{"name":"main","resources":{
        "requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},
        "limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"}}}]}})")
                                           .value());
}

TEST_F(PodWebhookTest, ANamespaceThatIsNotThereIsAReasonToRefuseThePodsOfItsProfilesOnly) {
  webhook_.start();
  loop_.advance(1s);
  auto request = podRequest(kPod);
  request.namespace_ = "fresh";
  const auto refused = run(webhook_.mutate(request));
  EXPECT_EQ(refused.code, 500);
  EXPECT_THAT(refused.message, testing::HasSubstr("namespace fresh"));
  request.object =
      parseJson(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})").value();
  EXPECT_TRUE(run(webhook_.mutate(request)).allowed) << "no profile is for such pods";
  request.object = parseJson(kPod).value();
  cluster_.remove(api::ClusterColocationProfile::kType, "demo");
  loop_.advance(1s);
  EXPECT_TRUE(run(webhook_.mutate(request)).allowed) << "there are no profiles";
  cluster_.put(api::ClusterColocationProfile::kType,
               R"({"metadata":{"name":"all"},"spec":{"namespaceSelector":{},"qosClass":"BE"}})");
  loop_.advance(1s);
  EXPECT_FALSE(run(webhook_.mutate(request)).patch.empty()) << "it is for any namespace";
}

TEST_F(PodWebhookTest, ANamespaceThatTheCacheHasNotSeenIsFetched) {
  webhook_.start();
  loop_.advance(1s);
  int fetched = 0;
  cluster_.failure = [&](const kube::Request& asked) -> std::optional<Error> {
    fetched += asked.resource == "namespaces" && asked.name == "demo";
    return std::nullopt;
  };
  EXPECT_TRUE(run(webhook_.mutate(podRequest(kPod))).allowed);
  EXPECT_EQ(fetched, 0);
  PodWebhook fresh{cluster_, loop_, metrics_, Random(1), {}};
  cluster_.remove(api::Namespace::kType, "demo");
  fresh.start();
  loop_.advance(1s);
  // The server has it, but the watch does not deliver it in time: it is read.
  cluster_.mutedResource = "namespaces";
  cluster_.put(
      api::Namespace::kType,
      R"({"metadata":{"name":"demo","labels":{"koordinator.sh/enable-colocation":"true"}}})");
  const auto verdict = run(fresh.mutate(podRequest(kPod)));
  EXPECT_TRUE(verdict.allowed) << verdict.message;
  EXPECT_FALSE(verdict.patch.empty());
  EXPECT_EQ(fetched, 1);
}

TEST_F(PodWebhookTest, OtherPodsAndRequestsAreLeftAlone) {
  webhook_.start();
  auto request = podRequest(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_TRUE(run(webhook_.mutate(request)).patch.empty());
  request = podRequest(kPod);
  request.operation = "UPDATE";
  EXPECT_TRUE(run(webhook_.mutate(request)).patch.empty());
  request = podRequest(kPod);
  request.subResource = "status";
  EXPECT_TRUE(run(webhook_.mutate(request)).patch.empty());
}

TEST_F(PodWebhookTest, AWrongFieldTypeIsRefusedByName) {
  webhook_.start();
  const auto verdict = run(webhook_.mutate(podRequest(
      R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":true}}}]}})")));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.code, 400);
  EXPECT_THAT(verdict.message, HasSubstr("spec.containers[0].resources.requests[cpu]"));
  for (const char* garbage : {"[1]", "null", "7"})
    EXPECT_EQ(run(webhook_.validate(podRequest(garbage))).message, "request.object: is not a pod");
}

TEST_F(PodWebhookTest, WithoutCachesTheAnswerIsAnErrorNotAnUnmutatedPod) {
  const auto verdict = run(webhook_.mutate(podRequest(kPod)));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_THAT(verdict.message, HasSubstr("try again"));
}

TEST_F(PodWebhookTest, ValidationRefusesWithTheMessageOfTheRule) {
  const auto verdict = run(webhook_.validate(podRequest(
      R"({"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":9500}})")));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.code, 400);
  EXPECT_THAT(verdict.message, HasSubstr("cannot be used in combination"));
}

TEST(AdmissionReview, IsAnsweredInItsOwnVersion) {
  const auto review =
      readReview(R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview",
      "request":{"uid":"7","operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"}}})");
  ASSERT_TRUE(review);
  const auto answer =
      parseJson(writeReview(review->apiVersion, review->request->uid, refuse(400, "no"))).value();
  EXPECT_EQ(textAt(answer, "apiVersion"), "admission.k8s.io/v1beta1");
  EXPECT_EQ(textAt(answer, "response", "uid"), "7");
  EXPECT_EQ(at(answer, "response", "allowed")->get_bool(), false);
  EXPECT_EQ(textAt(answer, "response", "status", "message"), "no");
  EXPECT_FALSE(readReview(R"({"kind":"AdmissionReview"})"));
  EXPECT_FALSE(readReview("[1"));
}

constexpr const char* kHost = "koordinator-webhook-service.koordinator-system.svc";

class CertificateTest : public testing::Test {
 protected:
  CertificateTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) / "manifests/00-namespace.yaml");
    put(api::MutatingWebhookConfiguration::kType, "koordinator-mutating-webhook-configuration",
        {"/mutate-pod", "/mutate-something"});
    put(api::ValidatingWebhookConfiguration::kType, "koordinator-validating-webhook-configuration",
        {"/validate-pod"});
  }
  void put(const api::ResourceType& type, std::string name, std::vector<std::string> paths) {
    json::array webhooks;
    for (const auto& path : paths)
      webhooks.push_back(json::object{
          {"name", path.substr(1) + ".koordinator.sh"},
          {"clientConfig", {{"service", {{"name", "s"}, {"namespace", "n"}, {"path", path}}}}},
          {"failurePolicy", "Fail"},
          {"sideEffects", "None"},
          {"admissionReviewVersions", {"v1"}}});
    cluster_.put(type, toJson(json::object{{"metadata", {{"name", name}}},
                                           {"webhooks", std::move(webhooks)}}));
  }
  std::unique_ptr<CertificateController> controller(WebhookSettings settings = {}) {
    auto c = std::make_unique<CertificateController>(
        cluster_, loop_, std::move(settings), std::set<std::string>{"/mutate-pod", "/validate-pod"},
        Random(3), [this](const WebhookCerts& certs) {
          served_.push_back(certs);
          return Result<>();
        });
    c->start();
    loop_.advance(3s);
    return c;
  }
  json::array webhooks(bool mutating = true) {
    const auto object = mutating ? cluster_.get(api::MutatingWebhookConfiguration::kType,
                                                "koordinator-mutating-webhook-configuration")
                                 : cluster_.get(api::ValidatingWebhookConfiguration::kType,
                                                "koordinator-validating-webhook-configuration");
    return find(*object, "webhooks")->get_array();
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  std::vector<WebhookCerts> served_;
};

TEST_F(CertificateTest, AFreshClusterGetsASecretAndTrustedWebhooks) {
  const auto c = controller();
  EXPECT_TRUE(c->initialised()) << c->problem();
  ASSERT_EQ(served_.size(), 1u);
  EXPECT_TRUE(net::checkTrust(served_[0].server.certPem, served_[0].authority.certPem, kHost,
                              loop_.wallNow()));
  EXPECT_TRUE(net::checkTrust(served_[0].server.certPem, served_[0].authority.certPem, "localhost",
                              loop_.wallNow()));
  EXPECT_FALSE(net::checkTrust(served_[0].server.certPem, served_[0].authority.certPem, "other",
                               loop_.wallNow()));
  const auto entries = webhooks();
  ASSERT_EQ(entries.size(), 1u) << "no handler, no entry";
  EXPECT_EQ(textAt(entries[0], "clientConfig", "caBundle"),
            net::base64Encode(served_[0].authority.certPem));
  EXPECT_EQ(textAt(entries[0], "clientConfig", "service", "name"), "koordinator-webhook-service");
  EXPECT_EQ(textAt(entries[0], "failurePolicy"), "Fail");
  EXPECT_EQ(webhooks(false).size(), 1u);
}

TEST_F(CertificateTest, EntriesThatNobodyServesAreToldOnceAndWhenTheyChange) {
  const auto warnings = [&](const auto& act) {
    log::setup({.program = "test"});
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  };
  std::unique_ptr<CertificateController> c;
  EXPECT_THAT(warnings([&] { c = controller(); }),
              testing::HasSubstr(
                  "MutatingWebhookConfiguration koordinator-mutating-webhook-configuration names "
                  "the webhook mutate-something.koordinator.sh, path /mutate-something, which"));
  EXPECT_THAT(warnings([&] { loop_.advance(5min); }), testing::Not(testing::HasSubstr("asks for")));
  const auto changed = warnings([&] {
    put(api::ValidatingWebhookConfiguration::kType, "koordinator-validating-webhook-configuration",
        {"/validate-pod", "/validate-other"});
    loop_.advance(5s);
  });
  EXPECT_THAT(changed, testing::HasSubstr("validate-other.koordinator.sh, path /validate-other"));
  EXPECT_THAT(changed, testing::Not(testing::HasSubstr("mutate-something")));
}

TEST_F(CertificateTest, ASecondReplicaUsesTheSameAuthority) {
  const auto first = controller();
  const json::array before = webhooks();
  const auto second = controller();
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_EQ(served_[0].server.certPem, served_[1].server.certPem);
  EXPECT_EQ(webhooks(), before);
}

TEST_F(CertificateTest, ACertificateNearItsEndIsRenewedByTheSameAuthority) {
  const auto c = controller();
  loop_.jumpWallClock(std::chrono::hours(24 * 365 * 8));
  loop_.advance(2min);
  EXPECT_EQ(served_.size(), 1u) << "good for two more years";
  // A certificate of half a year, by the same authority.
  const WallTime now = loop_.wallNow();
  auto shortLived = served_[0];
  shortLived.server =
      net::issueServerCert(shortLived.authority,
                           {kHost, {kHost}, {now, now + std::chrono::hours(24 * 150)}})
          .value();
  json::value secret =
      *cluster_.get(api::Secret::kType, "koordinator-webhook-certs", "koordinator-system");
  secret.as_object()["data"] = toSecretData(shortLived);
  cluster_.put(api::Secret::kType, toJson(secret));
  loop_.advance(5s);
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_EQ(served_[1].authority.certPem, served_[0].authority.certPem);
  EXPECT_NE(served_[1].server.certPem, served_[0].server.certPem);
}

TEST_F(CertificateTest, AnAuthorityNearItsEndIsReplacedAndTheWebhooksLearnIt) {
  const auto c = controller();
  loop_.jumpWallClock(std::chrono::hours(24 * (365 * 9 + 300)));
  loop_.advance(2min);
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_NE(served_[1].authority.certPem, served_[0].authority.certPem);
  const auto entries = webhooks();
  EXPECT_EQ(textAt(entries[0], "clientConfig", "caBundle"),
            net::base64Encode(served_[1].authority.certPem));
}

TEST_F(CertificateTest, OutsideOfTheClusterWebhooksAreCalledByUrlAndFilesHoldTheCertificates) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("koord-certs-" + std::to_string(::getpid()));
  WebhookSettings settings;
  settings.host = "127.0.0.1";
  settings.port = 19876;
  settings.certsInFolder = true;
  settings.certDir = folder.string();
  const auto c = controller(settings);
  EXPECT_TRUE(c->initialised()) << c->problem();
  const auto entries = webhooks();
  EXPECT_EQ(textAt(entries[0], "clientConfig", "url"), "https://127.0.0.1:19876/mutate-pod");
  EXPECT_EQ(find(entries[0].at("clientConfig"), "service"), nullptr);
  const auto again = controller(settings);
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_EQ(served_[0].server.certPem, served_[1].server.certPem) << "read from the folder";
  EXPECT_EQ(settings.listenAddress(), "127.0.0.1:19876");
  std::filesystem::remove_all(folder);
}

TEST_F(CertificateTest, AGateThatComesBackBringsItsEntryBack) {
  auto c = controller();
  EXPECT_EQ(webhooks().size(), 1u);
  c.reset();
  CertificateController more(cluster_, loop_, {},
                             {"/mutate-pod", "/validate-pod", "/mutate-something"}, Random(5),
                             [](const WebhookCerts&) { return Result<>(); });
  more.start();
  loop_.advance(3s);
  EXPECT_EQ(webhooks().size(), 2u);
}

TEST_F(CertificateTest, AMissingConfigurationIsAProblemUntilItIsThere) {
  cluster_.remove(api::ValidatingWebhookConfiguration::kType,
                  "koordinator-validating-webhook-configuration");
  const auto c = controller();
  EXPECT_FALSE(c->initialised());
  EXPECT_THAT(c->problem(), HasSubstr("koordinator-validating-webhook-configuration"));
  put(api::ValidatingWebhookConfiguration::kType, "koordinator-validating-webhook-configuration",
      {"/validate-pod"});
  loop_.advance(3s);
  EXPECT_TRUE(c->initialised());
}

TEST(WebhookSettings, WrongEnvironmentIsNamed) {
  const auto with = [](const char* variable, const char* value) {
    return webhookSettings([=](const char* name) {
      return std::string_view(name) == variable ? std::optional<std::string>(value) : std::nullopt;
    });
  };
  EXPECT_THAT(with("WEBHOOK_PORT", "http").error().message, HasSubstr("WEBHOOK_PORT"));
  EXPECT_THAT(with("WEBHOOK_CERT_WRITER", "disk").error().message,
              HasSubstr("WEBHOOK_CERT_WRITER"));
  EXPECT_TRUE(with("WEBHOOK_HOST", "10.0.0.1")->certsInFolder);
  EXPECT_EQ(with("WEBHOOK_HOST", "10.0.0.1")->listenAddress(), ":9876");
  EXPECT_FALSE(with("", "")->certsInFolder);
}

}  // namespace
}  // namespace koord::manager
