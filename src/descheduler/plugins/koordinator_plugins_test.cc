#include "base/log.h"
#include "descheduler/plugins/cluster_test.h"

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FragmentationAwareTest, takesThePodThatMakesTheNodeUneven) {
  Cluster cluster("balance: {enabled: [{name: FragmentationAware}]}");
  const std::string room = R"("cpu": "10", "memory": "20Gi", "pods": "20")";
  cluster.node("a", "", "{}", room);
  cluster.node("b", "", "{}", room);
  cluster.pod("aa", {.requests = R"("cpu": "6", "memory": "2Gi")"});
  cluster.pod("bb", {.requests = R"("cpu": "2", "memory": "4Gi")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("aa"));
}

TEST(ScaleDownBinPackTest, ranksPodsAndTakesBackWhatItWrote) {
  Cluster cluster("balance: {enabled: [{name: ScaleDownBinPack}]}",
                  "[{name: ScaleDownBinPack, args: {podSelectors: [{name: s, selector: "
                  "{matchLabels: {go: 'yes'}}}]}}]");
  cluster.node("a");
  cluster.node("b");
  const std::string go = R"("go": "yes")";
  cluster.pod("first", {.node = "b", .labels = go});
  cluster.pod("second", {.node = "a", .labels = go});
  cluster.pod("other", {.node = "a"});
  cluster.cycle();
  const auto costOf = [&](const char* name) {
    return std::string(textAt(*cluster.api().get(api::Pod::kType, name, "default"), "metadata",
                              "annotations", "controller.kubernetes.io/pod-deletion-cost"));
  };
  EXPECT_EQ(costOf("first"), "0");
  EXPECT_EQ(costOf("second"), "1");
  EXPECT_EQ(costOf("other"), "");
}

TEST(ScaleDownBinPackTest, emptiesFirstWhatHoldsLeastThatStays) {
  // The worked example of the rule: 6 of 10 CPUs stay on n1, 1 on n2.
  const std::string room = R"("cpu": "10", "memory": "10Gi", "pods": "20")";
  const auto build = [&](Cluster& cluster) {
    cluster.node("n1", "", "{}", room);
    cluster.node("n2", "", "{}", room);
    const std::string go = R"("go": "yes")", one = R"("cpu": "1", "memory": "1Gi")";
    cluster.pod("stays1", {.node = "n1", .requests = R"("cpu": "6", "memory": "6Gi")"});
    cluster.pod("stays2", {.node = "n2", .requests = one});
    for (const char* name : {"n1-a", "n1-b"})
      cluster.pod(name, {.node = "n1", .labels = go, .requests = one});
    for (const char* name : {"n2-a", "n2-b", "n2-c"})
      cluster.pod(name, {.node = "n2", .labels = go, .requests = one});
  };
  const auto args = [](const char* more) {
    return fmt::format(
        "[{{name: ScaleDownBinPack, args: {{podSelectors: [{{name: s, selector: "
        "{{matchLabels: {{go: 'yes'}}}}}}]{}}}}}]",
        more);
  };
  const std::string plugin = "balance: {enabled: [{name: ScaleDownBinPack}]}";
  Cluster evicts(plugin, args(", strategy: EvictDirectly, maxPodsToEvict: 4"));
  build(evicts);
  EXPECT_THAT(evicts.cycle(), ElementsAre("n2-a", "n2-b", "n2-c", "n1-a"));
  Cluster dry(plugin, args(""), "dryRun: true");
  build(dry);
  const std::size_t writes = dry.api().writes.size();
  dry.cycle();
  EXPECT_EQ(dry.api().writes.size(), writes);
}

constexpr const char* kTiers = "balance: {enabled: [{name: CustomPriority}]}";
std::string tierArgs(const std::string& more) {
  return "[{name: CustomPriority, args: {evictionOrder: [{name: dear, nodeSelector: {matchLabels: "
         "{t: dear}}}, {name: cheap, nodeSelector: {matchLabels: {t: cheap}}}]" +
         more + "}}]";
}

TEST(CustomPriorityTest, movesNoMoreThanCheaperNodesCanTake) {
  Cluster cluster("balance: {enabled: [{name: CustomPriority}]}",
                  "[{name: CustomPriority, args: {mode: DrainNode, evictionOrder: [{name: dear, "
                  "nodeSelector: {matchLabels: {t: dear}}}, {name: cheap, nodeSelector: "
                  "{matchLabels: {t: cheap}}}]}}]");
  cluster.node("s1", R"("t": "dear")");
  cluster.node("s2", R"("t": "dear")");
  cluster.node("t1", R"("t": "cheap")", "{}", R"("cpu": "1", "memory": "8Gi", "pods": "20")");
  cluster.pod("p1", {.node = "s1", .requests = R"("cpu": "300m")"});
  cluster.pod("p2", {.node = "s1", .requests = R"("cpu": "500m")"});
  cluster.pod("p3", {.node = "s2", .requests = R"("cpu": "300m")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("p1", "p2"));
}

TEST(CustomPriorityTest, closesANodeOnlyWhileItIsEmptied) {
  const auto closed = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto build = [](Cluster& cluster) {
    cluster.node("s", R"("t": "dear")");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p1", {.node = "s"});
    cluster.pod("p2", {.node = "s"});
  };
  const std::string drain = tierArgs(", mode: DrainNode, autoCordon: true");
  Cluster drains(kTiers, drain);
  build(drains);
  EXPECT_THAT(drains.cycle(), ElementsAre("p1", "p2"));
  EXPECT_TRUE(closed(drains));
  Cluster dry(kTiers, drain, "dryRun: true");
  build(dry);
  EXPECT_THAT(dry.cycle(), IsEmpty());
  EXPECT_FALSE(closed(dry)) << "upstream cordons in a dry run, too";
  Cluster refused(kTiers, drain);
  build(refused);
  refused.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource == "eviction" && request.name == "p2")
      return Error{ErrorCode::TooManyRequests, "a budget", {}};
    return std::nullopt;
  };
  refused.cycle();
  EXPECT_FALSE(closed(refused)) << "it is opened again where not all of them may go";
}

TEST(CustomPriorityTest, aProcessThatComesAfterOneThatDiedFinishesOrGivesUpItsDrain) {
  const std::string drain = tierArgs(", mode: DrainNode, autoCordon: true");
  const auto closed = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto noted = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    return !textAt(*node, "metadata", "annotations", "descheduler.koordinator.sh/drained-by")
                .empty();
  };
  // The state after a process died after the first of two evictions.
  const auto inTheMiddle = [&](Cluster& cluster) {
    cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")",
                 R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p2", {.node = "s"});
  };
  Cluster finishes(kTiers, drain);
  inTheMiddle(finishes);
  EXPECT_THAT(finishes.cycle(), ElementsAre("p2"));
  EXPECT_TRUE(closed(finishes)) << "as after a drain that nothing disturbed";
  EXPECT_FALSE(noted(finishes));
  Cluster refused(kTiers, drain);
  inTheMiddle(refused);
  refused.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource != "eviction") return std::nullopt;
    return Error{ErrorCode::TooManyRequests, "a budget", {}};
  };
  refused.cycle();
  EXPECT_FALSE(closed(refused)) << "as a drain that failed without a restart";
  Cluster full(kTiers, drain);
  inTheMiddle(full);
  full.pod("filler", {.node = "c", .requests = R"("cpu": "4")"});
  EXPECT_THAT(full.cycle(), IsEmpty());
  EXPECT_FALSE(closed(full)) << "the room is gone meanwhile";
  Cluster somebodyElses(kTiers, drain);
  somebodyElses.node("s", R"("t": "dear")", R"({"unschedulable": true})");
  somebodyElses.node("c", R"("t": "cheap")");
  somebodyElses.pod("p", {.node = "s"});
  somebodyElses.pod("filler", {.node = "c", .requests = R"("cpu": "4")"});
  somebodyElses.cycle();
  EXPECT_TRUE(closed(somebodyElses)) << "who closed it opens it";
}

TEST(CustomPriorityTest, aNodeWhoseDrainNobodyWantsAnyMoreIsUncordoned) {
  const auto isCordoned = [](Cluster& cluster) {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto left = [&](const std::string& plugins, const std::string& args, const char* labels,
                        const std::string& top = "", bool annotated = true) {
    Cluster cluster(plugins, args, top);
    cluster.node("s", labels, R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")",
                 annotated ? R"("descheduler.koordinator.sh/drained-by": "CustomPriority")" : "");
    cluster.node("c", R"("t": "cheap")");
    cluster.pod("p", {.node = "s"});
    cluster.cycle();
    const auto node = cluster.api().get(api::Node::kType, "s");
    const bool has =
        !textAt(*node, "metadata", "annotations", "descheduler.koordinator.sh/drained-by").empty();
    return std::pair(isCordoned(cluster), has);
  };
  const std::pair kReleased(false, false), kUntouched(true, true);
  const char* const dear = R"("t": "dear")";
  const std::string drains = ", mode: DrainNode, autoCordon: true";
  EXPECT_EQ(left("", "[]", dear), kReleased) << "the plugin is switched off";
  EXPECT_EQ(left(kTiers, tierArgs(drains + ", paused: true"), dear), kReleased);
  EXPECT_EQ(left(kTiers, tierArgs(drains), R"("t": "other")"), kReleased) << "of no level";
  EXPECT_EQ(left(kTiers, tierArgs(drains), R"("t": "cheap")"), kReleased) << "of the last level";
  EXPECT_EQ(left(kTiers, tierArgs(""), dear), kReleased) << "mode BestEffort drains nothing";
  EXPECT_EQ(left("", "[]", dear, "nodeSelector: {matchLabels: {t: cheap}}"), kReleased)
      << "out of its sight";
  EXPECT_EQ(left("", "[]", dear, "dryRun: true"), kUntouched);
  EXPECT_EQ(left(kTiers, tierArgs(drains + ", dryRun: true"), dear), kUntouched)
      << "a dry run of the plugin alone";
  EXPECT_EQ(left("", "[]", dear, "", false), std::pair(true, false)) << "cordoned by somebody else";
}

TEST(CustomPriorityTest, aNodeThatDryRunKeepsCordonedIsReportedOnce) {
  Cluster cluster(kTiers, tierArgs(", mode: DrainNode, autoCordon: true, dryRun: true"));
  cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
               R"("cpu": "4", "memory": "8Gi", "pods": "20")",
               R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
  cluster.node("c", R"("t": "cheap")");
  cluster.pod("p", {.node = "s"});
  const auto logOfACycle = [&] {
    log::setup({.program = "test"});
    ::testing::internal::CaptureStderr();
    cluster.cycle();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(logOfACycle(),
              ::testing::HasSubstr("node s stays cordoned by a drain that dryRun suspends"));
  EXPECT_THAT(logOfACycle(), ::testing::Not(::testing::HasSubstr("cordoned")));
}

TEST(CustomPriorityTest, aDrainWhoseLastPatchFailsEndsInTheNextCycle) {
  Cluster cluster(kTiers, tierArgs(", mode: DrainNode, autoCordon: true"));
  cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
               R"("cpu": "4", "memory": "8Gi", "pods": "20")",
               R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
  cluster.node("c", R"("t": "cheap")");
  cluster.pod("p", {.node = "s"});
  const auto isCordoned = [&] {
    const auto node = cluster.api().get(api::Node::kType, "s");
    const auto* value = at(*node, "spec", "unschedulable");
    return value && value->is_bool() && value->get_bool();
  };
  const auto isAnnotated = [&] {
    const auto node = cluster.api().get(api::Node::kType, "s");
    return !textAt(*node, "metadata", "annotations", "descheduler.koordinator.sh/drained-by")
                .empty();
  };
  int patches = 0;
  cluster.api().failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (request.resource != "nodes" || request.verb != kube::Verb::Patch || patches++ > 0)
      return std::nullopt;
    return Error{ErrorCode::Unavailable, "the server restarts", {}};
  };
  EXPECT_THAT(cluster.cycle(), ElementsAre("p"));
  EXPECT_TRUE(isCordoned()) << "the drain is not given up";
  EXPECT_TRUE(isAnnotated());
  EXPECT_THAT(cluster.cycle(), IsEmpty());
  EXPECT_TRUE(isCordoned());
  EXPECT_FALSE(isAnnotated());
  EXPECT_EQ(patches, 2);
}

TEST(CustomPriorityTest, aDrainThatHasEndedMeanwhileIsNotUndone) {
  Cluster cluster("");
  const auto put = [&](const char* annotations) {
    cluster.node("s", R"("t": "dear")", R"({"unschedulable": true})",
                 R"("cpu": "4", "memory": "8Gi", "pods": "20")", annotations);
  };
  put(R"("descheduler.koordinator.sh/drained-by": "CustomPriority")");
  cluster.node("c", R"("t": "cheap")");
  cluster.loop().advance(1s);
  cluster.api().mutedResource = "nodes";
  put("");
  const std::size_t before = cluster.api().writes.size();
  cluster.cycle();
  ASSERT_EQ(cluster.api().writes.size(), before + 1) << "it tries to uncordon the node";
  const auto node = cluster.api().get(api::Node::kType, "s");
  const auto* value = at(*node, "spec", "unschedulable");
  EXPECT_TRUE(value && value->is_bool() && value->get_bool());
}

TEST(CustomPriorityTest, givesUpANodeAfterFivePodsThatFitNowhere) {
  Cluster cluster(kTiers, tierArgs(""));
  cluster.node("s", R"("t": "dear")", "{}", R"("cpu": "64", "memory": "8Gi", "pods": "20")");
  cluster.node("c", R"("t": "cheap")");
  const std::string picky = R"("nodeSelector": {"no-node": "has-this"})";
  for (int i = 0; i < 5; ++i) cluster.pod(fmt::format("picky{}", i), {.node = "s", .spec = picky});
  cluster.pod("small", {.node = "s", .requests = R"("cpu": "50m")"});
  cluster.pod("large", {.node = "s", .requests = R"("cpu": "1")"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("small")) << "the smallest first; large comes too late";
}

}  // namespace
}  // namespace koord::descheduler
