// Tests the replacement of upstream's koord-manager: its lease, certificates, webhooks and objects
// are taken over unchanged, pods stay, and the nodes' resources do not vanish for a moment.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "kube/leader_election.h"
#include "manager/controllers.h"
#include "manager/webhook/certificate_controller.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMutating = "koordinator-mutating-webhook-configuration";

class Upgrade : public testing::Test {
 protected:
  Upgrade() {
    const std::filesystem::path deploy = KOORD_DEPLOY;
    for (const auto& entry : std::filesystem::directory_iterator(deploy / "crds"))
      cluster_.install(entry.path());
    for (const char* name : {"00-namespace", "priority-classes", "slo-controller-config"})
      cluster_.install(deploy / "manifests" / (std::string(name) + ".yaml"));
    upstreamLease();
    upstreamObjects();
  }

  // Held by a process that ended a moment ago without releasing it.
  void upstreamLease() {
    cluster_.put(
        api::Lease::kType,
        fmt::format(
            R"({{"metadata":{{"namespace":"koordinator-system","name":"koordinator-manager"}},
          "spec":{{"holderIdentity":"koord-manager-7f_upstream","leaseDurationSeconds":15,
          "acquireTime":"2025-12-01T00:00:00.000000Z","renewTime":"{}","leaseTransitions":3}}}})",
            formatMicroTime(loop_.wallNow())));
  }
  // A node as upstream's manager and koordlet leave it, with a pod.
  void upstreamObjects() {
    cluster_.put(api::Node::kType, R"({"metadata":{"name":"n1","annotations":{
        "node.koordinator.sh/originExtendedAllocatable":"{\"resources\":{\"kubernetes.io/batch-cpu\":\"4300\",\"kubernetes.io/batch-memory\":\"9Gi\"}}",
        "node.koordinator.sh/cpu-normalization-ratio":"1.00"}},
        "status":{"capacity":{"cpu":"8","memory":"16Gi","pods":"110","kubernetes.io/batch-cpu":"4300","kubernetes.io/batch-memory":"9Gi"},
        "allocatable":{"cpu":"8","memory":"16Gi","pods":"110","kubernetes.io/batch-cpu":"4300","kubernetes.io/batch-memory":"9Gi"}}})");
    cluster_.put(api::NodeMetric::kType,
                 fmt::format(R"({{"metadata":{{"name":"n1"}},"spec":{{"metricCollectPolicy":{{
        "aggregateDurationSeconds":300,"reportIntervalSeconds":60,"nodeMemoryCollectPolicy":"usageWithoutPageCache",
        "nodeAggregatePolicy":{{"durations":["5m0s","10m0s","30m0s"]}}}}}},"status":{{"updateTime":"{}","nodeMetric":{{
        "nodeUsage":{{"resources":{{"cpu":"1","memory":"1Gi"}}}},
        "systemUsage":{{"resources":{{"cpu":"500m","memory":"512Mi"}}}}}}}}}})",
                             formatTime(loop_.wallNow())));
    cluster_.put(api::NodeSLO::kType,
                 R"({"metadata":{"name":"n1"},"spec":{"extensions":{"vendor":{"kept":true}}}})");
    cluster_.put(
        api::Pod::kType,
        R"({"metadata":{"namespace":"default","name":"job","labels":{"koordinator.sh/qosClass":"BE"}},
        "spec":{"nodeName":"n1","priorityClassName":"koord-batch","containers":[{"name":"c","image":"i","resources":{
        "requests":{"kubernetes.io/batch-cpu":"1000"},"limits":{"kubernetes.io/batch-cpu":"1000"}}}]},"status":{"phase":"Running"}})");
  }
  std::string batchCpu() {
    const auto node = cluster_.get(api::Node::kType, "n1");
    return node ? std::string(textAt(*node, "status", "allocatable", "kubernetes.io/batch-cpu"))
                : "no node";
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Random random_{5};
  Metrics metrics_;
  ManagerOptions options_;
};

TEST_F(Upgrade, TheLeaseIsTakenWhenItsTimeIsOverAndNotBefore) {
  bool leads = false;
  kube::LeaderElectionOptions election;
  election.leaseName = "koordinator-manager";
  election.identity = "ours";
  kube::LeaderElector elector(cluster_, loop_, election, Random(1), [&] { leads = true; }, [] {});
  elector.start();
  loop_.advance(14s);
  EXPECT_FALSE(leads);
  loop_.advance(5s);
  EXPECT_TRUE(leads);
  const auto lease = cluster_.get(api::Lease::kType, "koordinator-manager", "koordinator-system");
  EXPECT_EQ(textAt(*lease, "spec", "holderIdentity"), "ours");
  EXPECT_EQ(at(*lease, "spec", "leaseTransitions")->to_number<int>(), 4);
}

TEST_F(Upgrade, WhatNodesOfferDoesNotVanishForAMoment) {
  Controllers controllers(cluster_, loop_, random_, options_, metrics_);
  controllers.start();
  for (int i = 0; i < 60; ++i) {
    loop_.advance(500ms);
    ASSERT_EQ(batchCpu(), "4300") << "after " << i << " halves of a second";
  }
  EXPECT_TRUE(cluster_.get(api::Pod::kType, "job", "default")) << "nothing is evicted";
  const auto slo = cluster_.get(api::NodeSLO::kType, "n1");
  EXPECT_EQ(toJson(*at(*slo, "spec", "extensions")), R"({"vendor":{"kept":true}})")
      << "what others keep in it stays";
}

TEST_F(Upgrade, CertificatesAndWebhooksAreTakenOver) {
  const WallTime now = loop_.wallNow();
  const auto upstream = renewCerts(nullptr, WebhookSettings().certHost(), now);
  ASSERT_TRUE(upstream);
  json::value secret = json::object{
      {"metadata", {{"namespace", "koordinator-system"}, {"name", "koordinator-webhook-certs"}}},
      {"data", toSecretData(*upstream)}};
  cluster_.put(api::Secret::kType, toJson(secret));
  const auto entry = [](const char* name, const char* path) {
    return fmt::format(
        R"({{"name":"{}","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore",
        "clientConfig":{{"service":{{"namespace":"koordinator-system","name":"koordinator-webhook-service","path":"{}"}},"caBundle":"b2xk"}},
        "rules":[{{"apiGroups":["never"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}}]}})",
        name, path);
  };
  // Upstream's template has an entry whose gate is off there, and an entry that only upstream
  // serves.
  const std::string entries = "[" + entry("mpod-create.koordinator.sh", "/mutate-pod") + "," +
                              entry("new.koordinator.sh", "/only-upstream") + "]";
  json::value configuration = parseJson(R"({"webhooks":)" + entries + "}").value();
  configuration.as_object()["metadata"] =
      json::object{{"name", kMutating}, {"annotations", json::object{{"template", entries}}}};
  cluster_.put(api::MutatingWebhookConfiguration::kType, toJson(configuration));
  cluster_.put(
      api::ValidatingWebhookConfiguration::kType,
      R"({"metadata":{"name":"koordinator-validating-webhook-configuration"},"webhooks":[]})");

  CertificateController controller(cluster_, loop_, {}, {"/mutate-pod"}, Random(1),
                                   [](const WebhookCerts&) { return Result<>(); });
  controller.start();
  loop_.advance(5s);
  EXPECT_TRUE(controller.initialised()) << controller.problem();
  EXPECT_EQ(controller.authorityPem(), upstream->authority.certPem)
      << "upstream's replicas that still run stay trusted";
  const auto ours = cluster_.get(api::MutatingWebhookConfiguration::kType, kMutating);
  ASSERT_EQ(find(*ours, "webhooks")->get_array().size(), 1u);
  EXPECT_EQ(textAt(find(*ours, "webhooks")->get_array()[0], "name"), "mpod-create.koordinator.sh");
  EXPECT_THAT(std::string(textAt(*ours, "metadata", "annotations", "template")),
              HasSubstr("/only-upstream"))
      << "going back finds all of its entries";
}

}  // namespace
}  // namespace koord::manager
