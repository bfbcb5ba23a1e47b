// Pods that other schedulers have nominated (gate CrossSchedulerNomination).

#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using namespace std::chrono_literals;

struct Foreign : testing::SchedulerFixture {
  explicit Foreign(bool enabled = true) {
    gates.emplace();
    if (enabled) gates->insert("CrossSchedulerNomination");
    create();
    scheduler->start();
    node(aNode("n1").allocatable("cpu", "8"));
    create(aPod("running").nodeName("n1").request("cpu", "4").priority(1000));
    create(theirs());
    run(1s);
  }
  using SchedulerFixture::create;
  static PodBuilder theirs() {
    return aPod("theirs").scheduler("another").nominated("n1").request("cpu", "3").priority(10);
  }
  bool fits(int priority) {
    create(aPod("p").request("cpu", "2").priority(priority));
    run(2s);
    return nodeOf("p") == "n1";
  }
};

TEST(ForeignNominations, pods_of_lower_priority_leave_room) {
  EXPECT_FALSE(Foreign().fits(5));
}

TEST(ForeignNominations, pods_of_the_same_or_higher_priority_do_not) {
  EXPECT_TRUE(Foreign().fits(10));
  EXPECT_TRUE(Foreign().fits(20));
}

TEST(ForeignNominations, without_the_gate_nobody_does) {
  EXPECT_TRUE(Foreign(false).fits(5));
}

TEST(ForeignNominations, room_is_there_again_when_the_pod_goes) {
  Foreign f;
  EXPECT_FALSE(f.fits(5));
  f.remove("theirs");
  f.run(30s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

TEST(ForeignNominations, room_is_there_again_when_the_promise_is_taken_back) {
  Foreign f;
  EXPECT_FALSE(f.fits(5));
  f.replace(Foreign::theirs().nominated("").version("2").build());
  f.run(30s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

TEST(ForeignNominations, a_pod_that_has_its_node_counts_there_and_once) {
  Foreign f;
  f.replace(Foreign::theirs().nodeName("n1").version("2").build());
  f.run(1s);
  f.create(aPod("one").request("cpu", "1").priority(1000));
  f.run(30s);
  EXPECT_EQ(f.nodeOf("one"), "n1");
  EXPECT_FALSE(f.fits(5));
}

}  // namespace
}  // namespace koord::scheduler
