#include "apiserver/metricsapi/metrics_api.h"

#include <gmock/gmock.h>

#include "apiserver/discovery.h"
#include "apiserver/testing.h"

namespace koord::apiserver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsApiTest : public testing::ServerTest {
 protected:
  static constexpr const char* kApi = "/apis/metrics.k8s.io/v1beta1/";
  static constexpr const char* kMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";

  void defineNodeMetrics() {
    const auto made = post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
      "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"nodemetrics.slo.koordinator.sh"},
      "spec":{"group":"slo.koordinator.sh","scope":"Cluster",
        "names":{"plural":"nodemetrics","singular":"nodemetric","kind":"NodeMetric","listKind":"NodeMetricList"},
        "versions":[{"name":"v1alpha1","served":true,"storage":true,"subresources":{"status":{}},
          "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
    ASSERT_EQ(made.status, 201) << made.message();
  }
  void fill() {
    defineNodeMetrics();
    for (const auto* node : {"n1", "n2"})
      post("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" +
                                std::string(node) + R"(","labels":{"host":")" + node + "\"}}}");
    post(kPods, pod("web", R"(,"nodeName":"n1")", R"({"app":"web"})"));
    post(kPods, pod("db", R"(,"nodeName":"n1")", R"({"app":"db"})"));
    post(
        kMetrics,
        R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n1"},
      "spec":{"metricCollectPolicy":{"aggregateDurationSeconds":120}}})");
    const auto reported = mergePatch(std::string(kMetrics) + "/n1/status",
                                     R"({"status":{"updateTime":"2026-01-01T00:01:00Z",
      "nodeMetric":{"nodeUsage":{"resources":{"cpu":"1500m","memory":"2Gi"}}},
      "podsMetric":[{"namespace":"default","name":"web","podUsage":{"resources":{"cpu":"250m","memory":"64Mi"}}},
                    {"namespace":"default","name":"gone","podUsage":{"resources":{"cpu":"1"}}}]}})");
    ASSERT_EQ(reported.status, 200) << reported.message();
  }
};

TEST_F(MetricsApiTest, NodesShowWhatTheirKoordletReported) {
  fill();
  const auto node = get(std::string(kApi) + "nodes/n1");
  ASSERT_EQ(node.status, 200) << node.message();
  EXPECT_EQ(textAt(node.body, "usage", "cpu"), "1500m");
  EXPECT_EQ(textAt(node.body, "usage", "memory"), "2Gi");
  EXPECT_EQ(textAt(node.body, "timestamp"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(textAt(node.body, "window"), "2m0s");
  EXPECT_EQ(textAt(node.body, "metadata", "labels", "host"), "n1");
  // n2 has reported nothing.
  const auto all = get(std::string(kApi) + "nodes");
  EXPECT_EQ(textAt(all.body, "kind"), "NodeMetricsList");
  EXPECT_EQ(all.body.at("items").as_array().size(), 1u);
  EXPECT_EQ(
      get(std::string(kApi) + "nodes?labelSelector=host=n2").body.at("items").as_array().size(),
      0u);
  EXPECT_EQ(get(std::string(kApi) + "nodes/n2").message(),
            "nodemetrics.metrics.k8s.io \"n2\" not found");
}

TEST_F(MetricsApiTest, PodsThatAreThereHaveAnEntryForTheirContainers) {
  fill();
  const auto list = get(std::string(kApi) + "namespaces/default/pods?labelSelector=app=web");
  ASSERT_EQ(list.status, 200) << list.message();
  const auto& items = list.body.at("items").as_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(textAt(items[0], "metadata", "name"), "web");
  const auto& container = items[0].at("containers").at(0);
  EXPECT_EQ(textAt(container, "name"), "main");
  EXPECT_EQ(textAt(container, "usage", "cpu"), "250m");
  EXPECT_EQ(get(std::string(kApi) + "pods").body.at("items").as_array().size(), 1u);
  EXPECT_EQ(get(std::string(kApi) + "namespaces/default/pods/db").message(),
            "podmetrics.metrics.k8s.io \"default/db\" not found");
}

TEST_F(MetricsApiTest, PodsThatHaveEndedUseNothing) {
  fill();
  for (const auto* phase : {"Running", "Succeeded"}) {
    const auto set = mergePatch(std::string(kPods) + "/web/status",
                                R"({"status":{"phase":")" + std::string(phase) + "\"}}");
    ASSERT_EQ(set.status, 200) << set.message();
    EXPECT_EQ(get(std::string(kApi) + "pods").body.at("items").as_array().size(),
              std::string_view(phase) == "Running" ? 1u : 0u);
  }
}

TEST_F(MetricsApiTest, TheGroupIsDiscoveredWithTheNodeMetrics) {
  EXPECT_FALSE(discoveryDocument(server->registry(), "/apis/metrics.k8s.io/v1beta1"));
  EXPECT_EQ(get(std::string(kApi) + "nodes").status, 404);
  defineNodeMetrics();
  const auto document = discoveryDocument(server->registry(), "/apis/metrics.k8s.io/v1beta1");
  ASSERT_TRUE(document);
  EXPECT_THAT(*document, HasSubstr(R"("kind":"PodMetrics","verbs":["get","list"])"));
  EXPECT_THAT(aggregatedDiscovery(server->registry(), "/apis", "v2"), HasSubstr("metrics.k8s.io"));
  EXPECT_THAT(aggregatedDiscovery(server->registry(), "/api", "v2"), Not(HasSubstr("PodMetrics")));
  EXPECT_EQ(remove(std::string(kApi) + "nodes/n1").status, 405);
}

}  // namespace
}  // namespace koord::apiserver
