#include "scheduler/plugins/schedulinghint/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/well_known.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodBuilder;
using testing::World;

constexpr std::string_view kHint = model::kAnnotationSchedulingHint;
constexpr std::string_view kOldHint = model::kAnnotationSchedulingHintDeprecated;

PodBuilder hinted(const char* hint, std::string_view key = kHint) {
  PodBuilder pod = aPod("p");
  pod.object().metadata.annotations[key] = hint;
  return pod;
}

// Rejects pods on some nodes, and prefers the last nodes.
class Picky final : public Plugin, public FilterPlugin, public ScorePlugin {
 public:
  explicit Picky(NodeSet refused) : refused_(std::move(refused)) {}
  std::string_view name() const override { return "Picky"; }
  Status filter(const CycleState&, const PodInfo&, NodeFilter& nodes) override {
    NodeSet allowed = nodes.nodes();
    allowed.subtract(refused_);
    nodes.keepOnly(allowed, Code::Unschedulable, "refused");
    return {};
  }
  Status score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) scores[i] = nodes[i];
    return {};
  }

 private:
  const NodeSet refused_;
};

struct SchedulingHintTest : ::testing::Test {
  World world;
  SchedulingHintTest() {
    for (const char* name : {"a", "b", "c", "d"}) world.node(aNode(name));
  }
  // A profile of the plugin and a plugin that rejects some of the nodes and prefers d.
  void use(std::int64_t maxHintNodes = 100, std::initializer_list<const char*> refused = {}) {
    NodeSet closed;
    for (const char* name : refused) closed.insert(*world.cluster().findNode(name));
    Registry registry;
    registry["SchedulingHint"] = [=](Fields&, Handle& handle) {
      return std::make_unique<SchedulingHint>(handle, SchedulingHintArgs{maxHintNodes});
    };
    registry["Picky"] = [=](Fields&, Handle&) { return std::make_unique<Picky>(closed); };
    registry["Rest"] = [](Fields&, Handle&) { return std::make_unique<Rest>(); };
    EXPECT_THAT(
        world.configure(registry,
                        "apiVersion: kubescheduler.config.k8s.io/v1\n"
                        "kind: KubeSchedulerConfiguration\n"
                        "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: "
                        "[{name: Rest}, {name: SchedulingHint}, {name: Picky}]}}}]\n"),
        IsEmpty());
  }
  // The plugins that a profile requires.
  class Rest final : public Plugin, public QueueSortPlugin, public BindPlugin {
   public:
    std::string_view name() const override { return "Rest"; }
    bool less(const QueuedPod&, const QueuedPod&) const override { return false; }
    Task<Status> bind(CycleState&, PodPtr, std::string) override { co_return Status{}; }
  };
  std::string place(const PodBuilder& pod) { return world.place(world.pod(pod)); }
};

TEST_F(SchedulingHintTest, the_first_preferred_node_that_takes_the_pod_gets_it) {
  use(100, {"a"});
  EXPECT_EQ(place(aPod("p")), "d");
  EXPECT_EQ(place(hinted(R"({"preferredNodeNames": ["a", "none", "b", "c"]})")), "b");
  EXPECT_EQ(place(hinted(R"({"preferredNodeNames": ["a"]})")), "d") << "as if there were no hint";
}

TEST_F(SchedulingHintTest, only_named_nodes_are_looked_at) {
  use(100, {"a"});
  EXPECT_EQ(place(hinted(R"({"nodeNames": ["b", "c"]})")), "c");
  EXPECT_EQ(place(hinted(R"({"nodeNames": ["b", "c"], "preferredNodeNames": ["d", "b"]})")), "b");
  EXPECT_THAT(place(hinted(R"({"nodeNames": ["a"]})")), HasSubstr("1 refused"));
}

TEST_F(SchedulingHintTest, preferred_nodes_beyond_the_limit_do_not_count) {
  use(1, {"a"});
  EXPECT_EQ(place(hinted(R"({"preferredNodeNames": ["a", "b"]})")), "d");
}

TEST_F(SchedulingHintTest, the_old_annotation_counts_where_the_new_one_is_missing_or_empty) {
  use();
  EXPECT_EQ(place(hinted(R"({"nodeNames": ["b"]})", kOldHint)), "b");
  PodBuilder both = hinted(R"({"nodeNames": ["b"]})", kOldHint);
  both.object().metadata.annotations[kHint] = R"({"nodeNames": ["c"]})";
  EXPECT_EQ(place(both), "c");
  both.object().metadata.annotations[kHint] = "";
  EXPECT_EQ(place(both), "b");
}

TEST_F(SchedulingHintTest, what_cannot_be_read_is_told_by_its_field) {
  use();
  for (const char* bad : {"{", "[]", "3", R"({"nodeNames": "a"})", R"({"nodeNames": [1]})",
                          R"({"preferredNodeNames": {}})"}) {
    EXPECT_THAT(
        place(hinted(bad)),
        HasSubstr("metadata.annotations[internal.scheduling.koordinator.sh/scheduling-hint"))
        << bad;
  }
  EXPECT_EQ(place(hinted("null")), "d");
  EXPECT_EQ(place(hinted(R"({"nodeNames": null, "extensions": {"DeviceShare": {}}})")), "d");
}

TEST_F(SchedulingHintTest, a_new_node_wakes_the_pods_that_name_it) {
  use();
  const auto registrations =
      world.profile().registrations;  // of all plugins; Picky has no hints of its own
  const auto own = std::ranges::find(registrations, "SchedulingHint", &PluginRegistration::plugin);
  ASSERT_NE(own, registrations.end());
  ClusterEvent event;
  event.resource = EventResource::Node;
  event.actions = action::kAdd;
  event.newNode = aNode("e").build();
  ASSERT_TRUE(matches(own->events.front(), event));
  const auto ask = [&](const PodBuilder& pod) {
    return own->events.front().hint(*world.pod(pod), event);
  };
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["e"]})")), Hint::Queue);
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["f"]})")), Hint::Skip);
  EXPECT_EQ(ask(hinted("{")), Hint::Skip);
}

TEST_F(SchedulingHintTest, a_pod_that_says_something_else_is_tried_again) {
  use();
  const auto registrations = world.profile().registrations;
  const auto own = std::ranges::find(registrations, "SchedulingHint", &PluginRegistration::plugin);
  ASSERT_NE(own, registrations.end());
  const PodPtr before = world.pod(hinted(R"({"nodeNames": ["e"]})"));
  const auto ask = [&](const PodBuilder& after, const PodPtr& waiting) {
    ClusterEvent event;
    event.resource = EventResource::UnscheduledPod;
    event.actions = action::kUpdate;
    event.oldPod = before;
    event.newPod = world.pod(after);
    EXPECT_TRUE(matches(own->events.back(), event));
    return own->events.back().hint(*waiting, event);
  };
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["d"]})"), before), Hint::Queue);
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["e"]})").label("a", "b"), before), Hint::Queue);
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["e"]})"), before), Hint::Skip) << "its status alone";
  EXPECT_EQ(ask(hinted(R"({"nodeNames": ["d"]})"), world.pod(aPod("other"))), Hint::Skip);
}

}  // namespace
}  // namespace koord::scheduler
