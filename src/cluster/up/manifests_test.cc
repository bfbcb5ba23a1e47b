#include "cluster/up/manifests.h"

#include <gmock/gmock.h>

#include "api/workloads.h"
#include "cluster/testing/test_cluster.h"
#include "cluster/up/slo_config.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;

class ManifestsTest : public testing::Test {
 protected:
  Result<> apply(std::string_view set, ApplyMode mode) {
    return cluster.run(applySet(cluster.api, cluster.server().registry(), set, mode));
  }
  Result<json::value> frontend() {
    return cluster.run(
        kube::getObject(cluster.api, api::Deployment::kType, {"colocation-demo", "frontend"}));
  }
  static json::value env(const json::value& deployment) {
    return deployment.at("spec").at("template").at("spec").at("containers").at(0).at("env");
  }

  TestCluster cluster;
};

TEST_F(ManifestsTest, TheDemoIsAppliedAgainAsKubectlWould) {
  ASSERT_TRUE(apply("crds", ApplyMode::Merge));
  ASSERT_TRUE(apply("base", ApplyMode::Merge));
  ASSERT_TRUE(apply("storage", ApplyMode::CreateOnly));
  const auto first = apply("demo", ApplyMode::Apply);
  ASSERT_TRUE(first) << first.error().message;
  const auto uid = std::string(textAt(*frontend(), "metadata", "uid"));
  // A user adds a field and changes another.
  auto patch = parseJson(R"({"spec": {"template": {"spec": {"containers": [{"name": "frontend",
    "env": [{"name": "MINE", "value": "1"}, {"name": "PEAK", "value": "40"}]}]}}}})");
  ASSERT_TRUE(patch);
  ASSERT_TRUE(cluster.run(kube::strategicPatch(cluster.api, api::Deployment::kType,
                                               {"colocation-demo", "frontend"}, *patch)));
  ASSERT_THAT(toJson(env(*frontend())), HasSubstr(R"("40")"));
  const auto again = apply("demo", ApplyMode::Apply);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(textAt(*frontend(), "metadata", "uid"), uid);
  EXPECT_THAT(toJson(env(*frontend())), HasSubstr(R"({"name":"PEAK","value":"95"})"));
  EXPECT_THAT(toJson(env(*frontend())), HasSubstr(R"({"name":"MINE","value":"1"})"));
}

TEST_F(ManifestsTest, ApplyingGoesOnAfterAnErrorAndNamesWhatIsWrong) {
  // Without its CRD a profile cannot be created; the workloads can.
  const auto applied = apply("demo", ApplyMode::Apply);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message, HasSubstr("ClusterColocationProfile"));
  EXPECT_TRUE(frontend());
}

TEST_F(ManifestsTest, SmallMachinesKeepLessForSpikes) {
  const auto section = [](int cpus, const char* name) {
    return std::string(textAt(defaultSloConfig(cpus), "data", name));
  };
  EXPECT_THAT(section(2, "colocation-config"), HasSubstr(R"("cpuReclaimThresholdPercent":85)"));
  EXPECT_THAT(section(2, "resource-threshold-config"),
              HasSubstr(R"("cpuSuppressPolicy":"cfsQuota","cpuSuppressThresholdPercent":80)"));
  EXPECT_EQ(section(4, "colocation-config").find("cpuReclaimThresholdPercent"), std::string::npos);
  EXPECT_THAT(section(8, "resource-threshold-config"), HasSubstr(R"("cpuset")"));
  EXPECT_THAT(section(8, "cpu-burst-config"), HasSubstr(R"("auto")")) << "the rest as recommended";
}

}  // namespace
}  // namespace koord::cluster
