// The status of PodGroups, the requirements that are read from them, and the checks of gangs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "scheduler/plugins/coscheduling/gang_fixture.h"
#include "scheduler/plugins/coscheduling/pod_group_status.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

api::PodGroup groupOf(int minimum, std::string phase) {
  api::PodGroup group;
  group.metadata.creationTimestamp = WallTime();
  group.spec.minMember = minimum;
  group.status.phase = std::move(phase);
  return group;
}

std::string phaseOf(const api::PodGroup& group, GangPods pods) {
  return podGroupStatus(group, pods, WallTime(5s)).phase;
}

TEST(PodGroupStatus, goes_from_pending_to_finished) {
  EXPECT_EQ(phaseOf(groupOf(2, ""), {}), "Pending");
  EXPECT_EQ(phaseOf(groupOf(2, "Pending"), {.pods = 1}), "Pending");
  EXPECT_EQ(phaseOf(groupOf(2, "Pending"), {.pods = 2}), "PreScheduling");
  EXPECT_EQ(phaseOf(groupOf(0, "Pending"), {.pods = 2}), "Pending");
  EXPECT_EQ(phaseOf(groupOf(2, "PreScheduling"), {.pods = 2, .scheduled = 1}), "Scheduling");
  EXPECT_EQ(phaseOf(groupOf(2, "Scheduling"), {.pods = 2, .scheduled = 2}), "Scheduled");
  EXPECT_EQ(phaseOf(groupOf(2, "Scheduled"), {.pods = 2, .scheduled = 2, .running = 2}), "Running");
  EXPECT_EQ(
      phaseOf(groupOf(2, "Running"), {.pods = 2, .scheduled = 2, .running = 1, .succeeded = 1}),
      "Running");
  EXPECT_EQ(phaseOf(groupOf(2, "Running"), {.pods = 2, .scheduled = 2, .succeeded = 2}),
            "Finished");
  EXPECT_EQ(phaseOf(groupOf(2, "Running"), {}), "Pending");
}

TEST(PodGroupStatus, one_failed_member_fails_a_gang_that_ran) {
  EXPECT_EQ(phaseOf(groupOf(3, "Scheduling"), {.pods = 3, .scheduled = 3, .running = 2}),
            "Scheduled");
  EXPECT_EQ(
      phaseOf(groupOf(3, "Scheduled"), {.pods = 3, .scheduled = 3, .running = 2, .failed = 1}),
      "Failed");
}

TEST(PodGroupStatus, keeps_the_time_at_which_scheduling_began) {
  api::PodGroup group = groupOf(2, "PreScheduling");
  group.status = podGroupStatus(group, {.pods = 2}, WallTime(7s));
  EXPECT_EQ(group.status.scheduleStartTime, WallTime(7s));
  group.status = podGroupStatus(group, {.pods = 2}, WallTime(9s));
  EXPECT_EQ(group.status.scheduleStartTime, WallTime(7s));
}

TEST(PodGroupStatus, of_groups_that_have_ended_is_left_alone) {
  EXPECT_TRUE(isSettled(groupOf(2, "Finished")));
  EXPECT_TRUE(isSettled(groupOf(2, "Failed")));
  api::PodGroup old = groupOf(2, "Scheduled");
  old.status.scheduled = 2;
  old.status.scheduleStartTime = WallTime(49h);
  EXPECT_TRUE(isSettled(old));
  old.status.running = 1;
  EXPECT_FALSE(isSettled(old));
}

// A scheduler whose API keeps PodGroups and finished pods.
struct ControllerTest : ::testing::Test {
  GangFixture f;
  std::vector<std::string> patches;
  std::vector<std::shared_ptr<const api::Pod>> ended;

  ControllerTest() {
    f.api.answer = [this](const kube::Request& request) { return answer(request); };
    f.restart();
    f.node(aNode("n1"));
  }
  Result<std::string> answer(const kube::Request& request) {
    if (request.resource == "podgroups") {
      const auto object = f.groups().get({request.namespace_, request.name});
      if (!object) return fail(ErrorCode::NotFound, "gone");
      patches.push_back(request.body);
      json::value document = api::encodeObject(*object);
      const auto patch = parseJson(request.body);
      for (const auto& member : at(*patch, "status")->as_object()) {
        json::value& status = document.as_object()["status"];
        if (!status.is_object()) status = json::object();
        if (member.value().is_null()) {
          status.as_object().erase(member.key());
        } else {
          status.as_object()[member.key()] = member.value();
        }
      }
      f.loop.post([this, document] {
        f.groups().set(std::make_shared<api::PodGroup>(*api::decode<api::PodGroup>(document)));
      });
      return "{}";
    }
    if (request.verb == kube::Verb::List) {
      json::array items;
      for (const auto& pod : ended) items.push_back(api::encodeObject(*pod));
      return toJson(json::object{{"metadata", json::object{{"resourceVersion", "1"}}},
                                 {"items", std::move(items)}});
    }
    return f.SchedulerFixture::answer(request);
  }
  std::string phase() { return f.groups().get({"default", "g"})->status.phase; }
  void setPhase(const std::string& pod, const std::string& phase) {
    auto after = std::make_shared<api::Pod>(*f.pods.at(pod));
    after->status.phase = phase;
    after->metadata.resourceVersion += "p";
    f.replace(after);
  }
  // As the API shows it: removed from the scheduler's pods, and added to the finished pods.
  void end(const std::string& pod, const std::string& phase) {
    auto after = std::make_shared<api::Pod>(*f.pods.at(pod));
    after->status.phase = phase;
    after->metadata.resourceVersion += "e";
    for (auto& watch : f.api.watches)
      if (watch.request.resource == "pods")
        watch.sink.onEvent(
            toJson(json::object{{"type", "ADDED"}, {"object", api::encodeObject(*after)}}));
    f.remove(pod);
  }
};

TEST_F(ControllerTest, writes_the_status_as_the_gang_goes_on) {
  f.gang("g", 2);
  f.run();
  EXPECT_EQ(phase(), "Pending");
  f.members("g", 0, 2);
  f.run();
  EXPECT_EQ(phase(), "Scheduled");
  for (const char* pod : {"g-0", "g-1"}) setPhase(pod, "Running");
  f.run();
  EXPECT_EQ(phase(), "Running");
  const std::size_t writes = patches.size();
  f.run(5min);
  EXPECT_EQ(patches.size(), writes) << "nothing changed, nothing is written";
  for (const std::string& patch : patches) {
    EXPECT_THAT(patch, ::testing::Not(HasSubstr("spec")));
    EXPECT_THAT(patch, HasSubstr("uid-of-g"));
  }
}

TEST_F(ControllerTest, pods_that_have_ended_count) {
  f.gang("g", 2);
  f.members("g", 0, 2);
  f.run();
  for (const char* pod : {"g-0", "g-1"}) setPhase(pod, "Running");
  f.run();
  end("g-0", "Succeeded");
  f.run();
  EXPECT_EQ(phase(), "Running");
  end("g-1", "Succeeded");
  f.run();
  EXPECT_EQ(phase(), "Finished");
  EXPECT_EQ(f.groups().get({"default", "g"})->status.succeeded, 2);
}

TEST_F(ControllerTest, a_member_that_fails_fails_the_group) {
  f.gang("g", 2);
  f.members("g", 0, 2);
  f.run();
  setPhase("g-1", "Running");
  end("g-0", "Failed");
  f.run();
  EXPECT_EQ(phase(), "Failed");
}

TEST_F(ControllerTest, only_the_leader_writes) {
  f.create();
  f.gang("g", 2);
  patches.clear();
  f.run();
  EXPECT_THAT(patches, IsEmpty());
}

TEST_F(ControllerTest, says_what_is_wrong_with_a_group_once) {
  auto group = f.groupObject("g", -3,
                             {{"gang.scheduling.koordinator.sh/mode", "Loose"},
                              {"gang.scheduling.koordinator.sh/groups", "[1]"}});
  f.groups().set(group);
  f.members("g", 0, 1);
  f.run(1min);
  EXPECT_THAT(f.events, Contains(HasSubstr("spec.minMember: Invalid value: -3")));
  EXPECT_THAT(f.events,
              Contains(HasSubstr("metadata.annotations[gang.scheduling.koordinator.sh/mode]"
                                 ": Invalid value: \"Loose\"")));
  const auto told = std::ranges::count_if(
      f.events, [](const std::string& event) { return event.starts_with("InvalidGang"); });
  EXPECT_EQ(told, 1);
  EXPECT_THAT(f.placed(), SizeIs(1)) << "and nobody is held up";
}

TEST_F(ControllerTest, says_what_an_impossible_minimum_waits_for) {
  f.gang("g", 1'000'000);
  f.members("g", 0, 2);
  f.create(f.light("x", "light", "none"));
  f.create(f.member("y", "nowhere"));
  f.create(aPod("other"));
  f.run(1min);
  EXPECT_THAT(f.events, Contains(HasSubstr("spec.minMember: 1000000 pods are required, 2 exist")));
  EXPECT_THAT(f.events, Contains(HasSubstr("min-available]: Invalid value: \"none\"")));
  EXPECT_THAT(f.events,
              Contains(HasSubstr("PodGroup default/nowhere does not exist; its pods name it in "
                                 "metadata.labels[pod-group.scheduling.sigs.k8s.io]")));
  EXPECT_THAT(f.placed(), ElementsAre("other"));
}

// --- Requirements.

GangSpec specOf(api::StringMap annotations) {
  api::PodGroup group;
  group.metadata.name = "g";
  group.metadata.namespace_ = "ns";
  group.metadata.annotations = std::move(annotations);
  group.spec.minMember = 3;
  return gangSpecOf(group, CoschedulingArgs());
}

TEST(GangSpec, takes_defaults_for_what_cannot_be_read_and_says_so) {
  const GangSpec spec = specOf({{"gang.scheduling.koordinator.sh/total-number", "two"},
                                {"gang.scheduling.koordinator.sh/mode", "strict"},
                                {"gang.scheduling.koordinator.sh/match-policy", "all"},
                                {"gang.scheduling.koordinator.sh/groups", "{"}});
  EXPECT_EQ(spec.total, 3);
  EXPECT_EQ(spec.mode, GangMode::Strict);
  EXPECT_EQ(spec.policy, MatchPolicy::OnceSatisfied);
  EXPECT_THAT(spec.group, ElementsAre("ns/g"));
  EXPECT_THAT(spec.problems, SizeIs(4));
  EXPECT_EQ(spec.waitTime, 600s);
}

TEST(GangSpec, the_other_key_of_the_match_policy_counts_when_the_first_is_not_there) {
  EXPECT_EQ(specOf({{"pod-group.scheduling.sigs.k8s.io/match-policy", "only-waiting"}}).policy,
            MatchPolicy::OnlyWaiting);
  EXPECT_EQ(specOf({{"pod-group.scheduling.sigs.k8s.io/match-policy", "only-waiting"},
                    {"gang.scheduling.koordinator.sh/match-policy", "waiting-and-running"}})
                .policy,
            MatchPolicy::WaitingAndRunning);
}

TEST(GangSpec, groups_are_sorted_once_each_and_hold_the_gang_itself) {
  const GangSpec spec =
      specOf({{"gang.scheduling.koordinator.sh/groups", R"(["x/b", "ns/a", "x/b"])"}});
  EXPECT_EQ(spec.groupId(), "ns/a,ns/g,x/b");
  EXPECT_THAT(spec.problems, SizeIs(1));
}

TEST(GangSpec, a_list_of_gangs_has_its_limit) {
  std::string list = "[\"ns/g\"";
  for (int n = 0; n < 300; ++n) list += ",\"ns/other-" + std::to_string(n) + "\"";
  const GangSpec spec = specOf({{"gang.scheduling.koordinator.sh/groups", list + "]"}});
  EXPECT_THAT(spec.group, ElementsAre("ns/g"));
  ASSERT_THAT(spec.problems, SizeIs(1));
  EXPECT_THAT(spec.problems[0], HasSubstr("names 301 gangs, more than 256"));
  EXPECT_LT(spec.problems[0].size(), 300u);
}

TEST(GangSpec, numbers_are_those_that_go_reads) {
  const auto minimum = [](const char* text) {
    testing::PodBuilder pod("p");
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/name"] = "g";
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] = text;
    const auto spec = gangSpecOf(*pod.build(), CoschedulingArgs());
    return spec ? spec->minimum : -99;
  };
  EXPECT_EQ(minimum("3"), 3);
  EXPECT_EQ(minimum("+3"), 3);
  EXPECT_EQ(minimum("-3"), -3);
  for (const char* wrong : {"", " 3", "3 ", "3.0", "0x3", "+-3", "2147483648", "\xff"})
    EXPECT_EQ(minimum(wrong), -99) << wrong;
}

TEST(GangSpec, waiting_times_are_durations_above_zero) {
  const auto wait = [](const char* text) {
    testing::PodBuilder pod("p");
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/name"] = "g";
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] = "1";
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/waiting-time"] = text;
    return gangSpecOf(*pod.build(), CoschedulingArgs())->waitTime;
  };
  EXPECT_EQ(wait("90s"), 90s);
  EXPECT_EQ(wait("1h"), 1h);
  for (const char* wrong : {"0s", "-1s", "soon", "90"}) EXPECT_EQ(wait(wrong), 600s) << wrong;
}

// --- Free resources.

TEST(Room, needs_no_more_than_the_smallest_members_take) {
  testing::World world;
  CapacityDemand demand;
  for (const char* cpu : {"4", "1", "3", "2"})
    demand.candidates.push_back(
        world.pod(aPod(std::string("p") + cpu).request("cpu", cpu).request("memory", "1Gi")));
  demand.candidates.push_back(world.pod(aPod("free")));
  demand.count = 3;
  const CapacityDemand demands[] = {demand};
  const CapacityNeed need = needOf(demands);
  EXPECT_EQ(need.amount.amount(kCpu), 3000) << "0 + 1 + 2";
  EXPECT_EQ(need.amount.amount(kMemory), std::int64_t{2} << 30) << "by itself: one asks for none";
  EXPECT_EQ(need.pods, 3);
}

TEST(Room, counts_what_may_be_preempted_and_what_reservations_hold) {
  testing::World world;
  world.node(aNode("n1"));
  world.bound(aPod("low").request("cpu", "3").priority(1).nodeName("n1"));
  CapacityNeed need;
  need.amount.set(kCpu, 2000);
  CapacitySums sums(world.cluster());
  EXPECT_TRUE(sums.shortageOf(need, {}));
  EXPECT_TRUE(sums.shortageOf(need, {false, 1}));
  EXPECT_FALSE(sums.shortageOf(need, {false, 2}));
  EXPECT_FALSE(sums.shortageOf(need, {true, {}}));
  need.amount.set(kCpu, 5000);
  EXPECT_TRUE(sums.shortageOf(need, {true, 2})) << "more than there is";
}

// --- Drift.

TEST(GangCheck, what_is_kept_is_held_beside_the_pods_and_mended) {
  struct Drifts final : Observer {
    std::vector<std::string> ledgers;
    void drifted(std::string_view ledger) override { ledgers.emplace_back(ledger); }
  } drifts;
  GangFixture f;
  f.observer = &drifts;
  f.restart();
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(drifts.ledgers, IsEmpty());
  auto& handle = *f.scheduler->profiles().begin()->second;
  auto& gangs = gangsOf(handle, {});
  auto& gang = const_cast<Gang&>(*gangs.find("default/g"));
  gang.bound = 7;
  gang.members.erase(gang.members.begin());
  f.run(10s);
  EXPECT_THAT(drifts.ledgers, Contains("gangs"));
  EXPECT_EQ(gangs.find("default/g")->bound, 2u);
  EXPECT_EQ(gangs.find("default/g")->members.size(), 2u);
}

}  // namespace
}  // namespace koord::scheduler
