// An exception in a plugin fails the pod's attempt and does not affect the process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/services/metrics.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Throws at the configured point for pods whose name begins with "bad".
class Throwing final : public Plugin,
                       public PreEnqueuePlugin,
                       public PreFilterPlugin,
                       public FilterPlugin,
                       public PostFilterPlugin,
                       public PreScorePlugin,
                       public ScorePlugin,
                       public ReservePlugin,
                       public PermitPlugin,
                       public PreBindPlugin,
                       public BindPlugin,
                       public PostBindPlugin,
                       public EnqueueExtensions {
 public:
  explicit Throwing(const std::string* where) : where_(where) {}
  std::string_view name() const override { return "Throwing"; }

  Status preEnqueue(const PodInfo& pod) override { return at("PreEnqueue", pod); }
  PreFilterResult preFilter(CycleState&, const PodInfo& pod) override {
    return {at("PreFilter", pod), {}};
  }
  Status filter(const CycleState&, const PodInfo& pod, NodeFilter&) override {
    return at("Filter", pod);
  }
  PostFilterResult postFilter(CycleState&, const PodPtr& pod, const Diagnosis&) override {
    PostFilterResult result;
    result.status = at("PostFilter", *pod);
    result.status = Status::unschedulable("nobody leaves");
    if (*where_ == "PostFilter, later") result.later = think(pod);
    return result;
  }
  Task<PostFilterResult> think(PodPtr pod) {
    at("PostFilter, later", *pod);
    co_return PostFilterResult{};
  }
  Status preScore(CycleState&, const PodInfo& pod, std::span<const NodeId>) override {
    return at("PreScore", pod);
  }
  Status score(const CycleState&, const PodInfo& pod, std::span<const NodeId>,
               std::span<std::int64_t> scores) override {
    std::ranges::fill(scores, 1);
    return at("Score", pod);
  }
  Status reserve(CycleState&, const PodPtr& pod, NodeId) override {
    Status status = at("Reserve", *pod);
    return *where_ == "Unreserve" && isBad(*pod) ? Status::unschedulable("not here") : status;
  }
  void unreserve(CycleState&, const PodPtr& pod, NodeId) override { at("Unreserve", *pod); }
  PermitResult permit(CycleState&, const PodPtr& pod, NodeId) override {
    return {at("Permit", *pod), {}};
  }
  Task<Status> preBind(CycleState&, PodPtr pod, NodeId) override {
    at("PreBind", *pod);
    return rest("PreBind, later", pod);
  }
  bool binds(const PodInfo& pod) const override {
    return where_->starts_with("Bind") && isBad(pod);
  }
  Task<Status> bind(CycleState&, PodPtr pod, std::string) override {
    at("Bind", *pod);
    return rest("Bind, later", pod);
  }
  void postBind(CycleState&, const PodPtr& pod, const std::string&) override {
    at("PostBind", *pod);
  }
  std::vector<EventRegistration> eventsToRegister() const override {
    return {
        {EventResource::Node, action::kAdd, "", [this](const PodInfo& pod, const ClusterEvent&) {
           at("QueueingHint", pod);
           return Hint::Queue;
         }}};
  }

 private:
  static bool isBad(const PodInfo& pod) { return pod.pod->metadata.name.starts_with("bad"); }
  Status at(std::string_view point, const PodInfo& pod) const {
    if (*where_ == point && isBad(pod)) throw std::out_of_range("somebody's mistake");
    if (point == "Filter" && *where_ == "QueueingHint" && isBad(pod))
      return Status::unschedulable("nowhere");
    return {};
  }
  Task<Status> rest(std::string_view point, PodPtr pod) {
    auto asking = inner(point, pod);
    const Status status = co_await asking;
    if (!status.ok()) co_return status;
    co_return point.starts_with("Bind") ? Status::skip() : Status{};
  }
  Task<Status> inner(std::string_view point, PodPtr pod) { co_return at(point, *pod); }

  const std::string* where_;
};

struct WithThrowing : testing::SchedulerFixture {
  explicit WithThrowing(std::string point) : where(std::move(point)) {
    registry["Throwing"] = [this](Fields&, Handle&) { return std::make_unique<Throwing>(&where); };
    auto& plugins = configuration_.profiles.front().plugins;
    plugins["multiPoint"].enabled.insert(plugins["multiPoint"].enabled.begin(), {"Throwing", 1});
    plugins["bind"].enabled.push_back({"Throwing", 1});  // before DefaultBinder
    observer = &metrics;
    create();
    scheduler->start();
    node(aNode("n1"));
    node(aNode("n2"));
  }
  std::string where;
  Metrics metrics;
};

class ThrowingPlugin : public ::testing::TestWithParam<const char*> {};

TEST_P(ThrowingPlugin, costs_the_pod_its_attempt_and_nobody_else_anything) {
  WithThrowing f(GetParam());
  f.create(aPod("bad").request("cpu", "1"));
  f.create(aPod("good").request("cpu", "1"));
  f.run();
  EXPECT_NE(f.nodeOf("good"), "");
  EXPECT_EQ(f.nodeOf("bad"), "");
  EXPECT_THAT(f.metrics.text(*f.scheduler),
              HasSubstr(fmt::format("scheduler_plugin_exceptions_total{{extension_point=\"{}\","
                                    "plugin=\"Throwing\"}}",
                                    GetParam())));
  // Once fixed, it accepts the pod: no result of the failure was kept.
  f.where.clear();
  f.node(aNode("n3"));
  f.run(10min);
  EXPECT_NE(f.nodeOf("bad"), "");
  const Cluster& cluster = f.scheduler->cluster();
  cluster.live().forEach([&](NodeId node) { EXPECT_EQ(cluster.verifyNode(node), ""); });
}

INSTANTIATE_TEST_SUITE_P(Points, ThrowingPlugin,
                         ::testing::Values("PreEnqueue", "PreFilter", "Filter", "PreScore", "Score",
                                           "Reserve", "Unreserve", "Permit", "PreBind", "Bind"));

TEST(ThrowingPlugins, are_named_in_the_condition_of_the_pod) {
  WithThrowing f("Filter");
  f.create(aPod("bad").request("cpu", "1"));
  f.run();
  EXPECT_THAT(f.conditions,
              Contains(HasSubstr("plugin Throwing threw at Filter: somebody's mistake")));
}

TEST(ThrowingPlugins, at_postFilter_leave_the_pod_unschedulable) {
  for (const char* point : {"PostFilter", "PostFilter, later"}) {
    WithThrowing f(point);
    f.create(aPod("bad").request("cpu", "64"));
    f.run();
    EXPECT_EQ(f.scheduler->queue().placeOf("uid-default-bad"), QueuePlace::Unschedulable);
    f.create(aPod("good").request("cpu", "1"));
    f.run();
    EXPECT_NE(f.nodeOf("good"), "") << point;
  }
}

TEST(ThrowingPlugins, in_a_task_cost_the_pod_its_attempt_too) {
  for (const char* point : {"PreBind, later", "Bind, later"}) {
    WithThrowing f(point);
    f.create(aPod("bad").request("cpu", "1"));
    f.create(aPod("good").request("cpu", "1"));
    f.run();
    EXPECT_NE(f.nodeOf("good"), "") << point;
    EXPECT_EQ(f.nodeOf("bad"), "") << point;
    EXPECT_THAT(f.events, Contains(HasSubstr("threw at an attempt: somebody's mistake"))) << point;
    f.where.clear();
    f.run(10min);
    EXPECT_NE(f.nodeOf("bad"), "") << point;
  }
}

TEST(ThrowingPlugins, whose_hint_fails_wake_the_pod) {
  WithThrowing f("QueueingHint");
  f.create(aPod("bad").request("cpu", "1"));
  f.run();
  ASSERT_EQ(f.nodeOf("bad"), "");
  const int before = f.scheduler->queue().find("uid-default-bad")->attempts;
  f.node(aNode("n3"));
  f.run(30s);
  EXPECT_GT(f.scheduler->queue().find("uid-default-bad")->attempts, before);
}

TEST(ThrowingPlugins, after_the_pod_is_bound_change_nothing) {
  WithThrowing f("PostBind");
  f.create(aPod("bad").request("cpu", "1"));
  f.run();
  EXPECT_NE(f.nodeOf("bad"), "");
}

TEST(ThrowingPlugins, that_hear_of_pods_and_objects_do_not_keep_others_from_hearing) {
  WithThrowing f("");
  int heard = 0;
  f.scheduler->stores().of<api::PodDisruptionBudget>().listen(
      [](const auto&, const auto&) { throw std::runtime_error("somebody's mistake"); });
  f.scheduler->stores().of<api::PodDisruptionBudget>().listen(
      [&](const auto&, const auto&) { ++heard; });
  f.scheduler->stores().of<api::PodDisruptionBudget>().set(
      std::make_shared<const api::PodDisruptionBudget>());
  EXPECT_EQ(heard, 1);
}

}  // namespace
}  // namespace koord::scheduler
