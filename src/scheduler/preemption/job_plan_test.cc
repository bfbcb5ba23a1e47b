#include "scheduler/preemption/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/well_known.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/small_plugins.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

struct JobPlans : ::testing::Test {
  World world;
  PreemptionRules rules;
  JobPlans() { EXPECT_TRUE(world.configure(makeRegistry()).empty()); }

  void running(const char* name, const char* node, int priority, const char* cpu) {
    world.bound(aPod(name).request("cpu", cpu).priority(priority).nodeName(node));
  }
  JobPlan plan(int members, const char* cpu, int priority = 10) {
    std::vector<PodPtr> pods;
    for (int i = 0; i < members; ++i)
      pods.push_back(
          world.pod(aPod("m" + std::to_string(i)).request("cpu", cpu).priority(priority)));
    return planJob(world, rules, pods, world.cluster().live());
  }
  std::vector<std::string> victims(const JobPlan& plan) {
    std::vector<std::string> names;
    for (const auto& [node, pods] : plan.victims)
      for (const PodPtr& pod : pods) names.push_back(pod->pod->metadata.name);
    std::ranges::sort(names);
    return names;
  }
  void expectUntouched() {
    world.cluster().live().forEach(
        [&](NodeId node) { EXPECT_EQ(world.cluster().verifyNode(node), ""); });
    EXPECT_EQ(world.cluster().findPod("uid-default-m0"), nullptr);
  }
};

TEST_F(JobPlans, take_no_more_victims_than_all_members_need) {
  world.node(aNode("n1"));
  world.node(aNode("n2"));
  for (const char* name : {"a", "b"}) running(name, "n1", 1, "2");
  running("c", "n2", 2, "2");
  running("d", "n2", 1, "2");
  const JobPlan two = plan(2, "3");
  ASSERT_TRUE(two.status.ok()) << two.status.message();
  EXPECT_THAT(victims(two), ElementsAre("a", "b", "c", "d")) << "3 of 4 cpus on each node";
  const JobPlan one = plan(1, "2");
  EXPECT_THAT(victims(one).size(), 1u);
  expectUntouched();
}

TEST_F(JobPlans, leave_those_alone_who_are_as_important) {
  world.node(aNode("n1"));
  running("equal", "n1", 10, "3");
  const JobPlan none = plan(1, "2");
  EXPECT_THAT(none.status.message(), HasSubstr("pod default/m0 fits on no node"));
  EXPECT_THAT(none.places, IsEmpty());
  expectUntouched();
}

TEST_F(JobPlans, send_no_units_away_that_cannot_leave) {
  struct Fixed final : testing::HoldKind {
    using HoldKind::HoldKind;
    bool mayBeEvicted(const PodInfo&) const override { return false; }
  };
  // Like rules that do not check isEvictable().
  struct AnyOfLowerPriority final : PreemptionRules {
    bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const override {
      return victim.priority < preemptor.priority;
    }
  };
  Fixed fixed(world);
  world.node(aNode("n1"));
  world.units().added(aPod("hold").request("cpu", "3").priority(1).nodeName("n1").build(), fixed);
  const std::vector<PodPtr> members{world.pod(aPod("m0").request("cpu", "2").priority(10))};
  const auto made = planJob(world, AnyOfLowerPriority(), members, world.cluster().live());
  EXPECT_THAT(made.status.message(), HasSubstr("Insufficient cpu"));
  EXPECT_THAT(made.victims, IsEmpty());
  expectUntouched();
}

TEST_F(JobPlans, are_all_or_nothing) {
  world.node(aNode("n1"));
  running("low", "n1", 1, "2");
  EXPECT_FALSE(plan(2, "3").status.ok());
  expectUntouched();
}

TEST(JobPlansOfQuotas, charge_every_member) {
  World world;
  ASSERT_TRUE(world
                  .configure(makeRegistry(), R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: ElasticQuota}]}}
  pluginConfig: [{name: ElasticQuota, args: {enableRuntimeQuota: false}}]
)")
                  .empty());
  world.node(aNode("n1").allocatable("cpu", "16"));
  api::ElasticQuota quota;
  quota.metadata.name = "q";
  quota.spec.max["cpu"] = testing::quantity("4");
  world.stores().of<api::ElasticQuota>().set(std::make_shared<const api::ElasticQuota>(quota));
  world.bound(aPod("low").request("cpu", "14").priority(1).nodeName("n1"));
  const auto planFor = [&](int members) {
    std::vector<PodPtr> pods;
    for (int i = 0; i < members; ++i)
      pods.push_back(world.pod(aPod("m" + std::to_string(i))
                                   .request("cpu", "3")
                                   .priority(10)
                                   .label(std::string(model::kLabelQuotaName), "q")));
    return planJob(world, PreemptionRules(), pods, world.cluster().live());
  };
  EXPECT_TRUE(planFor(1).status.ok()) << planFor(1).status.message();
  const JobPlan two = planFor(2);
  EXPECT_THAT(two.status.message(), HasSubstr("Insufficient quotas, quotaName: q"));
  EXPECT_THAT(two.places, IsEmpty());
}

TEST_F(JobPlans, go_where_fewest_have_to_leave) {
  world.node(aNode("n1"));
  world.node(aNode("n2"));
  for (const char* name : {"a", "b", "c"}) running(name, "n1", 1, "1");
  running("big", "n2", 1, "4");
  const JobPlan found = plan(1, "4");
  EXPECT_THAT(victims(found), ElementsAre("big"));
}

}  // namespace
}  // namespace koord::scheduler
