// Gangs in full clusters: who leaves for them, and what becomes of the room.

#include "scheduler/plugins/coscheduling/server_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ServerFixture;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

struct FullCluster : ServerFixture {
  using ServerFixture::ServerFixture;
  void gangOf(int count, const char* cpu, int priority) {
    gang("g", count);
    for (int i = 0; i < count; ++i)
      create(member("g-" + std::to_string(i), "g", cpu).priority(priority));
  }
};

TEST(GangPreemption, makes_room_for_one_member_after_the_other_until_all_have_some) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "6"));
  f.budget("none", 0);
  f.create(f.running("lowest", "1", -10));
  f.running("kept", "1", -10, "none");
  f.create(f.running("high", "3", 1000));
  f.create(f.running("low", "1", 100));
  f.run();
  f.gangOf(2, "1", 2000);
  f.run(60s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("lowest", "low"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  f.expectSound();
}

TEST(GangPreemption, breaks_budgets_where_the_gang_cannot_start_otherwise) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.budget("none", 0);
  f.running("large", "2", 100, "none");
  f.running("small", "1", 5, "none");
  f.create(f.running("other", "1", 100));
  f.run();
  f.gangOf(2, "2", 1000);
  f.run(60s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("large", "small", "other"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  f.expectSound();
}

TEST(GangPreemption, a_member_that_had_room_keeps_it_while_room_is_made_for_the_next) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.grace["low"] = 60s;
  f.create(f.running("low", "2", 1));
  f.run();
  f.gangOf(2, "2", 10);
  f.run(5s);
  ASSERT_THAT(f.deletions, ElementsAre("low"));
  f.create(aPod("thief").request("cpu", "2").priority(10));
  f.run(20s);
  EXPECT_EQ(f.nodeOf("thief"), "");
  f.run(60s);
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  EXPECT_EQ(f.nodeOf("thief"), "");
  f.expectSound();
}

TEST(GangPreemption, no_member_leaves_for_another_that_had_no_room_beside_it) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "8"));
  f.create(f.running("filler", "1", -10));
  f.run();
  f.gang("g", 2);
  f.create(f.member("g-large", "g", "8").priority(9));
  f.create(f.member("g-small", "g", "1").priority(1));
  f.create(f.member("g-huge", "g", "100").priority(1));
  f.run(60s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST(GangPreemption, nothing_stays_promised_to_a_gang_whose_room_went_to_a_higher_one) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.grace["low"] = 20s;
  f.create(f.running("low", "2", 1));
  f.run();
  f.gangOf(2, "2", 10);
  f.run(5s);
  ASSERT_THAT(f.deletions, ElementsAre("low"));
  f.create(aPod("higher").request("cpu", "2").priority(20));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("higher"), "n1");
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.create(aPod("lower").request("cpu", "2").priority(0));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("lower"), "n1") << "the gang cannot start: it keeps nobody off";
  f.expectSound();
}

}  // namespace
}  // namespace koord::scheduler
