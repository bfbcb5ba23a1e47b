// Pods that change their scheduler while they wait for permission.

#include <gtest/gtest.h>

#include <functional>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using namespace std::chrono_literals;

// Makes pods wait until the test allows them.
class Waiting final : public Plugin, public PermitPlugin {
 public:
  std::string_view name() const override { return "Waiting"; }
  PermitResult permit(CycleState&, const PodPtr&, NodeId) override {
    return {{Code::Wait, {}, {}}, 5min};
  }
};

struct WithWaiting : testing::SchedulerFixture {
  Handle* handle = nullptr;
  explicit WithWaiting(std::set<std::string, std::less<>> gatesToUse = {"DynamicSchedulerCheck"}) {
    registry["Waiting"] = [this](Fields&, Handle& given) -> std::unique_ptr<Plugin> {
      handle = &given;
      return std::make_unique<Waiting>();
    };
    configuration_.profiles.front().plugins["permit"].enabled.push_back({"Waiting", 0});
    gates = std::move(gatesToUse);
    create();
    scheduler->start();
    node(aNode("n1"));
    create(aPod("p").request("cpu", "1"));
    run(1s);
  }
  using SchedulerFixture::create;
  // Updates the pod in the API.
  void change(const std::function<void(api::Pod&)>& how) {
    auto after = std::make_shared<api::Pod>(*pods.at("p"));
    how(*after);
    after->metadata.resourceVersion += "1";
    replace(after);
  }
  // The pod is allowed, and changes before it continues.
  void allowAndChange(const std::function<void(api::Pod&)>& how) {
    loop.post([this] {
      if (const auto waiting = handle->waitingPods().find(pods.at("p")->metadata.uid))
        waiting->allow("Waiting");
    });
    change(how);
    run(5s);
  }
};

TEST(DynamicSchedulerCheck, a_pod_that_still_is_ours_is_bound) {
  WithWaiting f;
  f.allowAndChange([](api::Pod& pod) { pod.metadata.labels["a"] = "b"; });
  EXPECT_EQ(f.bindings["p"], 1);
}

TEST(DynamicSchedulerCheck, a_pod_of_another_scheduler_is_left_to_it) {
  const auto giveAway = [](api::Pod& pod) { pod.spec.schedulerName = "somebody-else"; };
  WithWaiting f;
  f.allowAndChange(giveAway);
  EXPECT_EQ(f.bindings["p"], 0);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u) << "its place is free again";
  WithWaiting unchecked{std::set<std::string, std::less<>>()};
  unchecked.allowAndChange(giveAway);
  EXPECT_EQ(unchecked.bindings["p"], 1) << "without the gate nobody looks";
}

TEST(DynamicSchedulerCheck, a_pod_that_is_leaving_is_not_bound) {
  WithWaiting f;
  f.allowAndChange([&](api::Pod& pod) { pod.metadata.deletionTimestamp = f.loop.wallNow(); });
  EXPECT_EQ(f.bindings["p"], 0);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
}

}  // namespace
}  // namespace koord::scheduler
