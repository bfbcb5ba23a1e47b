// CPUs in a whole scheduler, on virtual time, and together with reservations.

#include <gmock/gmock.h>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/nodenumaresource/numa_world.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::aReservation;
using testing::aService;
using ::testing::Contains;
using testing::given;
using ::testing::HasSubstr;
using testing::Machine;
using testing::NumaWorld;
using testing::PodBuilder;
using testing::topologyOf;
using testing::withNumaPolicy;

const std::string kWholeCores = R"({"requiredCPUBindPolicy":"FullPCPUs"})";

struct WholeWithNuma : testing::SchedulerFixture {
  WholeWithNuma() : SchedulerFixture(parseConfiguration(testing::kWithNuma).value()) {
    scheduler->start();
  }
  using SchedulerFixture::create;
  void machine(const std::string& name, const Machine& machine = {}) {
    node(testing::nodeOf(name, machine));
    report(name, machine);
  }
  void report(const std::string& name, const Machine& machine = {}) {
    scheduler->stores().of<CpuReport>().set(testing::asReported(*topologyOf(name, machine)));
  }
  std::string status(const std::string& pod) {
    const auto& annotations = pods.at(pod)->metadata.annotations;
    const auto* text = api::findIn(annotations, model::kAnnotationResourceStatus);
    return text ? *text : "";
  }
  void expectSound() {
    const Cluster& cluster = scheduler->cluster();
    cluster.live().forEach([&](NodeId id) { EXPECT_EQ(cluster.verifyNode(id), ""); });
  }
  void restart(bool topologyFirst) {
    create();
    node(testing::nodeOf("a", Machine{}));
    if (topologyFirst) report("a");
    for (const auto& [name, pod] : pods) scheduler->podAdded(pod);
    if (!topologyFirst) report("a");
    scheduler->start();
    run();
  }
};

TEST(WholeNuma, cpus_travel_with_the_binding) {
  WholeWithNuma f;
  f.machine("a");
  f.create(aService("web", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("web"), "a");
  EXPECT_EQ(f.status("web"), R"({"cpuset":"0-3"})");
  EXPECT_EQ(f.pods.at("web")->metadata.annotations.at(model::kAnnotationResourceSpec),
            R"({"preferredCPUBindPolicy":"FullPCPUs"})");
  EXPECT_EQ(f.bindings["web"], 1);
  f.expectSound();
}

TEST(WholeNuma, cpus_that_a_pod_claims_before_it_is_bound_are_not_its_own) {
  const std::string all = R"({"cpuset":"0-15","numaNodeResources":[{"node":0}]})";
  const auto claiming = [&](const char* name) {
    PodBuilder pod = aPod(name).request("cpu", "1");
    pod.object().metadata.annotations[std::string(model::kAnnotationResourceStatus)] = all;
    return pod;
  };
  WholeWithNuma f;
  f.machine("a");
  f.create(claiming("waits").nodeSelector("no-node", "has-this"));
  f.create(claiming("placed"));
  f.run();
  ASSERT_EQ(f.nodeOf("placed"), "a");
  EXPECT_EQ(f.status("placed"), "{}");
  EXPECT_EQ(f.bindings["placed"], 1);
  f.create(aService("one", "8"));
  f.run();
  EXPECT_EQ(f.status("one"), R"({"cpuset":"0-7"})");
  PodBuilder both = aService("both", "4");
  both.object().metadata.annotations[std::string(model::kAnnotationResourceStatus)] = all;
  f.create(both);
  f.run();
  EXPECT_EQ(f.status("both"), R"({"cpuset":"8-11"})") << "what it is given replaces what it claims";
  f.expectSound();
  f.restart(true);
  f.create(aService("two", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("two"), "a") << "a restart knows the same";
}

TEST(WholeNuma, a_pod_that_is_created_on_its_node_holds_what_it_says) {
  WholeWithNuma f;
  f.machine("a");
  PodBuilder pod = aPod("elsewhere").request("cpu", "1").priority(9500).nodeName("a");
  pod.object().metadata.annotations[std::string(model::kAnnotationResourceStatus)] =
      R"({"cpuset":"0-15"})";
  f.create(pod);
  f.create(aService("one", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("one"), "");
}

TEST(WholeNuma, a_restart_finds_every_cpu_where_it_was_in_any_order) {
  for (const bool topologyFirst : {true, false}) {
    WholeWithNuma f;
    f.machine("a");
    f.create(aService("one", "4"));
    f.create(aService("two", "6", kWholeCores));
    f.run();
    const std::string one = f.status("one"), two = f.status("two");
    f.restart(topologyFirst);
    f.create(aService("three", "6", kWholeCores));
    f.run();
    EXPECT_EQ(f.status("one"), one);
    EXPECT_EQ(f.status("two"), two);
    EXPECT_EQ(f.nodeOf("three"), "a");
    CpuSet all;
    for (const char* name : {"one", "two", "three"}) {
      const auto status = parseJson(f.status(name));
      const CpuSet cpus = CpuSet::parse(textAt(*status, "cpuset")).value();
      EXPECT_FALSE(all.intersects(cpus)) << name;
      all = all.unionWith(cpus);
    }
    EXPECT_EQ(all.size(), 16);
    f.expectSound();
  }
}

TEST(WholeNuma, a_binding_that_fails_gives_its_cpus_back) {
  WholeWithNuma f;
  f.machine("a", {1, 1, 2, 2});
  bool refuse = true;
  f.beforeBind = [&](const std::string&) -> Result<std::string> {
    if (refuse) return fail(ErrorCode::Invalid, "not now");
    return "{}";
  };
  f.create(aService("one", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("one"), "");
  refuse = false;
  f.run(std::chrono::minutes(2));
  EXPECT_EQ(f.status("one"), R"({"cpuset":"0-3"})");
}

TEST(WholeNuma, a_topology_wakes_who_waits_for_it) {
  WholeWithNuma f;
  f.node(testing::nodeOf("a", Machine{}));
  f.create(aService("web", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("web"), "");
  EXPECT_THAT(f.conditions, Contains(HasSubstr("node(s) invalid CPU Topology")));
  f.report("a");
  f.run();
  EXPECT_EQ(f.nodeOf("web"), "a");
}

TEST(WholeNuma, topologies_that_do_not_help_wake_nobody) {
  WholeWithNuma f;
  for (const char* name : {"a", "b"}) f.node(testing::nodeOf(name, Machine{}));
  f.create(aService("web", "12"));
  f.run(std::chrono::minutes(1));
  const auto told = f.conditions.size();
  f.report("a", {1, 1, 4, 2});
  f.run(std::chrono::minutes(1));
  EXPECT_EQ(f.conditions.size(), told);
  f.report("b");
  f.run(std::chrono::minutes(1));
  EXPECT_EQ(f.nodeOf("web"), "b");
}

TEST(WholeNuma, a_departure_wakes_who_waits_for_its_cpus) {
  WholeWithNuma f;
  f.machine("a");
  f.create(aService("one", "16", kWholeCores));
  f.run();
  PodBuilder two = aService("two", "2", kWholeCores);
  two.object().spec.containers[0].resources.requests["cpu"] = testing::quantity("2");
  f.create(two);
  f.run();
  EXPECT_EQ(f.nodeOf("two"), "");
  f.remove("one");
  f.run();
  EXPECT_EQ(f.status("two"), R"({"cpuset":"0-1"})");
}

TEST(WholeNuma, a_departure_does_not_wake_a_pod_that_no_node_can_serve) {
  WholeWithNuma f;
  f.machine("a");
  f.create(aService("gone", "4", kWholeCores));
  f.create(aService("odd", "2500m", kWholeCores));
  f.run(std::chrono::minutes(1));
  EXPECT_THAT(f.conditions, Contains(HasSubstr("the requested CPUs must be integer")));
  const int before = f.scheduler->queue().find("uid-default-odd")->attempts;
  f.remove("gone");
  f.report("a", {1, 1, 4, 2});
  f.run(std::chrono::minutes(1));
  EXPECT_EQ(f.scheduler->queue().find("uid-default-odd")->attempts, before);
}

TEST(WholeNuma, preemption_frees_cpus) {
  WholeWithNuma f;
  f.machine("a");
  f.create(aService("low", "16", kWholeCores).priority(9000));
  f.run();
  f.create(aService("high", "8", kWholeCores).priority(9900));
  f.run(std::chrono::minutes(1));
  EXPECT_THAT(f.deletions, Contains("low"));
  EXPECT_EQ(f.status("high"), R"({"cpuset":"0-7"})");
  f.expectSound();
}

// --- With reservations.

struct Reserving : NumaWorld {
  explicit Reserving(const std::string& yaml = testing::kWithNuma) : NumaWorld({}, yaml) {}
  void reserve(testing::ReservationBuilder reservation, const std::string& status) {
    reservation.label(std::string(model::kLabelQos), "LSR");
    reservation.annotation(std::string(model::kAnnotationResourceStatus), status);
    world.stores().of<api::Reservation>().set(reservation.owner("app", "web").on("a").build());
  }
};
PodBuilder owner(const std::string& name, const std::string& cpu) {
  PodBuilder pod = aService(name, cpu, kWholeCores);
  pod.label("app", "web");
  return pod;
}

TEST(WholeNuma, an_owner_gets_the_cpus_of_its_reservation) {
  Reserving f;
  f.machine("a");
  f.reserve(aReservation("r").request("cpu", "4"), R"({"cpuset":"4-7"})");
  EXPECT_EQ(f.place(aService("other", "4", kWholeCores)), R"({"cpuset":"8-11"})");
  EXPECT_EQ(f.place(owner("web", "2")), R"({"cpuset":"4-5"})");
  EXPECT_EQ(f.place(owner("web2", "2")), R"({"cpuset":"6-7"})");
  f.expectSound();
}

TEST(WholeNuma, the_one_owner_of_a_reservation_gets_its_cpus_whichever_plugin_comes_first) {
  std::string yaml = testing::kWithNuma;
  const std::string order = "reserve: {enabled: [{name: NodeNUMAResource}, {name: Reservation}]}";
  yaml.replace(yaml.find(order), order.size(),
               "reserve: {enabled: [{name: Reservation}, {name: NodeNUMAResource}]}");
  for (const std::string& each : {std::string(testing::kWithNuma), yaml}) {
    Reserving f(each);
    f.machine("a");
    f.reserve(aReservation("r").request("cpu", "4").policy("Restricted").once(),
              R"({"cpuset":"4-7"})");
    EXPECT_EQ(f.place(owner("web", "4")), R"({"cpuset":"4-7"})");
    EXPECT_EQ(f.place(owner("web2", "2")), R"({"cpuset":"8-9"})");
    f.expectSound();
  }
}

TEST(WholeNuma, nobody_else_gets_the_cpus_of_a_reservation) {
  Reserving f;
  f.machine("a", {1, 1, 4, 2});
  f.world.node(testing::nodeOf("a", {1, 1, 8, 2}));  // so that resources are not missing
  f.reserve(aReservation("r").request("cpu", "6"), R"({"cpuset":"0-5"})");
  EXPECT_THAT(f.ask(aService("other", "4", kWholeCores)), HasSubstr("not enough cpus"));
  EXPECT_EQ(f.ask(aService("other", "2", kWholeCores)), "");
  EXPECT_EQ(f.ask(owner("web", "4")), "");
  PodBuilder ignoring = aService("x", "8", kWholeCores);
  ignoring.label(std::string(model::kLabelReservationIgnored), "true");
  EXPECT_EQ(f.ask(ignoring), "");
}

TEST(WholeNuma, a_restricted_reservation_gives_its_own_cpus_only) {
  Reserving f;
  f.machine("a");
  f.reserve(aReservation("r").request("cpu", "4").policy("Restricted"), R"({"cpuset":"4-7"})");
  EXPECT_EQ(f.place(owner("web", "2")), R"({"cpuset":"4-5"})");
  EXPECT_EQ(f.place(owner("big", "4")), R"({"cpuset":"8-11"})");
}

TEST(WholeNuma, an_owner_is_scored_by_the_zone_and_not_by_what_is_reserved_of_it) {
  Reserving f;
  f.machine("a", {}, {{std::string(kLabelNumaPolicy), "SingleNUMANode"}});
  f.reserve(
      aReservation("r").request("cpu", "4").request("memory", "4Gi").policy("Restricted"),
      R"({"cpuset":"0-3","numaNodeResources":[{"node":0,"resources":{"cpu":"4","memory":"4Gi"}}]})");
  const auto score = [&](const char* cpus) {
    const PodPtr pod = f.world.pod(owner("web", cpus).request("memory", "4Gi"));
    CycleState state;
    EXPECT_TRUE(f.plugin->preFilter(state, *pod).status.ok());
    const std::vector<NodeId> nodes{f.id("a")};
    std::vector<std::int64_t> scores(1);
    EXPECT_TRUE(f.plugin->score(state, *pod, nodes, scores).ok());
    return scores.front();
  };
  // CPUs: four of eight are bound, and it takes four; memory: 4 of 16 GiB.
  EXPECT_EQ(score("4"), (0 + 75) / 2);
  // Two of the four reserved CPUs stay free for it.
  EXPECT_EQ(score("2"), (50 + 75) / 2);
}

TEST(WholeNuma, what_owners_hold_of_zones_is_counted_once) {
  Reserving f;
  f.machine("a", {}, {{std::string(kLabelNumaPolicy), "SingleNUMANode"}});
  f.reserve(aReservation("r").request("cpu", "6"),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"6"}}]})");
  EXPECT_THAT(f.ask(aPod("other").request("cpu", "9")), HasSubstr("NUMA"));
  PodBuilder web = aPod("web").request("cpu", "6").label("app", "web");
  EXPECT_EQ(f.place(web), R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"6"}}]})");
  EXPECT_EQ(f.place(aPod("two").request("cpu", "8")),
            R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"8"}}]})");
  EXPECT_EQ(f.place(aPod("three").request("cpu", "2")),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})");
  f.expectSound();
}

}  // namespace
}  // namespace koord::scheduler
