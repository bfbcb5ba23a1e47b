#include "descheduler/plugins/cluster_test.h"

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kLoad = "balance: {enabled: [{name: LowNodeLoad}]}";
std::string loadArgs(const std::string& more = "") {
  return "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 30}, highThresholds: {cpu: 50}, "
         "nodeMetricExpirationSeconds: 3600, anomalyCondition: {timeout: 5m, "
         "consecutiveAbnormalities: 2, consecutiveNormalities: 1}" +
         more + "}}]";
}

TEST(LowNodeLoadTest, aNodeThatIsHotForAWhileGivesThePodThatJustCuresIt) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  cluster.pod("tiny");
  cluster.pod("right");
  cluster.pod("large");
  cluster.usage("a",
                {{"tiny", 200}, {"right", 900}, {"large", 1600}});  // 2800 of 4000, 2000 is high
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(), IsEmpty()) << "once is a moment";
  EXPECT_THAT(cluster.cycle(), ElementsAre("right"));
}

TEST(LowNodeLoadTest, anOldReportDoesNotMakeItGiveMore) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  for (const char* name : {"one", "two", "three"}) cluster.pod(name);
  cluster.usage("a", {{"one", 900}, {"two", 900}, {"three", 900}});
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(8), SizeIs(1));
}

TEST(LowNodeLoadTest, whatIsLeftOutWasNotNeeded) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b", "", "{}", R"("cpu": "8", "memory": "8Gi", "pods": "20")");
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  cluster.pod("small", {.labels = batch});
  cluster.pod("prod");
  cluster.usage("a", {{"small", 300}, {"prod", 2600}});  // 3000: an excess of 1000
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(2), ElementsAre("prod"));
}

TEST(LowNodeLoadTest, noTargetBecomesHot) {
  Cluster cluster(kLoad, loadArgs());
  cluster.node("a");
  cluster.node("b");
  cluster.pod("huge");
  cluster.usage("a", {{"huge", 3500}});
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(4), IsEmpty()) << "it would be hot there, too";
}

TEST(LowNodeLoadTest, aPlaceIsBetterOnlyWhereTheLoadIsLessWithThePodThanItIsHereWithIt) {
  Cluster cluster(kLoad, loadArgs(), "", "Judge");
  for (const char* name : {"a", "free", "busy", "nearly", "unknown"}) cluster.node(name);
  cluster.pod("mover");
  cluster.usage("a", {{"mover", 900}}, 1500);  // 2400 of 4000, 2000 is high
  cluster.usage("free", {});
  cluster.usage("busy", {}, 1900);
  cluster.usage("nearly", {}, 1200);  // over with the mover
  for (const char* name : {"free", "busy", "nearly", "unknown", "nobody"}) cluster.judged[name];
  EXPECT_THAT(cluster.cycle(2), IsEmpty());
  EXPECT_EQ(cluster.judged["free"], "");
  EXPECT_THAT(cluster.judged["busy"],
              HasSubstr("the pod would overload node busy: node cpu usage(70.00%)"));
  EXPECT_THAT(cluster.judged["nearly"], HasSubstr(": node cpu usage(52.50%)"));
  EXPECT_EQ(cluster.judged["unknown"] + cluster.judged["nobody"], "");
}

TEST(LowNodeLoadTest, nodesAreHeldAgainstTheThresholdsOfTheirPool) {
  Cluster cluster(kLoad,
                  loadArgs(", nodeSelector: {matchLabels: {p: one}}, nodePools: [{name: two, "
                           "nodeSelector: {matchLabels: {p: two}}, lowThresholds: {cpu: 10}, "
                           "highThresholds: {cpu: 20}}]"));
  for (const char* name : {"a", "free1"}) cluster.node(name, R"("p": "one")");
  for (const char* name : {"b", "free2"}) cluster.node(name, R"("p": "two")");
  cluster.node("nobodys");
  cluster.pod("warm", {.node = "a"});
  cluster.pod("hot", {.node = "b"});
  cluster.pod("left", {.node = "nobodys"});
  cluster.usage("a", {{"warm", 1100}});        // 30 % of 4000: fine in the first pool
  cluster.usage("b", {{"hot", 700}}, 300);     // 25 %: over in the second
  cluster.usage("nobodys", {{"left", 3900}});  // in no pool
  cluster.usage("free1", {});
  cluster.usage("free2", {}, 50);
  EXPECT_THAT(cluster.cycle(2), ElementsAre("hot"));
}

TEST(LowNodeLoadTest, leavesAloneWhatItsArgumentsSay) {
  const auto evicted = [](const std::string& more, int age = 0) {
    Cluster cluster(kLoad, loadArgs(more));
    cluster.node("a");
    cluster.node("b");
    cluster.pod("web", {.labels = R"("app": "web")"});
    cluster.usage("a", {{"web", 900}}, 1500);
    cluster.usage("b", {});
    cluster.loop().advance(std::chrono::seconds(age));
    return cluster.cycle(2);
  };
  EXPECT_THAT(evicted(""), ElementsAre("web"));
  EXPECT_THAT(evicted(", paused: true"), IsEmpty());
  EXPECT_THAT(evicted(", dryRun: true"), IsEmpty());
  EXPECT_THAT(evicted(", numberOfNodes: 1"), IsEmpty());
  EXPECT_THAT(evicted(", evictableNamespaces: {exclude: [default]}"), IsEmpty());
  EXPECT_THAT(evicted(", evictableNamespaces: {include: [default]}"), ElementsAre("web"));
  EXPECT_THAT(evicted(", podSelectors: [{name: db, selector: {matchLabels: {app: db}}}]"),
              IsEmpty());
  EXPECT_THAT(
      evicted(", podSelectors: [{name: db, selector: {matchLabels: {app: db}}}, {name: web, "
              "selector: {matchLabels: {app: web}}}]"),
      ElementsAre("web"));
  EXPECT_THAT(evicted("", 3590), IsEmpty()) << "the report is an hour old";
}

TEST(LowNodeLoadTest, oneNodeThatIsOverByAllAndOneByProdAreBothRelievedInOneCycle) {
  Cluster cluster(kLoad,
                  "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 30}, highThresholds: {cpu: 70},"
                  " prodLowThresholds: {cpu: 20}, prodHighThresholds: {cpu: 40}, anomalyCondition: "
                  "{consecutiveAbnormalities: 1}}}]",
                  "", "Mover");
  cluster.mover.landing = "c";
  for (const char* name : {"a", "b", "c"}) cluster.node(name);
  const std::string prod = R"("koordinator.sh/priority-class": "koord-prod")";
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  cluster.pod("large", {.labels = batch});
  cluster.pod("web1", {.node = "b", .labels = prod});
  cluster.pod("web2", {.node = "b", .labels = prod});
  cluster.usage("a", {{"large", 900}}, 2000);               // 73 % of 4000
  cluster.usage("b", {{"web1", 600}, {"web2", 1200}}, 50);  // 46 %, 45 % of it by prod
  cluster.usage("c", {}, 1100);                             // 28 %; with large it has more than b
  cluster.cycle();
  EXPECT_THAT(cluster.mover.moved, ElementsAre("large", "web1"));
  EXPECT_THAT(cluster.mover.refused, IsEmpty());
}

TEST(LowNodeLoadTest, aProdThresholdAboveThatOfAllPodsIsToldAndTaken) {
  Cluster cluster(kLoad, loadArgs(", prodLowThresholds: {cpu: 20}, prodHighThresholds: {cpu: 60}"));
  EXPECT_THAT(cluster.errors, IsEmpty());
  EXPECT_THAT(cluster.notes(),
              ElementsAre(HasSubstr("profiles[0].pluginConfig[0].args.prodHighThresholds[cpu]: has "
                                    "no effect: a node exceeds the lower highThresholds")));
}

TEST(LowNodeLoadTest, takesTheLeastImportantOfThoseThatCureTheNode) {
  // The worked example of the rule: an excess of 2500m; C does not relieve the node alone, B does;
  // prod pods stay.
  Cluster cluster(kLoad,
                  "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 45}, highThresholds: "
                  "{cpu: 75}, nodeFit: false, anomalyCondition: "
                  "{consecutiveAbnormalities: 1}}}]");
  const std::string large = R"("cpu": "16", "memory": "8Gi", "pods": "20")";
  cluster.node("a", "", "{}", large);
  cluster.node("b", "", "{}", large);
  const std::string batch = R"("koordinator.sh/priority-class": "koord-batch")";
  const std::string prod = R"("koordinator.sh/priority-class": "koord-prod")";
  cluster.pod("pa", {.labels = prod});
  cluster.pod("pb", {.labels = batch});
  cluster.pod("pc", {.labels = batch});
  cluster.pod("pd", {.labels = prod});
  cluster.usage("a", {{"pa", 6000}, {"pb", 3000}, {"pc", 2000}, {"pd", 2500}}, 1000);
  cluster.usage("b", {});
  EXPECT_THAT(cluster.cycle(), ElementsAre("pb"));
}

}  // namespace
}  // namespace koord::descheduler
