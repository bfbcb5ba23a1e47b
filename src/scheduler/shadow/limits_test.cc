// What a shadow does not compare: late changes, and comparisons that take too long; and whose
// nominations count.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/config/shipped.h"
#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/shadow/shadow.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::aNode;
using testing::aPod;
using ::testing::HasSubstr;

// Time passes with every look at the clock.
class TickingClock final : public Executor {
 public:
  explicit TickingClock(VirtualLoop& loop) : loop_(loop) {}
  WallTime wallNow() const override { return loop_.wallNow(); }
  SteadyTime steadyNow() const override {
    passed_ += tick;
    return loop_.steadyNow() + passed_;
  }
  void post(Callback fn) override { loop_.post(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override {
    return loop_.runAt(when - passed_, std::move(fn));
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }

  Duration tick{};

 private:
  VirtualLoop& loop_;
  mutable Duration passed_{};
};

// A shadow to which the test tells what the incumbent does.
struct Watching : testing::SchedulerFixture {
  using PodObject = std::shared_ptr<const api::Pod>;
  TickingClock clock{loop};
  ReadOnlyApi readOnly{api};
  Shadow shadow;

  explicit Watching(SchedulerConfiguration configuration = defaultConfiguration())
      : SchedulerFixture(shadowConfiguration(std::move(configuration), "default-scheduler")),
        shadow({.incumbent = "default-scheduler"}, *scheduler, clock, readOnly) {
    loop.advance(1h);
    shadow.start();
  }

  // age: how long ago it was created.
  PodObject appears(testing::PodBuilder pod, Duration age = 0s) {
    pod.object().metadata.creationTimestamp = loop.wallNow() - age;
    const PodObject made = pod.version("1").build();
    scheduler->podAdded(made);
    return made;
  }
  void decided(const PodObject& before, Duration age, const std::string& status,
               const std::string& node = "") {
    auto after = std::make_shared<api::Pod>(*before);
    after->metadata.resourceVersion += "1";
    after->spec.nodeName = node;
    api::PodCondition condition;
    condition.type = "PodScheduled";
    condition.status = status;
    condition.reason = node.empty() ? "Unschedulable" : "";
    condition.lastTransitionTime = loop.wallNow() - age;
    after->status.conditions = {condition};
    scheduler->podUpdated(before, after);
  }
  void binds(const PodObject& pod, const std::string& node, Duration age = 0s) {
    decided(pod, age, "True", node);
  }
  void refuses(const PodObject& pod, Duration age = 0s) { decided(pod, age, "False"); }

  std::uint64_t count(Match match) const { return shadow.metrics().count(match); }
  std::uint64_t count(Skip skip) const { return shadow.metrics().count(skip); }
};

TEST(ShadowLag, skips_bindings_that_arrive_late_and_follows_them) {
  Watching w;
  w.node(aNode("a"));
  const auto pod = w.appears(aPod("p"));
  w.binds(pod, "a", 30s);
  EXPECT_EQ(w.count(Skip::Late), 1u);
  EXPECT_EQ(w.count(Match::SameNode), 0u);
  EXPECT_TRUE(w.scheduler->cluster().findPod(pod->metadata.uid)) << "the state follows";
  EXPECT_THAT(w.shadow.metricsText(), HasSubstr("koord_shadow_lag_seconds 30"));
  w.loop.advance(2s);
  w.binds(w.appears(aPod("q")), "a", 4s);
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Match::SameNode), 1u);
}

TEST(ShadowLag, of_a_refusal_counts_for_that_refusal_only) {
  Watching w;
  w.node(aNode("a"));
  const auto slow = w.appears(aPod("slow").request("cpu", "9"));
  const auto fast = w.appears(aPod("fast").request("cpu", "9"));
  w.refuses(slow, 30s);
  w.refuses(fast);
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Skip::Late), 1u);
  EXPECT_EQ(w.count(Match::BothWait), 1u);
}

TEST(ShadowLag, survives_impossible_times) {
  Watching w;
  w.node(aNode("a"));
  w.refuses(w.appears(aPod("old").request("cpu", "9")), 24h * 365 * 250);
  EXPECT_EQ(w.count(Skip::Late), 1u);
  w.refuses(w.appears(aPod("future").request("cpu", "9")), -24h * 365 * 200);
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Match::BothWait), 1u);
}

TEST(ShadowLag, drops_differences_if_older_changes_follow_them) {
  Watching w;
  w.node(aNode("a"));
  w.binds(w.appears(aPod("first").request("cpu", "9")), "a");  // the shadow has no room
  (void)w.appears(aPod("of-an-outage"), 1min);
  w.loop.advance(5s);
  EXPECT_EQ(w.count(Skip::Late), 1u);
  EXPECT_EQ(w.count(Match::OnlyIncumbentPlaces), 0u);
}

TEST(ShadowLag, drops_agreements_too_and_keeps_those_whose_moment_has_passed) {
  Watching w;
  w.node(aNode("a"));
  w.binds(w.appears(aPod("first")), "a");
  EXPECT_EQ(w.count(Match::SameNode), 0u) << "its moment has not passed";
  EXPECT_EQ(memberOf(w.shadow.report(), "open"), json::value(1));
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Match::SameNode), 1u);
  w.binds(w.appears(aPod("second")), "a");
  w.loop.advance(500ms);
  (void)w.appears(aPod("of-an-outage"), 1min);
  w.loop.advance(5s);
  EXPECT_EQ(w.count(Skip::Late), 1u);
  EXPECT_EQ(w.count(Match::SameNode), 1u);
  w.binds(w.appears(aPod("third")), "a");
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Match::SameNode), 2u);
}

struct WatchingGang : Watching {
  WatchingGang() : Watching(*parseConfiguration(shippedConfiguration({"default-scheduler"}))) {
    node(aNode("a").allocatable("cpu", "1000").allocatable("pods", "1000"));
  }
  PodObject member(int i) {
    auto pod = aPod(fmt::format("g-{}", i)).request("cpu", "1");
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/name"] = "g";
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] = "100";
    return appears(pod);
  }
};

TEST(ShadowBudget, ends_the_comparison_of_a_gang_that_takes_too_long) {
  for (const auto tick : {0ms, 20ms}) {
    WatchingGang w;
    const auto first = w.member(0);
    for (int i = 1; i < 100; ++i) (void)w.member(i);
    w.clock.tick = tick;
    w.refuses(first);
    w.clock.tick = 0ms;
    w.loop.advance(10s);
    EXPECT_EQ(w.count(Match::OnlyShadowPlaces), tick == 0ms ? 1u : 0u);
    EXPECT_EQ(w.count(Skip::Behind), tick == 0ms ? 0u : 1u);
  }
}

TEST(ShadowBudget, ends_the_search_for_a_nearby_state) {
  for (const auto tick : {0ms, 25ms}) {
    Watching w;
    w.node(aNode("a").allocatable("pods", "1000"));
    const auto asked = w.appears(aPod("asked").request("cpu", "9"));
    for (int i = 0; i < 40; ++i) w.binds(w.appears(aPod(fmt::format("p{}", i))), "a");
    w.clock.tick = tick;
    w.binds(asked, "a");
    w.clock.tick = 0ms;
    w.loop.advance(10s);
    EXPECT_EQ(w.count(Match::OnlyIncumbentPlaces), tick == 0ms ? 1u : 0u);
    EXPECT_EQ(w.count(Skip::Behind), tick == 0ms ? 0u : 1u);
  }
}

TEST(ShadowConfiguration, leaves_room_for_what_another_profile_of_the_incumbent_nominated) {
  SchedulerConfiguration two = defaultConfiguration();
  two.profiles.push_back(two.profiles.front());
  two.profiles.back().schedulerName = "batch";
  Watching w(two);
  w.node(aNode("a"));
  (void)w.appears(
      aPod("promised").scheduler("batch").nominated("a").priority(10).request("cpu", "3"));
  w.refuses(w.appears(aPod("low").request("cpu", "2")));
  w.loop.advance(2s);
  EXPECT_EQ(w.count(Match::BothWait), 1u);
}

}  // namespace
}  // namespace koord::scheduler
