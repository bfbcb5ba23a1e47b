// Resources that are reserved for pods, and the charges of their owners: testing/small_holds.cc
// stands for any plugin that covers a part of its owners' requests.

#include "scheduler/plugins/elasticquota/quota_fixture.h"
#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aQuota;
using ::testing::HasSubstr;
using testing::Holds;
using testing::PodBuilder;
using testing::QuotaFixture;
using namespace std::chrono_literals;

struct WithHolds : QuotaFixture {
  Handle* handle = nullptr;
  WithHolds() {
    registry[std::string(Holds::kName)] = [this](Fields&,
                                                 Handle& given) -> std::unique_ptr<Plugin> {
      handle = &given;
      return std::make_unique<Holds>(given);
    };
    auto& enabled = configuration_.profiles.front().plugins["multiPoint"].enabled;
    enabled.insert(enabled.begin(), {std::string(Holds::kName), 0});
    create();
    scheduler->start();
    node(aNode("n1").label("kubernetes.io/hostname", "n1"));
    set(aQuota("q").max("cpu", "4"));
    run(100ms);
  }
  void hold(const char* name, const char* cpu) {
    PodBuilder unit = of(name, "q", cpu).priority(5);
    unit.object().metadata.annotations[Holds::kFor] = "blue";
    handle->units().added(unit.build(), Holds::kindOf(*handle));
    run();
  }
  void owner(const char* name, const char* cpu) {
    create(of(name, "q", cpu).label(Holds::kTeam, "blue"));
    run();
  }
};

TEST(ElasticQuotaReservations, are_charged_and_owners_for_what_is_beyond) {
  WithHolds f;
  f.hold("h", "3");
  EXPECT_EQ(f.amount("q", "used"), "3");
  EXPECT_EQ(f.amount("q", "request"), "3");
  f.owner("o1", "2");
  EXPECT_EQ(f.nodeOf("o1"), "n1");
  EXPECT_EQ(f.amount("q", "used"), "3") << "all of it is within the hold";
  EXPECT_EQ(f.amount("q", "request"), "3");
  f.owner("o2", "2");
  EXPECT_EQ(f.nodeOf("o2"), "n1");
  EXPECT_EQ(f.amount("q", "used"), "4") << "half of it is beyond";
  f.expectSound();
  f.remove("o1");
  f.remove("o2");
  f.run();
  EXPECT_EQ(f.amount("q", "used"), "3");
  f.expectSound();
}

TEST(ElasticQuotaReservations, let_owners_in_when_the_quota_is_full_and_nobody_else) {
  WithHolds f;
  f.hold("h", "4");
  f.node(aNode("n2"));
  f.create(f.of("stranger", "q", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("stranger"), "");
  EXPECT_THAT(f.lastCondition("stranger"), HasSubstr("Insufficient quotas"));
  f.owner("o", "3");
  EXPECT_EQ(f.nodeOf("o"), "n1") << "where the hold is";
  f.owner("large", "2");
  EXPECT_EQ(f.nodeOf("large"), "") << "1 of it would be beyond";
  f.expectSound();
}

TEST(ElasticQuotaReservations, nobody_leaves_for_an_owner_whose_quota_stays_full) {
  WithHolds f;
  f.set(aQuota("others").max("cpu", "10"));
  f.hold("h", "1");
  f.node(aNode("n2"));
  f.create(f.of("neighbour", "others", "3").nodeSelector("kubernetes.io/hostname", "n1"));
  f.create(f.of("mine", "q", "3").priority(100));
  f.run();
  ASSERT_EQ(f.nodeOf("neighbour"), "n1");
  ASSERT_EQ(f.nodeOf("mine"), "n2");
  f.create(f.of("o", "q", "2").label(Holds::kTeam, "blue").priority(50));
  f.run();
  EXPECT_EQ(f.nodeOf("o"), "");
  EXPECT_EQ(f.nodeOf("neighbour"), "n1") << "with its room on n1 the quota would still be full";
}

TEST(ElasticQuotaReservations, pods_of_the_quota_leave_for_an_owner_where_nothing_is_held_for_it) {
  WithHolds f;
  f.hold("h", "2");
  f.node(aNode("n2").label("kubernetes.io/hostname", "n2"));
  f.create(f.of("low", "q", "2").nodeSelector("kubernetes.io/hostname", "n2"));
  f.run();
  ASSERT_EQ(f.nodeOf("low"), "n2");
  // On n1 the quota would suffice, but the pod may not run there.
  f.create(f.of("o", "q", "2")
               .label(Holds::kTeam, "blue")
               .nodeSelector("kubernetes.io/hostname", "n2")
               .priority(50));
  f.run(30s);
  EXPECT_EQ(f.nodeOf("o"), "n2");
  f.expectSound();
}

}  // namespace
}  // namespace koord::scheduler
