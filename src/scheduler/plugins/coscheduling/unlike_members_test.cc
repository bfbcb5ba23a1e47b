// Gangs whose members ask for different amounts, in a whole scheduler.

#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST(UnlikeMembers, members_that_take_each_others_only_node_get_other_nodes) {
  GangFixture f;
  f.membersOfTwoSizes();
  f.run(1ms);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1", "g-2", "low-1", "low-2"));
  EXPECT_EQ(f.attemptsOf("g-2"), 1u);
  EXPECT_EQ(f.nodeOf("g-0"), f.nodeOf("g-1"));
  EXPECT_THAT(f.conditions, IsEmpty());
  f.expectSound();
}

TEST(UnlikeMembers, members_beyond_the_minimum_make_room_for_those_that_are_needed) {
  GangFixture f;
  f.node(aNode("n1"));
  f.node(aNode("n2").allocatable("cpu", "8"));
  f.gang("g", 2);
  // The first takes the large node, the second the small one, and the third finds none. Any two of
  // them and "g-big" fit, or all but "g-big".
  for (const char* name : {"g-0", "g-1"}) f.create(f.member(name, "g", "3"));
  f.create(f.member("g-big", "g", "8"));
  f.run(1ms);
  EXPECT_GE(f.placed().size(), 2u);
  f.expectSound();
}

TEST(UnlikeMembers, a_gang_that_fits_nowhere_is_refused_for_the_reason_of_the_first_try) {
  GangFixture f;
  for (const char* node : {"n1", "n2", "n3"}) f.node(aNode(node));
  f.gang("g", 3);
  for (const char* name : {"g-0", "g-1"}) f.create(f.member(name, "g", "3"));
  f.create(f.member("g-2", "g", "1").nodeSelector("zone", "none"));
  f.run(1ms);
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.lastCondition("g-2"),
              HasSubstr("3 node(s) didn't match Pod's node affinity/selector"));
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("alreadyWaitForBound: 2"));
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 0u);
  f.expectSound();
}

}  // namespace
}  // namespace koord::scheduler
