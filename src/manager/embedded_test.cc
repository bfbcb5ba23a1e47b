// Tests the manager's controllers on the embedded API server: it accepts the manifests of deploy/,
// and the controllers' writes survive the schemas, defaults and subresources of a real server.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "apiserver/local_api.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "kube/client.h"
#include "manager/controllers.h"
#include "manager/webhook/certificate_controller.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <class T>
Task<void> keep(Task<T> task, std::optional<T>& into) {
  into = co_await task;
}

class EmbeddedTest : public testing::Test {
 protected:
  EmbeddedTest()
      : server_(apiserver::Server::open(loop_, {.inlineCommits = true}).value()),
        api_(*server_, loop_) {}

  // Delivers the ends of watches to the server.
  ~EmbeddedTest() override { loop_.runReady(); }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    tasks_.spawn(keep(std::move(task), result));
    loop_.advanceUntil([&] { return result.has_value(); }, 10s);
    return *std::move(result);
  }

  static api::ResourceType typeOf(std::string_view kind) {
    for (const auto& type :
         {api::ResourceType{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                            "CustomResourceDefinition", false},
          api::PriorityClass::kType, api::Namespace::kType, api::ConfigMap::kType,
          api::Secret::kType, api::MutatingWebhookConfiguration::kType,
          api::ValidatingWebhookConfiguration::kType,
          api::ResourceType{"", "v1", "services", "Service", true}})
      if (type.kind == kind) return type;
    return {};
  }
  void install(const std::filesystem::path& file) {
    std::ifstream stream(file);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    auto documents = parseYamlDocuments(text);
    ASSERT_TRUE(documents) << file << ": " << documents.error().message;
    for (auto& document : *documents) {
      const auto type = typeOf(textAt(document, "kind"));
      ASSERT_FALSE(type.kind.empty()) << file << ": " << textAt(document, "kind");
      const api::ObjectKey key{std::string(textAt(document, "metadata", "namespace")), ""};
      const auto created = run(kube::createObject(api_, type, key, std::move(document)));
      ASSERT_TRUE(created) << file << ": " << created.error().message;
    }
  }
  void installAll() {
    const std::filesystem::path deploy = KOORD_DEPLOY;
    for (const auto& entry : std::filesystem::directory_iterator(deploy / "crds"))
      install(entry.path());
    for (const char* name : {"00-namespace", "priority-classes", "slo-controller-config"})
      install(deploy / "manifests" / (std::string(name) + ".yaml"));
  }
  void create(const api::ResourceType& type, std::string_view text, std::string ns = "") {
    const auto created =
        run(kube::createObject(api_, type, {std::move(ns), ""}, parseJson(text).value()));
    ASSERT_TRUE(created) << created.error().message;
  }
  json::value get(const api::ResourceType& type, std::string name) {
    auto object = run(kube::getObject(api_, type, {"", std::move(name)}));
    EXPECT_TRUE(object) << object.error().message;
    return object ? *object : json::value();
  }
  void report() {
    json::value status =
        parseJson(
            fmt::format(
                R"({{"status":{{"updateTime":"{}","nodeMetric":{{"nodeUsage":{{"resources":{{"cpu":"1","memory":"1Gi"}}}},
            "systemUsage":{{"resources":{{"cpu":"500m","memory":"512Mi"}}}}}}}}}})",
                formatTime(loop_.wallNow())))
            .value();
    const auto patched = run(
        kube::mergePatch(api_, api::NodeMetric::kType, {"", "n1"}, std::move(status), "status"));
    ASSERT_TRUE(patched) << patched.error().message;
  }

  VirtualLoop loop_;
  std::unique_ptr<apiserver::Server> server_;
  apiserver::LocalApi api_;
  TaskGroup tasks_;
  Random random_{5};
  Metrics metrics_;
  ManagerOptions options_;
};

TEST_F(EmbeddedTest, BatchResourcesAppearOnANodeAndTheClusterComesToRest) {
  installAll();
  create(api::Node::kType, R"({"metadata":{"name":"n1"},"status":{
      "capacity":{"cpu":"8","memory":"16Gi","pods":"110"},"allocatable":{"cpu":"8","memory":"16Gi","pods":"110"}}})");
  // Some servers drop the status on create.
  (void)run(kube::mergePatch(api_, api::Node::kType, {"", "n1"},
                             parseJson(R"({"status":{
      "capacity":{"cpu":"8","memory":"16Gi"},"allocatable":{"cpu":"8","memory":"16Gi"}}})")
                                 .value(),
                             "status"));
  Controllers controllers(api_, loop_, random_, options_, metrics_);
  controllers.start();
  loop_.advance(3s);
  report();
  loop_.advance(3s);

  const json::value node = get(api::Node::kType, "n1");
  EXPECT_EQ(textAt(node, "status", "allocatable", "kubernetes.io/batch-cpu"), "4300");
  EXPECT_EQ(textAt(node, "status", "allocatable", "cpu"), "8");
  EXPECT_THAT(std::string(textAt(node, "metadata", "annotations",
                                 "node.koordinator.sh/originExtendedAllocatable")),
              HasSubstr(R"("kubernetes.io/batch-cpu":"4300")"));
  const json::value slo = get(api::NodeSLO::kType, "n1");
  EXPECT_EQ(at(slo, "spec", "resourceUsedThresholdWithBE", "enable")->get_bool(), true);
  EXPECT_EQ(at(slo, "spec", "cpuBurstStrategy", "cfsQuotaBurstPeriodSeconds")->to_number<int>(),
            -1);
  const json::value metric = get(api::NodeMetric::kType, "n1");
  EXPECT_EQ(at(metric, "metadata", "generation")->to_number<int>(), 1)
      << "the status is not the spec";

  // In a steady state nothing is written: the objects keep their versions.
  loop_.advance(60s);
  EXPECT_EQ(get(api::Node::kType, "n1"), node);
  EXPECT_EQ(get(api::NodeSLO::kType, "n1"), slo);
  EXPECT_EQ(get(api::NodeMetric::kType, "n1"), metric);

  loop_.advance(16min);
  EXPECT_EQ(at(get(api::Node::kType, "n1"), "status", "allocatable", "kubernetes.io/batch-cpu"),
            nullptr);
}

TEST_F(EmbeddedTest, AllStrategiesOfTheConfigMapFitTheSchemaOfNodeSlo) {
  installAll();
  create(api::Node::kType, R"({"metadata":{"name":"n1"}})");
  Controllers controllers(api_, loop_, random_, options_, metrics_);
  controllers.start();
  loop_.advance(3s);
  const auto patched = run(kube::mergePatch(
      api_, api::ConfigMap::kType, {"koordinator-system", "slo-controller-config"},
      json::object{{"data",
                    {{"resource-qos-config",
                      R"({"clusterStrategy":{"policies":{"cpuPolicy":"groupIdentity"},"beClass":{
             "cpuQOS":{"enable":true,"groupIdentity":-1},"memoryQOS":{"enable":true,"wmarkMinAdj":50},
             "blkioQOS":{"enable":true,"blocks":[{"name":"vda","type":"device","ioCfg":{"readIOPS":10}}]},
             "resctrlQOS":{"enable":true,"catRangeEndPercent":30},"networkQOS":{"enable":true,"ingressLimit":"50M"}}}})"},
                     {"cpu-burst-config", R"({"clusterStrategy":{"policy":"auto"}})"},
                     {"system-config",
                      R"({"clusterStrategy":{"watermarkScaleFactor":150,"schedFeatures":{"X":true},
             "totalNetworkBandwidth":"10G"}})"},
                     {"host-application-config",
                      R"({"applications":[{"name":"nginx","priority":"koord-prod","qos":"LS",
             "cgroupPath":{"base":"CgroupRoot","parentDir":"a","relativePath":"b"}}]})"}}}}));
  ASSERT_TRUE(patched) << patched.error().message;
  loop_.advance(3s);
  const json::value slo = get(api::NodeSLO::kType, "n1");
  const std::string text = toJson(*find(slo, "spec"));
  EXPECT_THAT(text, HasSubstr(R"("readIOPS":10)"));
  EXPECT_THAT(text, HasSubstr(R"("policy":"auto")"));
  EXPECT_THAT(text, HasSubstr(R"("totalNetworkBandwidth":"10G")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"nginx")"));
  loop_.advance(60s);
  EXPECT_EQ(get(api::NodeSLO::kType, "n1"), slo) << "what is read back is what was wanted";
}

TEST_F(EmbeddedTest, TheInstalledWebhooksAreConfigured) {
  installAll();
  // These webhooks cannot be called here. Objects that would call them are not created after this.
  install(std::filesystem::path(KOORD_DEPLOY) / "manifests/manager-webhooks.yaml");
  CertificateController controller(api_, loop_, {}, {"/mutate-pod", "/validate-pod"}, Random(1),
                                   [](const WebhookCerts&) { return Result<>(); });
  controller.start();
  loop_.advance(3s);
  EXPECT_TRUE(controller.initialised()) << controller.problem();
  const json::value mutating =
      get(api::MutatingWebhookConfiguration::kType, "koordinator-mutating-webhook-configuration");
  EXPECT_EQ(find(mutating, "webhooks")->get_array().size(), 2u);
  loop_.advance(5min);
  EXPECT_EQ(
      get(api::MutatingWebhookConfiguration::kType, "koordinator-mutating-webhook-configuration"),
      mutating);
}

}  // namespace
}  // namespace koord::manager
