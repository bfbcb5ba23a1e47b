// What reservations, gangs, quotas and devices need of the framework, shown by small plugins
// (testing/small_plugins.h) in a whole scheduler.

#include "scheduler/testing/small_plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::NodeBuilder;
using testing::PodBuilder;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// A scheduler with one more plugin, which gives the test its Handle.
template <class P>
struct With : testing::SchedulerFixture {
  Handle* handle = nullptr;
  With() {
    registry[std::string(P::kName)] = [this](Fields&, Handle& given) -> std::unique_ptr<Plugin> {
      handle = &given;
      return std::make_unique<P>(given);
    };
    configuration_.profiles.front().plugins["multiPoint"].enabled.push_back(
        {std::string(P::kName), 0});
    create();
    scheduler->start();
  }
  using SchedulerFixture::create;
  const Cluster& cluster() { return scheduler->cluster(); }
  std::string annotationOf(const std::string& pod, const char* key) {
    const auto* value = api::findIn(pods.at(pod)->metadata.annotations, key);
    return value ? *value : std::string();
  }
  void expectSound() {
    cluster().live().forEach([&](NodeId node) { EXPECT_EQ(cluster().verifyNode(node), ""); });
  }
};

NodeBuilder slotNode(const char* name, const char* slots) {
  NodeBuilder node = aNode(name);
  node.object().metadata.annotations[testing::Slots::kSlots] = slots;
  return node;
}
PodBuilder wanting(const char* name, const char* slots) {
  PodBuilder pod = aPod(name);
  pod.object().metadata.annotations[testing::Slots::kWants] = slots;
  return pod;
}
using WithSlots = With<testing::Slots>;

TEST(Grants, are_made_in_reserve_and_written_with_the_binding) {
  WithSlots f;
  f.node(slotNode("n1", "0-3"));
  f.create(wanting("a", "3"));
  f.run();
  f.create(wanting("b", "1"));
  f.run();
  EXPECT_EQ(f.annotationOf("a", testing::Slots::kSlots), "0-2");
  EXPECT_EQ(f.annotationOf("b", testing::Slots::kSlots), "3");
  std::size_t writes = 0;
  for (const auto& call : f.api.calls)
    writes += call.name == "b" && call.verb != kube::Verb::Get && call.subresource != "status";
  EXPECT_EQ(writes, 1u) << "one write per pod";
  f.expectSound();
}

TEST(Grants, of_a_binding_that_fails_are_there_for_others) {
  WithSlots f;
  f.node(slotNode("n1", "0-1"));
  bool refuse = true;
  f.beforeBind = [&](const std::string& pod) -> Result<std::string> {
    if (refuse && pod == "a") return fail(ErrorCode::Forbidden, "not today");
    return "";
  };
  f.create(wanting("a", "2"));
  f.run(500ms);
  f.create(wanting("b", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("b"), "n1");
  EXPECT_EQ(f.nodeOf("a"), "");
  f.expectSound();
}

TEST(Grants, are_read_from_annotations_at_start_and_with_every_update) {
  WithSlots f;
  f.node(slotNode("n1", "0-3"));
  PodBuilder running = aPod("old").nodeName("n1");
  running.object().metadata.annotations[testing::Slots::kSlots] = "0,2";
  f.create(running);
  f.run();
  f.create(wanting("new", "2"));
  f.run();
  EXPECT_EQ(f.annotationOf("new", testing::Slots::kSlots), "1,3");
  running.object().metadata.annotations[testing::Slots::kSlots] = "0";
  f.replace(running.version("7").build());
  f.run();
  f.expectSound();
  f.create(wanting("next", "1"));
  f.run();
  EXPECT_EQ(f.annotationOf("next", testing::Slots::kSlots), "2");
}

TEST(Grants, that_two_pods_have_for_a_moment_are_there_until_both_are_gone) {
  WithSlots f;
  f.node(slotNode("n1", "0-3"));
  for (const char* name : {"gone", "new"}) {
    PodBuilder pod = aPod(name).nodeName("n1");
    pod.object().metadata.annotations[testing::Slots::kSlots] = "0-1";
    f.create(pod);
  }
  f.run();
  f.remove("gone");
  f.run();
  f.expectSound();
  f.create(wanting("p", "3"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
}

TEST(Grants, are_known_again_after_a_restart) {
  WithSlots f;
  f.node(slotNode("n1", "0-3"));
  f.create(wanting("a", "2"));
  f.run();
  f.create();  // a new scheduler, pods before their node
  for (const auto& [name, pod] : f.pods) f.scheduler->podAdded(pod);
  f.node(slotNode("n1", "0-3"));
  f.scheduler->start();
  f.create(wanting("b", "2"));
  f.run();
  EXPECT_EQ(f.annotationOf("b", testing::Slots::kSlots), "2-3");
  f.expectSound();
}

TEST(Grants, of_victims_count_as_free_while_preemption_is_tried_out) {
  WithSlots f;
  f.node(slotNode("n1", "0-1"));
  f.create(wanting("low", "2").priority(1));
  f.run();
  f.create(wanting("high", "2").priority(10));
  f.run(100ms);
  EXPECT_THAT(f.deletions, ::testing::ElementsAre("low"));
  f.run();
  EXPECT_EQ(f.nodeOf("high"), "n1");
  f.expectSound();
}

TEST(Grants, an_annotation_of_a_node_that_plugins_read_drops_what_was_known_of_it) {
  WithSlots f;
  const auto before = slotNode("n1", "0").build();
  f.scheduler->nodeAdded(before);
  f.create(wanting("p", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  f.scheduler->nodeUpdated(before, slotNode("n1", "0-1").build());
  f.run(15s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

struct Drifts final : Observer {
  std::vector<std::string> ledgers;
  void drifted(std::string_view ledger) override { ledgers.emplace_back(ledger); }
};

TEST(Grants, a_ledger_that_differs_from_its_pods_is_found_out_by_itself) {
  WithSlots f;
  Drifts drifts;
  f.observer = &drifts;
  f.create();
  f.scheduler->start();
  f.node(slotNode("n1", "0-3"));
  f.create(wanting("p", "2"));
  f.run();
  EXPECT_THAT(drifts.ledgers, SizeIs(0));
  testing::Slots::ledgerOf(*f.handle).taken[0].add(3);
  f.run();
  EXPECT_THAT(drifts.ledgers, Contains("slots"));
}

using WithHolds = With<testing::Holds>;

struct HoldsTest : ::testing::Test {
  WithHolds f;
  testing::HoldKind& kind() { return testing::Holds::kindOf(*f.handle); }
  std::shared_ptr<const api::Pod> hold(const char* name, const char* team, const char* cpu) {
    PodBuilder unit = aPod(name).request("cpu", cpu).priority(5);
    unit.object().metadata.annotations[testing::Holds::kFor] = team;
    return unit.build();
  }
  void add(const std::shared_ptr<const api::Pod>& unit) {
    f.handle->units().added(unit, kind());
    f.run();
  }
  PodBuilder owner(const char* name, const char* cpu) {
    return aPod(name).request("cpu", cpu).label(testing::Holds::kTeam, "blue");
  }
};

TEST_F(HoldsTest, a_unit_that_is_no_pod_is_placed_bound_and_counted_like_one) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  EXPECT_EQ(kind().boundTo["h"], "n1");
  EXPECT_EQ(f.bindings.count("h"), 0u) << "it is no Pod";
  f.create(aPod("stranger").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("stranger"), "");
  f.expectSound();
}

TEST_F(HoldsTest, a_unit_that_fits_nowhere_is_reported_by_its_kind) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "9"));
  EXPECT_THAT(kind().reports, Contains(HasSubstr("h Unschedulable: 0/1 nodes are available")));
  EXPECT_THAT(f.conditions, SizeIs(0));
}

TEST_F(HoldsTest, owners_see_its_room_as_free_and_are_counted_within_it) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  f.create(owner("o1", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("o1"), "n1");
  EXPECT_EQ(f.cluster().requested(kCpu)[0], 3000);
  f.create(owner("o2", "2"));  // 1 from the hold, 1 from the node
  f.run();
  EXPECT_EQ(f.nodeOf("o2"), "n1");
  EXPECT_EQ(f.cluster().requested(kCpu)[0], 4000);
  f.create(owner("o3", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("o3"), "");
  f.expectSound();
  f.remove("o1");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("o3"), "n1");
  f.expectSound();
}

TEST_F(HoldsTest, what_was_known_of_owners_and_strangers_is_kept_apart) {
  f.node(aNode("n1"));
  f.node(aNode("n2").unschedulable());
  add(hold("h", "blue", "4"));
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    f.create(aPod("s" + n).request("cpu", "1"));
    f.create(owner(("o" + n).c_str(), "1"));
    f.run();
    EXPECT_EQ(f.nodeOf("s" + n), "");
    EXPECT_EQ(f.nodeOf("o" + n), "n1");
  }
  f.expectSound();
}

TEST_F(HoldsTest, owners_that_wait_are_woken_by_a_hold_that_is_placed) {
  f.node(aNode("n1"));
  f.create(aPod("runs").request("cpu", "4").priority(1));
  f.run();
  f.create(owner("o", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("o"), "");
  add(hold("h", "blue", "4"));  // Takes the resources of a running pod; its owners may use it.
  f.run(15s);
  EXPECT_EQ(kind().boundTo["h"], "n1");
  EXPECT_EQ(f.nodeOf("o"), "n1");
  f.expectSound();
}

TEST_F(HoldsTest, room_that_is_promised_to_a_hold_is_not_its_owners_yet) {
  f.node(aNode("n1"));
  f.create(aPod("runs").request("cpu", "2"));
  f.run();
  // The hold waits, and the rest of the node is nominated for it.
  PodBuilder unit = aPod("h").request("cpu", "2").priority(5).nominated("n1").gate("later");
  unit.object().metadata.annotations[testing::Holds::kFor] = "blue";
  add(unit.build());
  f.create(owner("o", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("o"), "");
  f.create(owner("important", "1").priority(9));
  f.run();
  EXPECT_EQ(f.nodeOf("important"), "n1") << "promises bind those that matter no more";
}

TEST_F(HoldsTest, a_unit_is_evicted_by_its_kind) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  f.create(aPod("vip").request("cpu", "3").priority(10));
  f.run(15s);
  EXPECT_THAT(kind().evicted, Contains("h"));
  EXPECT_EQ(f.nodeOf("vip"), "n1");
  EXPECT_THAT(f.deletions, SizeIs(0));
}

TEST_F(HoldsTest, a_ledger_of_shares_that_differs_from_its_pods_is_found_out) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  f.create(owner("o", "2"));
  f.run();
  f.expectSound();
  auto& use = testing::Holds::ledgerOf(*f.handle).used.at(0).begin()->second;
  use.amount.base[kCpu] += 1;
  EXPECT_THAT(f.cluster().verifyNode(0), HasSubstr("kept 1 owners cpu=2001"));
  use.amount.base[kCpu] -= 1;
  f.expectSound();
  use.owners = 2;
  EXPECT_THAT(f.cluster().verifyNode(0), HasSubstr("holds: uid-default-h: kept 2 owners"));
  testing::Holds::ledgerOf(*f.handle).used.clear();
  EXPECT_THAT(f.cluster().verifyNode(0), HasSubstr("kept 0 owners"));
}

TEST_F(HoldsTest, owners_are_counted_in_full_when_the_hold_goes_and_within_it_when_it_is_back) {
  f.node(aNode("n1"));
  const auto unit = hold("h", "blue", "3");
  add(unit);
  f.create(owner("o", "2"));
  f.run();
  EXPECT_EQ(f.cluster().requested(kCpu)[0], 3000);
  {
    Cluster::Transaction whatIf(f.handle->cluster());
    f.handle->cluster().removePod(unit->metadata.uid);
    EXPECT_EQ(f.cluster().requested(kCpu)[0], 2000);
    f.expectSound();
  }
  EXPECT_EQ(f.cluster().requested(kCpu)[0], 3000);
  f.expectSound();
  f.handle->units().removed(unit);
  EXPECT_EQ(f.cluster().requested(kCpu)[0], 2000);
  f.expectSound();
}

TEST_F(HoldsTest, shares_are_known_again_after_a_restart_whoever_is_seen_first) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  f.create(owner("o", "2"));
  f.run();
  PodBuilder unit = aPod("h").request("cpu", "3").nodeName("n1");
  unit.object().metadata.annotations[testing::Holds::kFor] = "blue";
  for (const bool holdFirst : {true, false}) {
    f.create();
    f.node(aNode("n1"));
    if (holdFirst) f.handle->units().added(unit.build(), kind());
    f.scheduler->podAdded(f.pods.at("o"));
    if (!holdFirst) f.handle->units().added(unit.build(), kind());
    EXPECT_EQ(f.cluster().requested(kCpu)[0], 3000) << holdFirst;
    f.expectSound();
  }
}

TEST_F(HoldsTest, a_hold_that_would_leave_frees_what_its_owners_do_not_use) {
  f.node(aNode("n1"));
  add(hold("h", "blue", "3"));
  f.create(owner("o", "2").priority(20));
  f.run();
  f.create(aPod("vip").request("cpu", "3").priority(10));
  f.run(15s);
  EXPECT_THAT(kind().evicted, SizeIs(0)) << "the owner would still be there";
  f.create(aPod("smaller").request("cpu", "2").priority(10));
  f.run(15s);
  EXPECT_THAT(kind().evicted, Contains("h"));
  EXPECT_EQ(f.nodeOf("smaller"), "n1");
  f.expectSound();
}

using WithGroups = With<testing::Together>;

struct GroupsTest : ::testing::Test {
  WithGroups f;
  void members(int from, int to, const char* cpu, const char* group = "g/3") {
    for (int i = from; i < to; ++i) {
      PodBuilder pod = aPod("m" + std::to_string(i)).request("cpu", cpu);
      pod.object().metadata.annotations[testing::Together::kGroup] = group;
      f.create(pod);
    }
    f.run();
  }
  int placed() {
    int count = 0;
    for (const auto& [name, pod] : f.pods) count += !pod->spec.nodeName.empty();
    return count;
  }
};

TEST_F(GroupsTest, are_placed_together_or_not_at_all) {
  f.node(aNode("n1"));
  members(0, 3, "2");
  EXPECT_EQ(placed(), 0);
  EXPECT_EQ(f.cluster().podTotal(), 0u) << "everything was reverted";
  EXPECT_THAT(f.conditions, Contains(HasSubstr("2 of 3 pods of group g/3 have a node")));
  f.node(aNode("n2"));
  f.run(20s);
  EXPECT_EQ(placed(), 3);
  f.expectSound();
}

TEST_F(GroupsTest, members_beyond_what_is_needed_may_be_left_behind) {
  f.node(aNode("n1"));
  members(0, 5, "1", "g/3");
  EXPECT_EQ(placed(), 4);
  f.expectSound();
}

TEST_F(GroupsTest, members_that_run_count_for_those_that_come_later) {
  f.node(aNode("n1"));
  members(0, 3, "1");
  EXPECT_EQ(placed(), 3);
  members(3, 4, "1");
  EXPECT_EQ(placed(), 4);
}

TEST_F(GroupsTest, members_that_come_later_are_tried_in_every_domain) {
  f.node(aNode("a1").label("zone", "a"));
  f.node(aNode("b1").label("zone", "b").allocatable("cpu", "1"));
  members(0, 2, "2", "g/2");
  ASSERT_EQ(placed(), 2);
  members(2, 3, "1", "g/2");  // a1 is full, and the two running members would be enough
  EXPECT_EQ(f.nodeOf("m2"), "b1");
}

TEST_F(GroupsTest, go_where_all_of_them_fit_when_there_is_such_a_domain) {
  f.node(aNode("a1").label("zone", "a"));
  f.node(aNode("b1").label("zone", "b"));
  f.node(aNode("b2").label("zone", "b"));
  members(0, 3, "2");
  ASSERT_EQ(placed(), 3);
  for (const auto& [name, pod] : f.pods) EXPECT_NE(pod->spec.nodeName, "a1") << name;
}

TEST_F(GroupsTest, grants_and_places_of_those_taken_back_serve_others) {
  f.node(aNode("n1"));
  members(0, 3, "2");
  f.create(aPod("single").request("cpu", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("single"), "n1");
}

TEST_F(GroupsTest, members_are_not_kept_off_nodes_that_are_promised_to_others_of_them) {
  f.node(aNode("n1"));
  PodBuilder waiting = aPod("m9").request("cpu", "9").nominated("n1").gate("later");
  waiting.object().metadata.annotations[testing::Together::kGroup] = "g/1";
  f.create(waiting);
  members(0, 1, "3", "g/1");
  EXPECT_EQ(f.nodeOf("m0"), "n1");
  f.create(aPod("stranger").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("stranger"), "") << "m9's promise stands for everybody else";
}

using WithAllowance = With<testing::Allowance>;

TEST(Allowances, what_prefilter_said_of_a_class_is_asked_again_when_it_may_not_hold) {
  WithAllowance f;
  f.node(aNode("n1"));
  auto& ledger = testing::Allowance::ledgerOf(*f.handle);
  ledger.limit["default"] = 2000;
  for (const char* name : {"a", "b", "c"}) f.create(aPod(name).request("cpu", "1"));
  f.run();
  EXPECT_EQ(ledger.used["default"], 2000);
  EXPECT_EQ(f.nodeOf("c"), "");
  EXPECT_THAT(f.conditions, Contains(HasSubstr("namespace default would use 3000m of 2000m cpu")));
  f.remove("a");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("c"), "n1");
  EXPECT_EQ(ledger.used["default"], 2000);
}

TEST(Allowances, a_ledger_that_differs_from_its_pods_is_found_out) {
  WithAllowance f;
  f.node(aNode("n1"));
  f.node(aNode("n2"));
  f.create(aPod("a").request("cpu", "1"));
  f.run();
  auto& ledger = testing::Allowance::ledgerOf(*f.handle);
  f.expectSound();
  ledger.used["default"] += 5;
  EXPECT_THAT(f.cluster().verifyNode(0), HasSubstr("default in all: kept 1005, counted 1000"));
  ledger.used["default"] -= 5;
  f.expectSound();
  ledger.usedOn[1]["other"] = 7;
  EXPECT_THAT(f.cluster().verifyNode(1), HasSubstr("allowance: other: kept 7, counted 0"));
}

TEST(Allowances, a_limit_that_is_raised_wakes_the_pods_of_its_namespace) {
  WithAllowance f;
  f.node(aNode("n1"));
  auto& limits = f.scheduler->stores().of<testing::AllowanceLimit>();
  const auto allow = [&](std::int64_t milliCpu) {
    auto limit = std::make_shared<testing::AllowanceLimit>();
    limit->metadata.name = "limit";
    limit->metadata.namespace_ = "default";
    limit->spec.milliCpu = milliCpu;
    limits.set(limit);
    f.run(15s);
  };
  allow(1000);
  f.create(aPod("p").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  allow(1500);
  EXPECT_EQ(f.nodeOf("p"), "");
  allow(2000);
  EXPECT_EQ(f.nodeOf("p"), "n1");
  limits.erase({"default", "limit"});
  f.create(aPod("q").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("q"), "n1");
}

// The number of nodes for which it was called.
struct Counting final : Plugin, Signed, FilterPlugin {
  explicit Counting(int& count) : asked(count) {}
  std::string_view name() const override { return "Counting"; }
  void sign(const PodInfo&, Signature&) const override {}
  Status filter(const CycleState&, const PodInfo&, NodeFilter& nodes) override {
    nodes.forEach([&](NodeId) { ++asked; });
    return {};
  }
  int& asked;
};

TEST(Allowances, what_is_known_of_nodes_is_kept_while_only_the_allowance_changes) {
  WithAllowance f;
  int asked = 0;
  f.registry["Counting"] = [&](Fields&, Handle&) { return std::make_unique<Counting>(asked); };
  f.configuration_.profiles.front().plugins["multiPoint"].enabled.push_back({"Counting", 0});
  f.create();
  f.scheduler->start();
  for (int n = 0; n < 50; ++n) f.node(aNode("n" + std::to_string(n)));
  for (int n = 0; n < 20; ++n) f.create(aPod("p" + std::to_string(n)).request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.cluster().podTotal(), 20u);
  EXPECT_LE(asked, 50 + 20);
}

TEST(Allowances, preemption_goes_on_until_the_pod_is_admitted_too) {
  WithAllowance f;
  f.node(aNode("n1"));
  testing::Allowance::ledgerOf(*f.handle).limit["default"] = 2000;
  f.create(aPod("low").request("cpu", "2").priority(1));
  f.run();
  f.create(aPod("high").request("cpu", "1").priority(10));
  f.run(15s);
  EXPECT_THAT(f.deletions, ::testing::ElementsAre("low"));
  EXPECT_EQ(f.nodeOf("high"), "n1");
}

}  // namespace
}  // namespace koord::scheduler
