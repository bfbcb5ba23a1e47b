// Tests certificates over years: two replicas renew the shared certificates, and an API server
// trusts every replica at all times, although it receives changes late.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "manager/webhook/certificate_controller.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

constexpr const char* kServiceName = "koordinator-webhook-service.koordinator-system.svc";
constexpr const char* kSecret = "koordinator-webhook-certs";
const std::set<std::string> kPaths{"/mutate-pod", "/validate-pod"};

class CertificateRotation : public testing::Test {
 protected:
  struct Replica {
    WebhookCerts serves;
    int times = 0;
    std::unique_ptr<CertificateController> controller;
  };

  CertificateRotation() {
    const std::filesystem::path deploy = KOORD_DEPLOY;
    cluster_.install(deploy / "manifests/00-namespace.yaml");
    cluster_.install(deploy / "manifests/manager-webhooks.yaml");
  }
  void start(Replica& replica, std::uint64_t seed) {
    replica.controller = std::make_unique<CertificateController>(
        cluster_, loop_, WebhookSettings(), kPaths, Random(seed),
        [&replica](const WebhookCerts& certs) {
          replica.serves = certs;
          ++replica.times;
          return Result<>();
        });
    replica.controller->start();
    loop_.advance(3s);
    ASSERT_TRUE(replica.controller->initialised()) << replica.controller->problem();
  }
  std::string trusted() {
    const auto object = cluster_.get(api::MutatingWebhookConfiguration::kType,
                                     "koordinator-mutating-webhook-configuration");
    const auto& entries = find(*object, "webhooks")->get_array();
    return net::base64Decode(textAt(entries.at(0), "clientConfig", "caBundle")).value();
  }
  // Advances time by `span`. An API server that receives every change two seconds late must trust
  // every replica throughout.
  void watchFor(Duration span) {
    std::set<std::pair<std::string, std::string>> checked;  // checked combinations, to skip repeats
    for (Duration passed{}; passed < span; passed += 1s) {
      heard_.push_back(trusted());
      if (heard_.size() > 3) heard_.erase(heard_.begin());
      for (const Replica* replica : {&a_, &b_})
        for (const auto& bundle : heard_)
          if (checked.emplace(replica->serves.server.certPem, bundle).second) {
            ASSERT_TRUE(net::checkTrust(replica->serves.server.certPem, bundle, kServiceName,
                                        loop_.wallNow()))
                << "after " << passed / 1s << " s";
          }
      loop_.advance(1s);
    }
  }
  json::value secret() { return *cluster_.get(api::Secret::kType, kSecret, "koordinator-system"); }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Replica a_, b_;
  std::vector<std::string> heard_;
};

TEST_F(CertificateRotation, EveryReplicaIsTrustedAtEveryMomentOfFortyYears) {
  start(a_, 1);
  start(b_, 2);
  for (int quarters = 0; quarters < 160; ++quarters) {
    watchFor(90s);
    if (HasFatalFailure()) FAIL() << "in quarter " << quarters;
    loop_.jumpWallClock(days(91));
  }
  EXPECT_EQ(a_.serves.server.certPem, b_.serves.server.certPem);
  EXPECT_GE(a_.times, 4) << "ten years each";
  EXPECT_LE(a_.times, 8);
}

TEST_F(CertificateRotation, ASecretThatIsDeletedIsMadeAgainWithWhatIsServed) {
  start(a_, 1);
  start(b_, 2);
  const std::string before = a_.serves.server.certPem;
  cluster_.remove(api::Secret::kType, kSecret, "koordinator-system");
  watchFor(90s);
  EXPECT_EQ(a_.serves.server.certPem, before);
  EXPECT_EQ(textAt(secret(), "data", "tls.crt"), net::base64Encode(before));
}

TEST_F(CertificateRotation, ASecretOfGarbageIsMendedWithWhatIsServed) {
  start(a_, 1);
  start(b_, 2);
  json::value object = secret();
  object.as_object()["data"] = json::object{{"tls.crt", "AAAA"}, {"ca-cert.pem", "AAAA"}};
  cluster_.put(api::Secret::kType, toJson(object));
  watchFor(90s);
  EXPECT_EQ(textAt(secret(), "data", "cert.pem"), net::base64Encode(a_.serves.server.certPem));
  EXPECT_EQ(a_.times, 1);
}

TEST_F(CertificateRotation, AnotherAuthorityThatSomebodyPutsThereIsTakenOver) {
  start(a_, 1);
  start(b_, 2);
  const auto others = renewCerts(nullptr, kServiceName, loop_.wallNow()).value();
  json::value object = secret();
  object.as_object()["data"] = toSecretData(others);
  cluster_.put(api::Secret::kType, toJson(object));
  loop_.advance(2min);
  EXPECT_EQ(a_.serves.server.certPem, others.server.certPem);
  EXPECT_EQ(b_.serves.server.certPem, others.server.certPem);
  EXPECT_EQ(trusted(), others.authority.certPem);
}

TEST_F(CertificateRotation, AnApiServerThatFailsForAnHourDoesNoHarm) {
  start(a_, 1);
  start(b_, 2);
  loop_.jumpWallClock(days(365 * 9 + 200));
  cluster_.failure = [](const kube::Request&) -> std::optional<Error> {
    return Error{ErrorCode::Unavailable, "the API server is down"};
  };
  loop_.advance(1h);
  EXPECT_EQ(a_.times, 1) << "what cannot be stored is not served";
  cluster_.failure = nullptr;
  watchFor(20min);
  EXPECT_EQ(a_.times, 2);
  EXPECT_EQ(a_.serves.server.certPem, b_.serves.server.certPem);
}

}  // namespace
}  // namespace koord::manager
