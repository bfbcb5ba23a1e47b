#include "scheduler/preemption/evictions.h"

#include <gtest/gtest.h>

#include "scheduler/plugins/registry.h"
#include "scheduler/testing/small_plugins.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::World;

// A unit of another kind than Pod.
class OtherKind final : public UnitKind {
 public:
  explicit OtherKind(std::string why) : why_(std::move(why)) {}
  api::ObjectReference reference(const PodInfo&) const override { return {}; }
  std::string preemptionBlockedReason(const PodInfo&) const override { return why_; }
  bool mayBeEvicted(const PodInfo&) const override { return false; }
  Task<Result<PodLocation>> find(PodPtr) override { co_return PodLocation{}; }
  Task<void> report(PodPtr, FailureReport) override { co_return; }
  Task<void> announce(PodPtr, std::string) override { co_return; }
  Task<Result<>> annotate(PodPtr, api::StringMap) override { co_return Result<>{}; }
  Task<bool> evict(PodPtr, PodPtr) override { co_return false; }

 private:
  const std::string why_;
};

struct EvictionsTest : ::testing::Test {
  World world;
  EvictionsTest() {
    EXPECT_TRUE(world.configure(makeRegistry()).empty());
    world.node(aNode("n"));
  }
  PodPtr running(const char* name, int priority) {
    return world.bound(aPod(name).request("cpu", "1").priority(priority).nodeName("n"));
  }
  // True if an eviction was requested.
  bool start(const PodPtr& preemptor, std::vector<PodPtr> victims,
             const Profile* profile = nullptr) {
    Evictions& evictions = evictionsOf(world);
    const bool good =
        evictions.start(preemptor, "n", std::move(victims), {"test", nullptr, nullptr, profile});
    // There is no API here, so an immediate eviction counts as refused.
    const std::string& uid = preemptor->uid();
    EXPECT_EQ(good, evictions.mustWait(uid) || evictions.isPaused(uid));
    return good;
  }
};

TEST_F(EvictionsTest, nobody_leaves_for_equals_or_lower_ones_whatever_a_plugin_says) {
  const PodPtr low = running("low", 5);
  const PodPtr lower = running("lower", 1);
  EXPECT_FALSE(start(world.pod(aPod("lowest").priority(0)), {low}));
  EXPECT_FALSE(start(world.pod(aPod("equal").priority(5)), {low}));
  EXPECT_FALSE(start(world.pod(aPod("between").priority(5)), {low, lower})) << "all or nobody";
  EXPECT_TRUE(start(world.pod(aPod("higher").priority(6)), {low, lower}));
}

TEST_F(EvictionsTest, nobody_leaves_for_who_may_not_preempt) {
  const PodPtr low = running("low", 5);
  PodBuilder never = aPod("never").priority(9);
  never.object().spec.preemptionPolicy = "Never";
  EXPECT_FALSE(start(world.pod(never), {low}));
  OtherKind modest("not eligible"), bold("");
  EXPECT_FALSE(
      start(makePodInfo(world.cluster(), aPod("modest").priority(9).build(), &modest), {low}));
  EXPECT_TRUE(start(makePodInfo(world.cluster(), aPod("bold").priority(9).build(), &bold), {low}));
}

TEST_F(EvictionsTest, of_several_orders_all_begin_or_none) {
  const PodPtr low = running("low", 1), equal = running("equal", 9);
  const PodPtr first = world.pod(aPod("first").priority(9));
  const PodPtr second = world.pod(aPod("second").priority(9));
  Evictions& evictions = evictionsOf(world);
  EXPECT_FALSE(evictions.start({{first, "n", {low}}, {second, "n", {equal}}}, {"test"}));
  EXPECT_FALSE(evictions.isPaused(first->uid()));
  EXPECT_TRUE(evictions.start({{first, "n", {low}}, {second, "n", {}}}, {"test"}));
  EXPECT_TRUE(evictions.isPaused(first->uid()));
}

TEST_F(EvictionsTest, who_goes_to_the_node_together_with_the_preemptor_keeps_its_promise) {
  Registry registry = makeRegistry();
  registry[std::string(testing::Together::kName)] = [](Fields&, Handle& handle) {
    return std::make_unique<testing::Together>(handle);
  };
  EXPECT_TRUE(world
                  .configure(registry, R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Together}]}}
)")
                  .empty());
  const auto member = [&](const char* name, int priority, const char* group) {
    PodBuilder pod = aPod(name).priority(priority);
    pod.object().metadata.annotations[testing::Together::kGroup] = group;
    return world.pod(pod);
  };
  const PodPtr partner = member("partner", 2, "g/2"), stranger = member("stranger", 2, "other/2");
  for (const PodPtr& pod : {partner, stranger}) world.nominator().add(pod, {true, "n"});
  EXPECT_TRUE(start(member("preemptor", 9, "g/2"), {running("low", 1)}, &world.profile()));
  EXPECT_EQ(world.nominator().nodeOf(partner->uid()), "n");
  EXPECT_EQ(world.nominator().nodeOf(stranger->uid()), "");
}

TEST_F(EvictionsTest, what_cannot_be_sent_away_is_no_victim) {
  OtherKind kind("");
  const PodPtr unit = makePodInfo(world.cluster(), aPod("unit").nodeName("n").build(), &kind);
  world.cluster().observePod(unit, "n");
  EXPECT_FALSE(start(world.pod(aPod("p").priority(9)), {unit}));
}

}  // namespace
}  // namespace koord::scheduler
