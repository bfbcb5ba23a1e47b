// Pods that are deleted during PreBind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/task.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using namespace std::chrono_literals;

// Takes ten minutes for pods named "slow", like a volume that is never created.
class Preparing final : public Plugin, public ReservePlugin, public PreBindPlugin {
 public:
  explicit Preparing(Handle& handle) : executor_(handle.executor()) {}
  std::string_view name() const override { return "Preparing"; }
  Status reserve(CycleState&, const PodPtr&, NodeId) override {
    ++reserved;
    return {};
  }
  void unreserve(CycleState&, const PodPtr&, NodeId) override { --reserved; }
  Task<Status> preBind(CycleState&, PodPtr pod, NodeId) override {
    if (pod->pod->metadata.name == "slow") {
      auto pause = sleepFor(executor_, 10min);
      co_await pause;
    }
    co_return Status{};
  }

  int reserved = 0;

 private:
  Executor& executor_;
};

struct LateAttempts final : Observer {
  int late = 0;
  void timedOut(const std::string&) override { ++late; }
};

struct WithPreparing : testing::SchedulerFixture {
  Preparing* plugin = nullptr;
  LateAttempts watching;
  WithPreparing() {
    observer = &watching;
    registry["Preparing"] = [this](Fields&, Handle& handle) -> std::unique_ptr<Plugin> {
      auto made = std::make_unique<Preparing>(handle);
      plugin = made.get();
      return made;
    };
    auto& plugins = configuration_.profiles.front().plugins;
    plugins["reserve"].enabled.push_back({"Preparing", 0});
    plugins["preBind"].enabled.push_back({"Preparing", 0});
    create();
    scheduler->start();
    node(aNode("n1").allocatable("cpu", "1"));
    create(slow());
    run(2s);
    create(aPod("next").request("cpu", "1"));
    run(10s);
  }
  static testing::PodBuilder slow() { return aPod("slow").request("cpu", "1"); }
  using SchedulerFixture::create;
};

TEST(Preparing, room_of_a_pod_that_goes_meanwhile_is_free_at_once) {
  WithPreparing f;
  ASSERT_EQ(f.nodeOf("next"), "") << "it is held";
  f.remove("slow");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("next"), "n1");
  EXPECT_EQ(f.plugin->reserved, 2) << "what plugins reserved is theirs until they are done";
  f.run(15min);
  EXPECT_EQ(f.plugin->reserved, 1);
  EXPECT_EQ(f.bindings["slow"], 0);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
}

TEST(Preparing, a_pod_that_is_being_deleted_holds_nothing_either) {
  WithPreparing f;
  auto leaving = std::make_shared<api::Pod>(*f.pods.at("slow"));
  leaving->metadata.deletionTimestamp = f.loop.wallNow();
  leaving->metadata.resourceVersion += "1";
  f.replace(leaving);
  f.run(15s);
  EXPECT_EQ(f.nodeOf("next"), "n1");
  f.remove("slow");
  f.run(15min);
  EXPECT_EQ(f.bindings["slow"], 0);
  EXPECT_EQ(f.plugin->reserved, 1);
}

TEST(Preparing, a_pod_that_goes_while_its_place_is_announced_leaves_nothing_in_the_queue) {
  WithPreparing f;
  f.node(aNode("n2").allocatable("cpu", "1"));
  f.run(10s);
  ASSERT_EQ(f.nodeOf("next"), "n2");
  f.remove("next");
  f.run(5s);
  f.api.latency = 1min;
  f.create(aPod("other").request("cpu", "1"));
  f.run(10s);
  ASSERT_EQ(f.scheduler->cluster().assumedTotal(), 2u);
  f.remove("other");
  f.run(5s);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 1u);
  f.run(5min);
  EXPECT_EQ(f.scheduler->queue().counts().inFlight, 0u);
  f.node(aNode("n3"));
  EXPECT_THAT(f.scheduler->queue().eventsInFlight(), ::testing::IsEmpty());
}

TEST(Preparing, one_that_comes_again_meanwhile_is_placed_when_the_last_attempt_has_ended) {
  WithPreparing f;
  f.remove("next");
  f.remove("slow");
  f.run(10s);
  auto again = f.slow();
  f.create(again.version("5"));
  f.run(10s);
  again.label("team", "a");
  f.create(again.version("6"));
  f.run(1min);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u) << "the first attempt has not ended";
  f.run(9min);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 1u);
  f.create(aPod("other").request("cpu", "1"));
  f.run(15min);
  EXPECT_EQ(f.nodeOf("slow"), "n1");
  EXPECT_EQ(f.nodeOf("other"), "");
  EXPECT_EQ(f.bindings["slow"], 1);
  EXPECT_EQ(f.plugin->reserved, 1);
}

TEST(Preparing, a_node_that_went_meanwhile_is_forgotten_with_its_last_pod) {
  for (const bool deleted : {true, false}) {
    WithPreparing f;
    f.beforeBind = [](const std::string&) { return fail(ErrorCode::Invalid, "no such node"); };
    f.scheduler->nodeDeleted(aNode("n1").build());
    if (deleted) f.remove("slow");
    f.run(15min);
    EXPECT_EQ(f.plugin->reserved, 0);
    EXPECT_EQ(f.scheduler->cluster().findNode("n1"), std::nullopt) << deleted;
    f.node(aNode("n2"));
    EXPECT_EQ(f.scheduler->cluster().capacity(), 1u) << "its number is given to the next one";
  }
}

TEST(Preparing, nobody_is_told_that_the_attempt_takes_long_for_a_pod_that_is_gone) {
  WithPreparing f;
  f.remove("slow");
  f.run(1h);
  EXPECT_EQ(f.watching.late, 0);
}

}  // namespace
}  // namespace koord::scheduler
