// Gangs that have been satisfied once: their members do not wait for finished members.

#include "scheduler/plugins/coscheduling/server_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ServerFixture;
using ::testing::SizeIs;
using namespace std::chrono_literals;

struct OnceSatisfied : ::testing::Test {
  ServerFixture f;
  OnceSatisfied() { f.node(aNode("n1").allocatable("cpu", "8")); }
  void ran(const std::string& gang) {
    f.gang(gang, 3);
    f.members(gang, 0, 3);
    f.run();
    EXPECT_THAT(f.placed(), SizeIs(3));
  }
  // A new scheduler without any state.
  void restart(std::shared_ptr<api::PodGroup> group) {
    f.SchedulerFixture::create();
    f.node(aNode("n1").allocatable("cpu", "8"));
    f.groups().set(std::move(group));
    for (const auto& [name, pod] : f.pods)
      if (!api::isTerminal(*pod)) f.scheduler->podAdded(pod);
    f.scheduler->start();
  }
};

TEST_F(OnceSatisfied, a_member_made_anew_starts_when_the_others_have_finished) {
  ran("g");
  f.end("g-0", "Succeeded");
  f.end("g-1", "Succeeded");
  f.remove("g-2");
  f.run();
  f.members("g", 3, 4);
  f.run();
  EXPECT_EQ(f.nodeOf("g-3"), "n1");
}

TEST_F(OnceSatisfied, members_that_failed_are_made_anew_one_by_one) {
  ran("g");
  for (const char* name : {"g-0", "g-1", "g-2"}) f.end(name, "Failed");
  f.run();
  f.members("g", 3, 4);
  f.run();
  EXPECT_EQ(f.nodeOf("g-3"), "n1");
}

TEST_F(OnceSatisfied, a_gang_without_a_minimum_says_nothing_about_the_others_of_its_group) {
  const api::StringMap both{
      {"gang.scheduling.koordinator.sh/groups", R"(["default/g","default/h"])"}};
  f.gang("g", 3, both);
  auto other = f.groupObject("h", 0, both);
  other->status.phase = "Scheduled";
  f.groups().set(other);
  f.members("g", 0, 2);
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty());
  f.members("g", 2, 3);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3));
}

TEST_F(OnceSatisfied, a_gang_whose_minimum_was_0_says_nothing_about_the_others_of_its_group) {
  const api::StringMap both{
      {"gang.scheduling.koordinator.sh/groups", R"(["default/g","default/h"])"}};
  f.gang("g", 3, both);
  auto other = f.groupObject("h", 1, both);
  other->status.phase = "Finished";  // written when it was 0
  f.groups().set(other);
  f.members("g", 0, 3);
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty());
  f.members("h", 0, 1);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(4));
}

TEST_F(OnceSatisfied, it_lasts_as_long_as_the_pod_group) {
  ran("g");
  for (const char* name : {"g-0", "g-1", "g-2"}) f.remove(name);
  f.run();
  f.members("g", 3, 4);
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("g-3"));
  f.remove("g-3");
  f.groups().erase({"default", "g"});
  f.run();
  f.gang("g", 3);
  f.members("g", 4, 6);
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty()) << "another group of that name";
  f.members("g", 6, 7);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3));
}

TEST_F(OnceSatisfied, without_a_pod_group_it_ends_with_the_last_member) {
  for (const char* name : {"a", "b"}) f.create(f.light(name, "g", "2"));
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(2));
  f.end("a", "Succeeded");
  f.run();
  f.create(f.light("c", "g", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("c"), "n1") << "b still runs";
  f.end("b", "Succeeded");
  f.remove("c");
  f.run();
  f.create(f.light("d", "g", "2"));
  f.run(30s);
  EXPECT_EQ(f.nodeOf("d"), "");
  EXPECT_THAT(f.events, Contains(HasSubstr("2 pods are required, 1 exist")));
}

TEST_F(OnceSatisfied, is_known_after_a_restart_by_the_members_that_run) {
  ran("g");
  f.end("g-0", "Succeeded");
  f.remove("g-1");
  f.run();
  restart(f.groupObject("g", 3));
  f.members("g", 3, 4);
  f.run();
  EXPECT_EQ(f.nodeOf("g-3"), "n1");
}

TEST_F(OnceSatisfied, a_member_that_was_listed_before_those_that_run_starts_after_a_restart) {
  ran("g");
  f.end("g-1", "Succeeded");
  f.remove("g-0");
  f.run();
  f.members("g", 0, 1);
  const auto running = f.pods.at("g-2");
  f.pods.erase("g-2");
  restart(f.groupObject("g", 3));
  f.run();
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.scheduler->podAdded(running);
  f.run();
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
}

TEST_F(OnceSatisfied, is_known_after_a_restart_by_the_status_of_the_pod_group) {
  for (const char* phase : {"Scheduled", "Running", "Finished", "Failed"}) {
    auto group = f.groupObject("g", 3);
    group->status.phase = phase;
    group->status.scheduled = 3;
    restart(group);
    f.members("g", 0, 1);
    f.run();
    EXPECT_EQ(f.nodeOf("g-0"), "n1") << phase;
    f.remove("g-0");
    f.run();
  }
  auto group = f.groupObject("g", 3);
  group->status.phase = "Scheduling";
  restart(group);
  f.members("g", 0, 1);
  f.run(30s);
  EXPECT_EQ(f.nodeOf("g-0"), "");
}

TEST_F(OnceSatisfied, a_group_of_gangs_is_when_a_member_of_one_of_them_ran) {
  const std::string both = R"(["default/a","default/b"])";
  for (const char* name : {"a", "b"})
    f.gang(name, 1, {{"gang.scheduling.koordinator.sh/groups", both}});
  f.members("a", 0, 1);
  f.members("b", 0, 1);
  f.run();
  ASSERT_THAT(f.placed(), SizeIs(2));
  f.end("a-0", "Succeeded");
  f.end("b-0", "Failed");
  f.run();
  f.members("b", 1, 2);
  f.run();
  EXPECT_EQ(f.nodeOf("b-1"), "n1");
}

// --- The reasons of waiting members.

TEST_F(OnceSatisfied, a_member_that_is_held_hears_why_and_hears_it_once) {
  f.gang("g", 3);
  f.members("g", 0, 2);
  f.run(60s);
  const std::string text = "spec.minMember: 3 pods are required, 2 exist";
  EXPECT_EQ(std::ranges::count_if(
                f.events, [&](const auto& event) { return event.find(text) != event.npos; }),
            3)
      << "its PodGroup and both members: " << ::testing::PrintToString(f.events);
}

TEST_F(OnceSatisfied, a_member_of_a_complete_gang_hears_which_other_gang_it_waits_for) {
  const std::string both = R"(["default/a","default/b"])";
  f.gang("a", 1, {{"gang.scheduling.koordinator.sh/groups", both}});
  f.members("a", 0, 1);
  f.run(60s);
  EXPECT_THAT(
      f.events,
      Contains(HasSubstr("gang default/b, with which it is bound together, does not exist")));
  f.gang("b", 2, {{"gang.scheduling.koordinator.sh/groups", both}});
  f.members("b", 0, 1);
  f.run(60s);
  EXPECT_THAT(f.events, Contains(HasSubstr("gang default/b, with which it is bound together: "
                                           "spec.minMember: 2 pods are required, 1 exist")));
}

TEST_F(OnceSatisfied, a_member_whose_pod_group_is_deleted_hears_of_it) {
  f.gang("g", 2);
  f.members("g", 0, 1);
  f.run();
  f.groups().erase({"default", "g"});
  f.run(60s);
  EXPECT_THAT(f.events, Contains(HasSubstr("PodGroup default/g was deleted")));
}

}  // namespace
}  // namespace koord::scheduler
