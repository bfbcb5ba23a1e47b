// Gangs of mode NonStrict: members keep the places that they got while the gang waits for more.

#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

struct NonStrictTest : ::testing::Test {
  GangFixture f;
  void gang(const std::string& name, int minimum, int timeout = 0) {
    auto group =
        f.groupObject(name, minimum, {{"gang.scheduling.koordinator.sh/mode", "NonStrict"}});
    if (timeout > 0) group->spec.scheduleTimeoutSeconds = timeout;
    f.groups().set(group);
  }
};

TEST_F(NonStrictTest, keeps_places_until_it_has_enough) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "1"));
  gang("g", 3);
  f.members("g", 0, 3, "1500m");
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 2u);
  f.create(aPod("thief").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("thief"), "") << "the places are taken";
  f.node(aNode("n2").allocatable("cpu", "1500m"));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1", "g-2"));
  EXPECT_EQ(f.annotationOf("g-0", "internal.scheduling.koordinator.sh/bind-gang-member-count"),
            "3");
  f.expectSound();
}

TEST_F(NonStrictTest, gives_them_back_when_its_time_is_over) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "1"));
  gang("g", 3, 60);
  f.members("g", 0, 3, "1500m");
  f.create(aPod("patient").request("cpu", "2"));
  f.run(50s);
  EXPECT_EQ(f.nodeOf("patient"), "");
  f.run(60s);
  EXPECT_EQ(f.nodeOf("patient"), "n1") << ::testing::PrintToString(f.events);
  f.expectSound();
}

TEST_F(NonStrictTest, two_of_them_do_not_starve_each_other) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "500m"));
  gang("a", 4);
  gang("b", 4);
  for (int i = 0; i < 4; ++i) {
    f.members("a", i, i + 1);
    f.members("b", i, i + 1);
  }
  f.run(60s);
  EXPECT_THAT(f.placed(), SizeIs(4));
}

TEST_F(NonStrictTest, gives_way_to_one_of_higher_priority) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "1"));
  gang("low", 3);
  gang("high", 2);
  f.members("low", 0, 3, "1500m");
  f.run();
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 2u);
  for (int i = 0; i < 2; ++i)
    f.create(f.member("high-" + std::to_string(i), "high", "1500m").priority(10));
  f.run(60s);
  EXPECT_THAT(f.placed(), ElementsAre("high-0", "high-1"));
  f.expectSound();
}

TEST_F(NonStrictTest, its_group_that_goes_ends_the_wait) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "1"));
  gang("g", 3);
  f.members("g", 0, 3, "1500m");
  f.run();
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 2u);
  f.groups().erase({"default", "g"});
  f.run();
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
}

TEST_F(NonStrictTest, less_to_wait_for_ends_the_wait_too) {
  f.node(aNode("n1"));
  f.node(aNode("small").allocatable("cpu", "1"));
  gang("g", 3);
  f.members("g", 0, 3, "1500m");
  f.run();
  gang("g", 2);
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
}

}  // namespace
}  // namespace koord::scheduler
