// Gangs in a whole scheduler: which members wait, their messages and their status.

#include "scheduler/plugins/coscheduling/plugin.h"

#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodBuilder;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const std::string kGroupId = "internal.scheduling.koordinator.sh/bind-gang-group-id";
const std::string kCount = "internal.scheduling.koordinator.sh/bind-gang-member-count";
const std::string kMode = "gang.scheduling.koordinator.sh/mode";
const std::string kPolicy = "gang.scheduling.koordinator.sh/match-policy";
const std::string kGroups = "gang.scheduling.koordinator.sh/groups";

TEST(Coscheduling, members_wait_until_there_are_enough_of_them) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_EQ(f.scheduler->queue().counts().gated, 2u);
  f.members("g", 2, 3);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3));
  f.expectSound();
}

TEST(Coscheduling, all_of_the_minimum_get_a_node_or_nobody) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 3, "1500m");
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 0u);
  f.create(aPod("other").request("cpu", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("other"), "n1") << "nothing waits while it holds space";
  f.remove("other");
  f.node(aNode("n2"));
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(3));
  f.expectSound();
}

TEST(Coscheduling, the_others_are_told_which_member_did_not_fit_and_why) {
  GangFixture f;
  f.node(aNode("n1"));
  f.node(aNode("n2"));
  f.gang("g", 3);
  f.members("g", 0, 3, "3");  // 9 of 8 cpu is seen without a search
  f.run();
  EXPECT_THAT(
      f.lastCondition("g-0"),
      HasSubstr("GangGroup \"default/g\" gets rejected due to member Pod \"default/g-0\" is "
                "unschedulable with reason \"0/2 nodes are available: 2 Insufficient cpu.\", "
                "alreadyWaitForBound: 0; it cannot be placed: its members need at least 9 cpu, "
                "and all nodes together have 8 in all"));
  f.node(aNode("n3").allocatable("cpu", "2"));
  f.run(20s);
  EXPECT_THAT(f.lastCondition("g-0"),
              HasSubstr("0/3 nodes are available: GangGroup \"default/g\" gets rejected due to "
                        "member Pod \"default/g-2\" is unschedulable with reason \"0/3 nodes are "
                        "available: 3 Insufficient cpu"));
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("alreadyWaitForBound: 2"));
  EXPECT_THAT(f.lastCondition("g-2"), HasSubstr("0/3 nodes are available: 3 Insufficient cpu"));
}

TEST(Coscheduling, pods_released_together_carry_their_group_and_number) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 3);
  f.create(aPod("alone").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.annotationOf("g-1", kGroupId), "default/g");
  EXPECT_EQ(f.annotationOf("g-1", kCount), "3");
  EXPECT_EQ(f.annotationOf("g-1", "scheduling.koordinator.sh/bind-gang-member-count"), "3");
  EXPECT_EQ(f.annotationOf("alone", kCount), "-");
  std::size_t writes = 0;
  for (const auto& call : f.api.calls)
    writes += call.name == "g-1" && call.verb != kube::Verb::Get && call.resource == "pods";
  EXPECT_EQ(writes, 1u) << "the binding carries it";
}

TEST(Coscheduling, a_member_that_comes_later_is_placed_by_itself) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 3);
  f.run();
  f.members("g", 3, 4);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(4));
  EXPECT_EQ(f.annotationOf("g-3", kCount), "-");
}

TEST(Coscheduling, annotations_of_an_earlier_binding_are_taken_off_a_member_that_comes_alone) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 1);
  PodBuilder pod = f.member("g-0", "g");
  pod.object().metadata.annotations[kCount] = "7";
  f.create(pod);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(1));
  EXPECT_TRUE(std::ranges::any_of(f.api.calls, [](const kube::Request& call) {
    return call.name == "g-0" && call.body.find(
                                     "\"internal.scheduling.koordinator.sh/"
                                     "bind-gang-member-count\":null") != std::string::npos;
  }));
}

TEST(Coscheduling, the_lightweight_protocol_needs_no_object) {
  GangFixture f;
  f.node(aNode("n1"));
  f.create(f.light("a", "g", "2"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(f.light("b", "g", "2"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, deprecated_labels_name_and_size_a_gang_too) {
  GangFixture f;
  f.node(aNode("n1"));
  const auto pod = [](const char* name) {
    return aPod(name)
        .label("pod-group.scheduling.sigs.k8s.io/name", "g")
        .label("pod-group.scheduling.sigs.k8s.io/min-available", "2");
  };
  f.create(pod("a"));
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(pod("b"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, a_minimum_that_cannot_be_read_holds_its_pods_and_nobody_else) {
  GangFixture f;
  f.node(aNode("n1"));
  f.create(f.light("a", "g", "many"));
  f.create(aPod("other"));
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("other"));
  f.create(f.light("b", "g", "2"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(3)) << "the member that says it well is believed";
}

TEST(Coscheduling, pods_that_come_before_their_group_wait_for_it) {
  GangFixture f;
  f.node(aNode("n1"));
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.gang("g", 2);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, a_group_that_goes_takes_its_pods_out_of_play_until_it_comes_again) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.members("g", 0, 2, "3");
  f.run();
  f.groups().erase({"default", "g"});
  f.node(aNode("n2"));
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.events, Contains(HasSubstr("PodGroup default/g was deleted")));
  f.gang("g", 2);
  f.run(30s);
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, less_to_wait_for_sets_waiting_members_free) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 2);
  f.run();
  f.gang("g", 2);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, gated_members_do_not_count) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.members("g", 0, 1);
  PodBuilder gated = f.member("g-1", "g").gate("later");
  f.create(gated);
  f.run(30s);
  EXPECT_THAT(f.placed(), IsEmpty());
  gated.object().spec.schedulingGates.clear();
  f.replace(gated.version("2").build());
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, groups_of_gangs_are_bound_together_across_namespaces) {
  GangFixture f;
  f.node(aNode("n1"));
  const api::StringMap together{{kGroups, R"(["default/b", "default/a"])"}};
  f.gang("a", 2, together);
  f.gang("b", 1, together);
  f.members("a", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.members("b", 0, 1, "9");
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty()) << "b-0 fits nowhere";
  f.remove("b-0");
  f.members("b", 1, 2);
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("a-0", "a-1", "b-1"));
  EXPECT_EQ(f.annotationOf("a-0", kGroupId), "default/a,default/b");
  EXPECT_EQ(f.annotationOf("a-0", kCount), "3");
}

TEST(Coscheduling, members_beyond_a_minimum_do_not_take_what_another_gang_of_the_group_needs) {
  GangFixture f;
  f.node(aNode("n1"));
  const api::StringMap together{{kGroups, R"(["default/a", "default/b"])"}};
  f.gang("a", 1, together);
  f.gang("b", 3, together);
  f.members("a", 0, 4);
  f.members("b", 0, 3);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(4));
  EXPECT_THAT(f.placed(), Contains("b-2"));
}

TEST(Coscheduling, a_changed_list_of_groups_counts_from_then_on) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("a", 2, {{kGroups, R"(["default/a", "default/b"])"}});
  f.members("a", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  f.gang("a", 2);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, with_only_waiting_bound_members_do_not_count) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 2, {{kPolicy, "only-waiting"}});
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
  f.members("g", 2, 3);
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(2));
  EXPECT_THAT(f.lastCondition("g-2"),
              HasSubstr("gang default/g has nodes for 1 of 2 members (match policy only-waiting; 2 "
                        "are bound and do not count)"));
  f.members("g", 3, 4);
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(4));
}

TEST(Coscheduling, with_waiting_and_running_bound_members_count) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3, {{kPolicy, "waiting-and-running"}});
  f.members("g", 0, 3);
  f.run();
  f.remove("g-0");
  f.run();
  f.members("g", 3, 4);
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("g-1", "g-2", "g-3"));
}

TEST(Coscheduling, after_a_restart_the_rest_of_a_gang_that_runs_is_free) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.create(f.member("g-0", "g").nodeName("n1"));
  f.run();
  f.members("g", 1, 2);
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
}

TEST(Coscheduling, a_member_that_did_not_fit_and_goes_sets_the_others_free) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.create(f.member("g-0", "g", "9"));
  f.create(f.member("g-1", "g"));
  f.run();
  f.create(f.member("g-2", "g", "9"));
  f.run(20s);
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(f.member("g-3", "g"));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("g-1", "g-3")) << "the two that fit are enough";
}

TEST(Coscheduling, a_gang_that_all_nodes_have_no_room_for_is_not_searched_for) {
  GangFixture f;
  for (int n = 0; n < 4; ++n) f.node(aNode("n" + std::to_string(n)));
  f.create(aPod("big").request("cpu", "3"));
  f.run();
  f.gang("g", 4);
  f.members("g", 0, 4, "3500m");
  f.run();
  EXPECT_THAT(f.lastCondition("g-3"), HasSubstr("need at least 14 cpu, and all nodes together have "
                                                "13 free"));
  const std::size_t attempts = f.attemptsOf("g-0");
  EXPECT_EQ(attempts, 1u);
  f.create(aPod("little"));
  f.run();
  f.remove("little");
  f.run(30s);
  EXPECT_EQ(f.attemptsOf("g-0"), attempts) << "what went made too little room";
  f.remove("big");
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(4));
}

TEST(Coscheduling, a_hundred_gangs_that_fit_nowhere_are_not_tried_while_nothing_changes) {
  GangFixture f;
  for (int n = 0; n < 20; ++n) f.node(aNode("n" + std::to_string(n)));
  for (int g = 0; g < 100; ++g) {
    const std::string name = "g" + std::to_string(g);
    f.gang(name, 2);
    f.members(name, 0, 2, g % 2 == 0 ? "5" : "300");  // lack a node, or resources in total
  }
  f.run(60s);
  const auto attempts = [&] {
    std::size_t sum = 0;
    for (int g = 0; g < 100; ++g)
      for (const char* member : {"-0", "-1"}) sum += f.attemptsOf("g" + std::to_string(g) + member);
    return sum;
  };
  const std::size_t before = attempts();
  EXPECT_GE(before, 100u);
  f.run(180s);
  EXPECT_EQ(attempts(), before);
  EXPECT_THAT(f.placed(), IsEmpty());
  f.create(aPod("plain").request("cpu", "4"));
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("plain"));
  EXPECT_EQ(attempts(), before) << "a pod that takes room helps nobody";
  f.expectSound();
}

TEST(Coscheduling, min_resources_beyond_what_there_is_refuse_a_gang_too) {
  GangFixture f;
  f.node(aNode("n1"));
  auto group = f.groupObject("g", 2);
  group->spec.minResources["cpu"] = testing::quantity("6");
  f.groups().set(group);
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("need at least 6 cpu"));
  f.node(aNode("n2"));
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Coscheduling, two_gangs_that_need_the_same_room_do_not_hold_each_other_up) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("a", 3);
  f.gang("b", 3);
  for (int i = 0; i < 3; ++i) {
    f.members("a", i, i + 1);
    f.members("b", i, i + 1);
  }
  f.run(30s);
  EXPECT_THAT(f.placed(), SizeIs(3));
  const std::string first = f.placed().begin()->substr(0, 1);
  for (const auto& name : f.placed()) EXPECT_EQ(name.substr(0, 1), first);
}

TEST(Coscheduling, a_gang_takes_the_rank_of_its_first_member_and_stays_together) {
  GangFixture f;
  f.gang("g", 2);
  f.create(f.member("g-0", "g", "2").priority(100));
  f.create(f.member("g-1", "g", "2").priority(1));
  PodBuilder mid = aPod("mid").request("cpu", "2").priority(50);
  mid.object().spec.preemptionPolicy = api::Text("Never");
  f.create(mid);
  f.run();
  f.node(aNode("n1"));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
}

TEST(Coscheduling, what_a_whole_gang_cannot_use_is_not_preempted) {
  GangFixture f;
  f.node(aNode("n1"));
  f.create(aPod("low").request("cpu", "4").priority(1));
  f.run();
  f.gang("g", 2);
  for (int i = 0; i < 2; ++i)
    f.create(f.member("g-" + std::to_string(i), "g", "2500m").priority(10));
  f.run(30s);
  EXPECT_THAT(f.deletions, IsEmpty());
  EXPECT_EQ(f.nodeOf("low"), "n1");
}

TEST(Coscheduling, a_gang_preempts_what_lets_all_of_it_run) {
  GangFixture f;
  f.node(aNode("n1"));
  f.create(aPod("low").request("cpu", "3").priority(1));
  f.run();
  f.gang("g", 2);
  for (int i = 0; i < 2; ++i) f.create(f.member("g-" + std::to_string(i), "g", "2").priority(10));
  f.run(30s);
  EXPECT_THAT(f.deletions, ElementsAre("low"));
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
}

TEST(Coscheduling, members_whose_binding_fails_come_again) {
  GangFixture f;
  f.node(aNode("n1"));
  bool refuse = true;
  f.beforeBind = [&](const std::string& pod) -> Result<std::string> {
    if (refuse && pod == "g-1") return fail(ErrorCode::Forbidden, "not today");
    return "";
  };
  f.gang("g", 3);
  f.members("g", 0, 3);
  f.run(2s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-2"));
  refuse = false;
  f.run(30s);
  EXPECT_THAT(f.placed(), SizeIs(3));
  f.expectSound();
}

TEST(Coscheduling, members_deleted_while_they_are_bound_leave_nothing_behind) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 3);
  f.loop.advance(1ms);
  f.remove("g-1");
  f.run();
  f.run();
  f.expectSound();
  const auto summary = f.ask("gang/default/g");
  ASSERT_TRUE(summary);
  EXPECT_EQ(at(*summary, "children")->as_object().size(), 2u);
}

TEST(Coscheduling, several_profiles_share_one_view_of_gangs) {
  GangFixture f;
  f.configuration_.profiles.push_back(f.configuration_.profiles.front());
  f.configuration_.profiles.back().schedulerName = "other";
  f.restart();
  f.node(aNode("n1"));
  f.gang("g", 2);
  f.create(f.member("g-0", "g").scheduler("other"));
  f.create(f.member("g-1", "g"));
  f.gang("h", 2);
  f.create(f.member("h-0", "h", "9").scheduler("other"));
  f.create(f.member("h-1", "h", "9").scheduler("other"));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("g-0", "g-1"));
  EXPECT_THAT(f.lastCondition("h-1"), HasSubstr("default/h"));
}

TEST(Coscheduling, services_show_what_a_gang_has_and_lacks) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("g", 3);
  f.members("g", 0, 2);
  f.run();
  auto explained = f.ask("explain/default/g-0");
  ASSERT_TRUE(explained) << explained.error().message;
  EXPECT_EQ(textAt(*explained, "waitingFor"), "1 more pod of gang default/g");
  const auto heldBack = [&f] {
    std::string all;
    for (const auto* plugin :
         f.scheduler->profiles().begin()->second->profile().offers<PodFactsPlugin>())
      all += plugin->waitReason(*f.scheduler->pending({"default", "g-0"}));
    return all;
  };
  EXPECT_EQ(heldBack(), "gang default/g waits for 1 more pod of gang default/g");
  const json::value& group = at(*explained, "groups")->as_array()[0];
  EXPECT_EQ(group.at("missing"), 1);
  EXPECT_EQ(group.at("present"), 2);
  f.members("g", 2, 3, "9");
  f.run();
  explained = f.ask("explain/default/g-0");
  EXPECT_THAT(std::string(textAt(*explained, "waitingFor")), HasSubstr("cannot be placed"));
  EXPECT_THAT(heldBack(), HasSubstr("cannot be placed"));
  const auto diagnosis = f.ask("diagnosis/default/g");
  ASSERT_TRUE(diagnosis) << diagnosis.error().message;
  EXPECT_EQ(textAt(*diagnosis, "mode"), "Strict");
  EXPECT_THAT(std::string(textAt(*diagnosis, "waitingFor")),
              HasSubstr("nodes for all members that it needs: GangGroup \"default/g\""));
  EXPECT_EQ(f.ask("diagnosis/default/none").error().message, "cannot find gang default/none");
  EXPECT_EQ(f.ask("gang/default/none").error().message, "cannot find gang default/none");
  const auto all = f.ask("gangs");
  const json::value* gang = find(*all, "default/g");
  ASSERT_TRUE(gang);
  EXPECT_EQ(textAt(*gang, "mode"), "Strict");
  EXPECT_EQ(gang->at("pendingChildren").as_object().size(), 3u);
  EXPECT_EQ(textAt(*gang, "gangGroupInfo", "GangGroupId"), "default/g");
  EXPECT_EQ(textAt(*gang, "gangFrom"), "GangFromPodGroupCrd");
}

TEST(Coscheduling, arguments_that_are_wrong_are_named) {
  std::vector<std::string> errors;
  const json::value given =
      json::object{{"defaultTimeout", "-1s"}, {"controllerWorkers", 0}, {"matchPolicy", "x"}};
  Fields fields(&given, "args", errors);
  (void)CoschedulingArgs::read(fields);
  EXPECT_THAT(errors, SizeIs(3));
  EXPECT_THAT(errors, Contains(HasSubstr("args.defaultTimeout")));
  EXPECT_THAT(errors, Contains(HasSubstr("args.controllerWorkers")));
  EXPECT_THAT(errors, Contains(HasSubstr("args.matchPolicy")));
}

TEST(Coscheduling, garbage_in_labels_and_annotations_stops_nobody) {
  GangFixture f;
  f.node(aNode("n1").allocatable("pods", "1000"));
  Random random(7);
  const auto garbage = [&] {
    const char* some[] = {"",   "\xff\xfe", "[",    "[[]]", "{\"a\":1}", "-1",     "99999999999",
                          "//", "a/b/c",    "null", "1e9",  "[\"\"]",    "Strict", "\n"};
    return std::string(some[random.below(std::size(some))]);
  };
  const char* keys[] = {"name",         "min-available", "mode",   "match-policy",
                        "waiting-time", "total-number",  "groups", "timeout"};
  for (int i = 0; i < 300; ++i) {
    PodBuilder pod = aPod("p" + std::to_string(i)).request("cpu", "10m");
    for (const char* key : keys)
      pod.object().metadata.annotations[std::string("gang.scheduling.koordinator.sh/") + key] =
          garbage();
    if (random.below(3) == 0) pod.label("pod-group.scheduling.sigs.k8s.io", garbage());
    if (random.below(3) == 0)
      pod.label("pod-group.scheduling.sigs.k8s.io/min-available", garbage());
    f.create(pod);
    if (random.below(4) == 0) {
      api::StringMap annotations;
      for (const char* key : keys)
        annotations[std::string("gang.scheduling.koordinator.sh/") + key] = garbage();
      f.gang(garbage(), static_cast<int>(random.below(5)) - 2, annotations);
    }
    if (random.below(3) == 0) f.run(1s);
    const std::string gone = "p" + std::to_string(random.below(i + 1));
    if (random.below(5) == 0 && f.pods.contains(gone)) f.remove(gone);
  }
  f.create(aPod("plain").request("cpu", "10m"));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("plain"), "n1");
  EXPECT_TRUE(f.ask("gangs"));
  f.expectSound();
}

TEST(Coscheduling, a_member_that_changes_its_label_joins_the_other_gang) {
  GangFixture f;
  f.node(aNode("n1"));
  f.gang("a", 2);
  f.gang("b", 2);
  f.members("a", 0, 1);
  f.members("b", 0, 1);
  f.run();
  f.replace(f.member("a-0", "b").version("2").build());
  f.run();
  EXPECT_THAT(f.placed(), ElementsAre("a-0", "b-0"));
}

}  // namespace
}  // namespace koord::scheduler
