#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "manager/quotaprofile/controller.h"
#include "manager/quotaprofile/quota_of_nodes.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(QuotaOfNodes, TreesHaveTheIdsOfTheOriginal) {
  EXPECT_EQ(treeIdOf("kube-system", "node-pool-a"), "7255549455560961418");
  EXPECT_EQ(treeIdOf("default", "profile1"), "3288849408605801223");
}

class QuotaProfileTest : public testing::Test {
 protected:
  QuotaProfileTest() {
    const std::filesystem::path crds = std::filesystem::path(KOORD_DEPLOY) / "crds";
    cluster_.install(crds / "scheduling.sigs.k8s.io_elasticquotas.yaml");
    cluster_.install(crds / "quota.koordinator.sh_elasticquotaprofiles.yaml");
  }
  void putNode(std::string_view name, std::string_view pool, std::string_view ready = "True") {
    cluster_.put(api::Node::kType,
                 fmt::format(
                     R"({{"metadata":{{"name":"{}","labels":{{"pool":"{}"}}}},"status":{{
        "conditions":[{{"type":"Ready","status":"{}"}}],
        "allocatable":{{"cpu":"10","memory":"1000"}},"capacity":{{"cpu":"10","memory":"1000"}}}}}})",
                     name, pool, ready));
  }
  void putProfile(std::string_view spec, std::string_view annotations = "{}") {
    cluster_.put(
        api::ElasticQuotaProfile::kType,
        fmt::format(
            R"({{"metadata":{{"namespace":"default","name":"profile1","annotations":{}}},"spec":{}}})",
            annotations, spec));
  }
  void start() {
    nodes_.start();
    controller_.start();
    settle();
  }
  void settle() { loop_.advance(5s); }
  std::string quota(std::string_view part, std::string_view key) {
    const auto object = cluster_.get(api::ElasticQuota::kType, "root", "default");
    if (!object) return "none";
    if (part == "spec") return toJson(*at(*object, "spec", key));
    return std::string(textAt(*object, "metadata", part, key));
  }

  std::string owners() {
    const auto object = cluster_.get(api::ElasticQuota::kType, "root", "default");
    const auto* list = object ? at(*object, "metadata", "ownerReferences") : nullptr;
    return list ? toJson(*list) : "[]";
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  kube::EventRecorder events_{cluster_, loop_, "koord-manager", Random(3)};
  kube::Informer<api::Node> nodes_{cluster_, loop_};
  QuotaProfileController controller_{cluster_, loop_, nodes_, events_, metrics_, Random(1)};
};

constexpr const char* kProfileSpec =
    R"({"quotaName":"root","nodeSelector":{"matchLabels":{"pool":"a"}},"resourceRatio":"0.9",
        "quotaLabels":{"quota.scheduling.koordinator.sh/is-parent":"true"}})";

TEST_F(QuotaProfileTest, TheRootQuotaIsWhatItsNodesCanHold) {
  putNode("n1", "a");
  putNode("n2", "a", "False");
  putNode("other", "b");
  putProfile(kProfileSpec);
  start();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"18","memory":"1800"})");
  EXPECT_EQ(quota("spec", "max"), R"({"cpu":"4611686018427387","memory":"4611686018427387"})");
  EXPECT_EQ(quota("labels", "quota.scheduling.koordinator.sh/tree-id"), "3288849408605801223");
  EXPECT_EQ(quota("labels", "quota.scheduling.koordinator.sh/is-root"), "true");
  EXPECT_EQ(quota("labels", "quota.scheduling.koordinator.sh/is-parent"), "true");
  EXPECT_EQ(quota("labels", "quota.scheduling.koordinator.sh/profile"), "profile1");
  EXPECT_EQ(quota("annotations", "quota.scheduling.koordinator.sh/total-resource"),
            R"({"cpu":"18","memory":"1800"})");
  EXPECT_EQ(quota("annotations", "quota.scheduling.koordinator.sh/unschedulable-resource"),
            R"({"cpu":"9","memory":"900"})");
  EXPECT_EQ(textAt(*cluster_.get(api::ElasticQuotaProfile::kType, "profile1", "default"),
                   "metadata", "labels", "quota.scheduling.koordinator.sh/tree-id"),
            "3288849408605801223");

  cluster_.writes.clear();
  loop_.advance(5min);
  EXPECT_TRUE(cluster_.writes.empty()) << "at rest nothing is written";

  putNode("n3", "a");
  settle();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"27","memory":"2700"})");
  EXPECT_LE(cluster_.writes.size(), 1u);
  cluster_.remove(api::Node::kType, "n1");
  cluster_.remove(api::Node::kType, "n2");
  cluster_.remove(api::Node::kType, "n3");
  settle();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"0","memory":"0"})");
  EXPECT_EQ(quota("annotations", "quota.scheduling.koordinator.sh/total-resource"), "{}");
}

TEST_F(QuotaProfileTest, OthersMayNameResourcesAndWhatIsChangedIsPutRight) {
  putNode("n1", "a");
  putProfile(
      R"({"quotaName":"root","nodeSelector":{"matchLabels":{"pool":"a"}},"resourceRatio":"2"})",
      R"({"quota.scheduling.koordinator.sh/resource-keys":"[\"cpu\",\"gpu\"]"})");
  start();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"10","gpu":"0"})")
      << "the ratio is not between 0 and 1";
  cluster_.put(api::ElasticQuota::kType,
               R"({"metadata":{"namespace":"default","name":"root","labels":{"mine":"stays",
               "quota.scheduling.koordinator.sh/profile":"profile1"}},"spec":{"min":{"cpu":"1","memory":"5"}}})");
  settle();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"10","gpu":"0"})");
  EXPECT_EQ(quota("labels", "mine"), "stays");
  cluster_.remove(api::ElasticQuotaProfile::kType, "profile1", "default");
  settle();
  EXPECT_EQ(quota("labels", "mine"), "stays") << "pods may be using it";
}

TEST_F(QuotaProfileTest, AQuotaThatCannotBeWrittenIsToldAndTriedAgain) {
  putNode("n1", "a");
  putProfile(kProfileSpec);
  bool refused = true;
  cluster_.failure = [&](const kube::Request& asked) -> std::optional<Error> {
    if (!refused || asked.resource != "elasticquotas" || asked.verb != kube::Verb::Create)
      return std::nullopt;
    return Error{ErrorCode::Forbidden, "not today"};
  };
  start();
  EXPECT_EQ(quota("spec", "min"), "none");
  std::string told;
  for (const auto& write : cluster_.writes)
    if (write.resource == "events") told += write.body;
  EXPECT_THAT(told, HasSubstr("CreateQuotaFailed"));
  EXPECT_THAT(told, HasSubstr("not today"));
  refused = false;
  settle();
  EXPECT_EQ(quota("spec", "min"), R"({"cpu":"9","memory":"900"})");
}

TEST_F(QuotaProfileTest, ABrokenSelectorConcernsItsProfileOnly) {
  putNode("n1", "a");
  putProfile(
      R"({"quotaName":"root","nodeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}})");
  cluster_.put(api::ElasticQuotaProfile::kType,
               R"({"metadata":{"namespace":"default","name":"fine"},"spec":{"quotaName":"fine",
                   "nodeSelector":{"matchLabels":{"pool":"a"}}}})");
  start();
  EXPECT_EQ(quota("spec", "min"), "none");
  EXPECT_TRUE(cluster_.get(api::ElasticQuota::kType, "fine", "default"));
}

TEST_F(QuotaProfileTest, AQuotaGoesWithItsProfileWhereProfilesOwnQuotas) {
  putNode("n1", "a");
  putProfile(kProfileSpec);
  start();
  EXPECT_EQ(owners(), "[]");
  QuotaProfileController owning(cluster_, loop_, nodes_, events_, metrics_, Random(2), true);
  owning.start();
  settle();
  const auto profile = cluster_.get(api::ElasticQuotaProfile::kType, "profile1", "default");
  EXPECT_EQ(owners(), fmt::format(R"([{{"apiVersion":"quota.koordinator.sh/v1alpha1",)"
                                  R"("kind":"ElasticQuotaProfile","name":"profile1","uid":"{}"}}])",
                                  textAt(*profile, "metadata", "uid")));
  const auto before = cluster_.writes.size();
  putNode("n2", "a");
  settle();
  EXPECT_THAT(owners(), HasSubstr("profile1")) << "once";
  EXPECT_GT(cluster_.writes.size(), before);
}

}  // namespace
}  // namespace koord::manager
