// Pods that go while their nodes are prepared for them.

#include <gtest/gtest.h>

#include "base/task.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using namespace std::chrono_literals;

// Takes ten minutes over pods that are called "slow", as a volume may take that nobody makes.
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

struct WithPreparing : testing::SchedulerFixture {
  Preparing* plugin = nullptr;
  WithPreparing() {
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
    create(aPod("slow").request("cpu", "1"));
    run(2s);
    create(aPod("next").request("cpu", "1"));
    run(10s);
  }
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

}  // namespace
}  // namespace koord::scheduler
