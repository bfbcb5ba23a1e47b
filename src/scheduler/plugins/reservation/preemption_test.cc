// Preemption where reservations are in use: a scheduler on an API that stores them, on virtual
// time.

#include <gmock/gmock.h>

#include "scheduler/plugins/reservation/whole_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aReservation;
using ::testing::ElementsAre;
using testing::forWeb;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodBuilder;
using testing::ReservationBuilder;
using testing::webPod;
using testing::WholeWithReservations;
using namespace std::chrono_literals;

// In the order of the default configuration; alone: without DefaultPreemption.
SchedulerConfiguration preempting(const std::string& args, bool alone = false) {
  const std::string others = alone ? "" : ", {name: DefaultPreemption}";
  const std::string disabled = alone ? "disabled: [{name: DefaultPreemption}], " : "";
  return parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {)" + disabled +
                            R"(enabled: [{name: Reservation}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Reservation})" +
                            others + R"(]}
    score: {enabled: [{name: Reservation, weight: 5000}]}
  pluginConfig: [{name: Reservation, args: )" +
                            args + "}]\n")
      .value();
}

// Nodes of 32 CPUs whose pods terminate slowly.
struct BusyMachines : WholeWithReservations {
  explicit BusyMachines(const std::string& args = "{enablePreemption: true}")
      : BusyMachines(preempting(args)) {}
  explicit BusyMachines(SchedulerConfiguration configuration)
      : WholeWithReservations(std::move(configuration)) {
    graceful = true;
  }
  void big(const std::string& name) { node(aNode(name).allocatable("cpu", "32")); }
  // Node m0 with a victim v0 of 20 CPUs, and so on; small pods are added and removed in addition.
  void threeMachines() {
    for (const char* each : {"0", "1", "2"}) {
      const std::string machine = std::string("m") + each;
      big(machine);
      PodBuilder victim = aPod(std::string("v") + each).request("cpu", "20").nodeName(machine);
      victim.object().status.startTime = loop.wallNow();
      create(victim);
      create(aPod(std::string("small") + each).request("cpu", "1").nodeName(machine));
    }
    run();
  }
  void smallOnesGo() {
    for (const char* each : {"small0", "small1", "small2"}) {
      remove(each);
      run(1min);
    }
  }
  void restart() {
    again();
    for (const char* each : {"m0", "m1", "m2"}) big(each);
    for (const auto& [name, reservation] : reservations)
      scheduler->stores().of<api::Reservation>().set(reservation);
    scheduler->start();
  }
  void budget(const std::string& app) {
    api::PodDisruptionBudget object;
    object.metadata.name = app;
    object.metadata.namespace_ = "default";
    object.spec.selector.emplace().matchLabels["app"] = app;
    scheduler->stores().of<api::PodDisruptionBudget>().set(
        std::make_shared<const api::PodDisruptionBudget>(object));
  }
};

TEST(ReservationPreemption, by_default_nobody_leaves_for_a_reservation_whatever_its_priority) {
  ReservationBuilder byLabel = forWeb("r", "10").label("koordinator.sh/priority", "1000");
  ReservationBuilder byTemplate = forWeb("r", "10");
  byTemplate.templateSpec()["priority"] = 2000001000;
  for (const ReservationBuilder& reservation : {forWeb("r", "10"), byLabel, byTemplate}) {
    BusyMachines f("{}");
    f.big("n");
    for (const char* name : {"a", "b", "c"}) f.create(aPod(name).request("cpu", "10").priority(0));
    f.run();
    f.reserve(reservation);
    f.run(10min);
    EXPECT_THAT(f.deletions, IsEmpty());
    EXPECT_THAT(f.status("r").conditions[0].message, HasSubstr("Insufficient cpu"));
    EXPECT_THAT(f.status("r").conditions[0].message, HasSubstr("reservations do not preempt"));
    f.remove("b");
    f.run(1min);
    EXPECT_EQ(f.status("r").phase, "Available") << "it comes when there is room";
  }
}

TEST(ReservationPreemption, a_reservation_that_waits_for_its_victims_takes_no_others) {
  BusyMachines f;
  f.threeMachines();
  f.reserve(forWeb("r", "20"));
  ASSERT_EQ(f.deletions.size(), 1u);
  f.smallOnesGo();
  f.run(6min);
  ASSERT_EQ(f.deletions.size(), 1u);
  f.remove(f.deletions[0]);
  f.run(1min);
  EXPECT_EQ(f.status("r").nodeName, "m" + f.deletions[0].substr(1)) << "where room was made for it";
}

TEST(ReservationPreemption, a_pod_that_waits_for_its_victims_takes_no_others) {
  for (const bool alone : {false, true}) {
    BusyMachines f(preempting("{enablePreemption: true}", alone));
    f.threeMachines();
    f.create(aPod("p").request("cpu", "20").priority(1000));
    f.run();
    ASSERT_EQ(f.deletions.size(), 1u) << alone;
    f.smallOnesGo();
    f.run(6min);
    ASSERT_EQ(f.deletions.size(), 1u) << alone;
    f.remove(f.deletions[0]);
    f.run(1min);
    EXPECT_EQ(f.nodeOf("p"), "m" + f.deletions[0].substr(1));
  }
}

TEST(ReservationPreemption, after_a_restart_a_reservation_waits_for_those_that_leave_already) {
  BusyMachines f;
  f.threeMachines();
  f.reserve(forWeb("r", "20"));
  ASSERT_EQ(f.deletions.size(), 1u);
  f.restart();
  f.run(1min);
  f.smallOnesGo();
  ASSERT_EQ(f.deletions.size(), 1u);
  f.remove(f.deletions[0]);
  f.run(1min);
  EXPECT_EQ(f.status("r").nodeName, "m" + f.deletions[0].substr(1));
}

TEST(ReservationPreemption, of_two_reservations_after_a_restart_each_keeps_room_of_its_own) {
  BusyMachines f;
  f.threeMachines();
  f.reserve(forWeb("r", "20"));
  f.reserve(forWeb("s", "20"));
  ASSERT_EQ(f.deletions.size(), 2u);
  f.restart();
  f.run(1min);
  f.smallOnesGo();
  ASSERT_EQ(f.deletions.size(), 2u);
  for (const std::string& victim : std::vector(f.deletions)) f.remove(victim);
  f.run(1min);
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_EQ(f.status("s").phase, "Available");
}

TEST(ReservationPreemption, a_reservation_looks_for_another_node_when_its_own_is_closed_or_gone) {
  for (const bool deleted : {false, true}) {
    BusyMachines f;
    f.threeMachines();
    f.reserve(forWeb("r", "20"));
    ASSERT_EQ(f.deletions.size(), 1u);
    const std::string machine = "m" + f.deletions[0].substr(1);
    const auto node = aNode(machine).allocatable("cpu", "32");
    if (deleted) {
      f.scheduler->nodeDeleted(aNode(machine).build());
    } else {
      f.scheduler->nodeUpdated(node.build(),
                               aNode(machine).allocatable("cpu", "32").unschedulable().build());
    }
    f.smallOnesGo();
    f.run(6min);
    EXPECT_EQ(f.deletions.size(), 2u) << deleted;
  }
}

TEST(ReservationPreemption, nobody_else_leaves_for_a_reservation_that_is_deleted_meanwhile) {
  BusyMachines f;
  f.big("n");
  for (const char* name : {"a", "b", "c"}) f.create(aPod(name).request("cpu", "10").priority(0));
  f.run();
  f.api.latency = 4s;
  f.reserve(forWeb("r", "30"));
  f.removeReservation("r");
  f.run(1min);
  EXPECT_EQ(f.deletions.size(), 2u) << "the last one is told when the others have been";
}

TEST(ReservationPreemption, victims_whose_end_is_not_seen_yet_are_waited_for_as_well) {
  BusyMachines f(preempting("{enablePreemption: true}", true));
  f.threeMachines();
  f.api.answer = [&f, usual = f.api.answer](const kube::Request& request) -> Result<std::string> {
    if (request.verb == kube::Verb::Delete) {
      f.deletions.push_back(request.name);  // the watch is late
      return "{}";
    }
    return usual(request);
  };
  f.create(aPod("p").request("cpu", "20").priority(1000));
  f.run();
  f.smallOnesGo();
  EXPECT_EQ(f.deletions.size(), 1u);
}

TEST(ReservationPreemption, a_promise_is_over_when_one_of_higher_priority_takes_the_node) {
  BusyMachines f;
  f.big("m0");
  f.create(aPod("v0").request("cpu", "20").nodeName("m0"));
  f.create(aPod("small").request("cpu", "1").nodeName("m0"));
  f.run();
  f.reserve(forWeb("r", "20").label("koordinator.sh/priority", "100"));
  ASSERT_THAT(f.deletions, ElementsAre("v0"));
  f.create(aPod("vip").request("cpu", "20").priority(1000));
  f.run();
  f.create(aPod("v1").request("cpu", "20").nodeName("m1"));
  f.big("m1");
  f.run(1min);
  EXPECT_THAT(f.deletions, ElementsAre("v0", "v1")) << "the reservation makes room elsewhere";
  f.remove("v0");
  f.remove("v1");
  f.run(1min);
  EXPECT_EQ(f.nodeOf("vip"), "m0");
  EXPECT_EQ(f.status("r").nodeName, "m1");
}

TEST(ReservationPreemption, a_node_whose_victims_no_budget_protects_is_looked_for_to_the_end) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    BusyMachines f(preempting(
        "{enablePreemption: true, minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1}",
        true));
    for (std::uint64_t n = 0; n < 6; ++n) {
      const std::string machine = "m" + std::to_string(n);
      f.big(machine);
      f.create(aPod("v" + std::to_string(n))
                   .request("cpu", "20")
                   .nodeName(machine)
                   .label("app", n == seed ? "free" : "kept"));
    }
    f.budget("kept");
    f.run();
    f.create(aPod("p").request("cpu", "20").priority(1000));
    f.run(1min);
    EXPECT_THAT(f.deletions, ElementsAre("v" + std::to_string(seed)));
  }
}

TEST(ReservationPreemption, a_reservation_whose_policy_is_never_preempts_nobody) {
  BusyMachines f;
  f.big("n");
  f.create(aPod("low").request("cpu", "30"));
  f.run();
  ReservationBuilder never = forWeb("r", "10");
  never.templateSpec()["preemptionPolicy"] = "Never";
  f.reserve(never);
  f.run(1min);
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST(ReservationPreemption, a_reservation_takes_nobody_of_its_own_priority_or_above) {
  BusyMachines f;
  f.big("n");
  f.create(aPod("equal").request("cpu", "15").priority(1000));
  f.create(aPod("higher").request("cpu", "15").priority(1001));
  f.run();
  f.reserve(forWeb("r", "10").label("koordinator.sh/priority", "1000"));
  f.run(1min);
  EXPECT_THAT(f.deletions, IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
