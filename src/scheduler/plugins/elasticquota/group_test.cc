// Pods that are placed together, and quotas: testing/small_groups.cc stands for any plugin of groups.

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

// The try itself charges the quota for those that found a node, and gives all of it back.
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

}  // namespace
}  // namespace koord::scheduler
