// Groups of pods that are placed together, and quotas: testing/small_groups.cc stands for any
// plugin of groups.

#include "scheduler/plugins/elasticquota/quota_fixture.h"
#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aQuota;
using testing::PodBuilder;
using testing::QuotaFixture;
using testing::Together;
using namespace std::chrono_literals;

struct WithGroups : QuotaFixture {
  WithGroups() {
    registry[std::string(Together::kName)] = [](Fields&, Handle& given) -> std::unique_ptr<Plugin> {
      return std::make_unique<Together>(given);
    };
    configuration_.profiles.front().plugins["multiPoint"].enabled.push_back(
        {std::string(Together::kName), 0});
    create();
    scheduler->start();
    node(aNode("n1").allocatable("cpu", "16"));
    run(100ms);
  }
  void member(const std::string& name, const char* group, const char* quota) {
    PodBuilder pod = of(name, quota, "1");
    pod.object().metadata.annotations[Together::kGroup] = group;
    create(pod);
  }
  int attemptsOf(const std::string& pod) {
    const auto* log = scheduler->decisions().of("default/" + pod);
    return log && !log->empty() ? log->back().attempt : 0;
  }
};

// The attempt itself charges the quota for the members that found a node, and reverts all charges.
TEST(ElasticQuotaGroups, that_are_refused_are_not_woken_by_what_they_gave_back) {
  WithGroups f;
  f.set(aQuota("q").max("cpu", "2"));
  f.set(aQuota("other").max("cpu", "1"));
  f.run(1s);
  for (const char* name : {"a", "b", "c"}) f.member(name, "g/3", "q");
  f.create(f.of("large", "other", "2"));
  f.run(20s);
  EXPECT_EQ(f.placed(""), 0);
  const auto attempts = [&] {
    return f.attemptsOf("a") + f.attemptsOf("b") + f.attemptsOf("c") + f.attemptsOf("large");
  };
  const int tried = attempts();
  f.run(60s);
  EXPECT_EQ(attempts(), tried) << "nothing has changed";
  f.set(aQuota("q").max("cpu", "3"));
  f.run(20s);
  EXPECT_EQ(f.placed(""), 3);
  f.expectSound();
}

// Gangs, and the limits of their members together.
struct WithGangs : QuotaFixture {
  explicit WithGangs(const std::string& args = "{}") : QuotaFixture(args) {
    configuration_.profiles.front().plugins["multiPoint"].enabled.push_back({"Coscheduling", 0});
    create();
    scheduler->start();
    node(aNode("n1").allocatable("cpu", "16"));
    run(100ms);
  }
  void member(const std::string& name, const char* gang, const char* minimum, const char* quota) {
    PodBuilder pod = of(name, quota, "2");
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/name"] = gang;
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] = minimum;
    create(pod);
  }
  std::string saidOf(const std::string& pod) {
    const auto* log = scheduler->decisions().of("default/" + pod);
    return log && !log->empty() ? log->back().message : "";
  }
  // The reason in explain why the gang waits.
  std::string explained(const std::string& pod) {
    const PodPtr info = scheduler->pending({"default", pod});
    std::string text;
    for (const auto* facts :
         scheduler->profiles().begin()->second->profile().offers<const PodFactsPlugin>())
      text += toJson(facts->factsOf(*info));
    return text;
  }
};

TEST(ElasticQuotaGangs, that_need_more_than_their_quota_may_ever_have_are_not_searched_for) {
  WithGangs f;
  f.set(aQuota("q").max("cpu", "5"));
  f.run(1s);
  for (const char* name : {"a", "b", "c"}) f.member(name, "g", "3", "q");
  f.run(20s);
  const std::string text =
      "Insufficient quotas, its members need at least 6 cpu, and the max of quota \"q\" is 5";
  EXPECT_THAT(f.saidOf("a"), ::testing::HasSubstr(text));
  EXPECT_THAT(f.explained("b"), ::testing::HasSubstr("the max of quota"));
  EXPECT_EQ(f.scheduler->decisions().of("default/a")->back().evaluatedNodes, 0U);
  const auto attempts = [&f] {
    std::size_t sum = 0;
    for (const char* name : {"a", "b", "c"})
      if (const auto* log = f.scheduler->decisions().of(std::string("default/") + name))
        for (const auto& decision : *log) sum = std::max<std::size_t>(sum, decision.attempt);
    return sum;
  };
  const std::size_t tried = attempts();
  f.create(f.of("single", "q", "1"));
  f.run(10s);
  EXPECT_EQ(f.nodeOf("single"), "n1");
  f.remove("single");
  f.set(aQuota("other").max("cpu", "5"));
  f.run(1min);
  EXPECT_EQ(attempts(), tried) << "neither room nor another quota helps";
  f.set(aQuota("q").max("cpu", "6"));
  f.run(20s);
  EXPECT_EQ(f.placed(""), 3);
  f.expectSound();
}

TEST(ElasticQuotaGangs, are_held_to_the_quotas_above_theirs_where_pods_are) {
  for (const bool held : {true, false}) {
    WithGangs f(held ? "{enableCheckParentQuota: true}" : "{}");
    f.set(aQuota("p").max("cpu", "5").label(model::kLabelQuotaIsParent, "true"));
    f.set(aQuota("left").max("cpu", "10").below("p"));
    f.set(aQuota("right").max("cpu", "10").below("p"));
    f.run(1s);
    f.member("a", "g", "3", "left");
    f.member("b", "g", "3", "right");
    f.member("c", "g", "3", "right");
    f.run(20s);
    EXPECT_EQ(f.placed(""), 0) << held;
    const auto text = ::testing::HasSubstr(
        "its members need at least 6 cpu, and the max of quota \"p\", 1 level above theirs, is 5");
    if (held) {
      EXPECT_THAT(f.saidOf("a"), text);
    } else {
      EXPECT_THAT(f.saidOf("a"), ::testing::Not(text));
    }
  }
}

TEST(ElasticQuotaGangs, whose_members_of_other_quotas_are_enough_are_placed) {
  WithGangs f;
  f.set(aQuota("q").max("cpu", "2"));
  f.set(aQuota("r").max("cpu", "2"));
  f.run(1s);
  f.member("a", "g", "2", "q");
  f.member("b", "g", "2", "q");
  f.member("c", "g", "2", "r");
  f.run(20s);
  EXPECT_EQ(f.placed(""), 2);
  EXPECT_EQ(f.nodeOf("c"), "n1");
  f.expectSound();
}

}  // namespace
}  // namespace koord::scheduler
