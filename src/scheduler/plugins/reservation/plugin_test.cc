#include "scheduler/plugins/reservation/plugin.h"

#include <gmock/gmock.h>

#include "scheduler/plugins/reservation/fixture.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aReservation;
using testing::forWeb;
using ::testing::HasSubstr;
using testing::kUnresolvable;
using testing::kUnschedulable;
using testing::PodBuilder;
using testing::requesting;
using testing::ReservationBuilder;
using testing::ReservationWorld;
using testing::webPod;

struct Reservations : ::testing::Test, ReservationWorld {};

TEST_F(Reservations, keep_their_room_from_everybody_else) {
  node("n", "8");
  set(forWeb("r", "6").on("n"));
  EXPECT_EQ(used("n"), 6000);
  EXPECT_EQ(schedule(aPod("stranger").request("cpu", "3")),
            "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(schedule(webPod("web", "3")), "n in r");
  expectSound();
}

// The examples of the specification: a node of 32 cpu, r1 with 8 and an owner of 4, r2 with 16.
struct Examples : Reservations {
  Examples() {
    node("n", "32");
    set(forWeb("r1", "8").owner("only", "r1").on("n"));
    set(forWeb("r2", "16").owner("only", "r2").on("n"));
    running(webPod("o1", "4"), "n", "r1");
  }
};

TEST_F(Examples, a_pod_that_matches_none_has_what_is_left) {
  EXPECT_EQ(used("n"), 24000);
  EXPECT_EQ(schedule(aPod("p").request("cpu", "8")), "n");
  EXPECT_THAT(schedule(aPod("q").request("cpu", "100m")), HasSubstr("Insufficient cpu"));
}

TEST_F(Examples, a_pod_may_use_a_reservation_and_the_rest_of_the_node) {
  EXPECT_EQ(schedule(webPod("p", "20")), "n in r2");
  EXPECT_EQ(used("n"), 28000);
  expectSound();
}

TEST_F(Examples, the_fuller_reservation_is_taken) {
  // r1: (4 + 2) of 8; r2: 2 of 16.
  EXPECT_EQ(schedule(webPod("p", "2")), "n in r1");
}

TEST_F(Examples, two_reservations_are_not_put_together) {
  EXPECT_EQ(answer(webPod("p", "26"), "n"), kUnschedulable + "Insufficient cpu by node");
}

TEST_F(Examples, a_restricted_one_takes_no_pod_that_is_larger) {
  set(forWeb("r2", "16").owner("only", "r2").policy("Restricted").on("n").version("2"));
  const auto pod = aPod("p").request("cpu", "18").label("only", "r2");
  EXPECT_EQ(answer(pod, "n"), kUnschedulable + "Insufficient cpu by node");
  EXPECT_EQ(answer(requesting(pod, "{}"), "n"), kUnschedulable + "Reservation(s) Insufficient cpu");
  EXPECT_EQ(answer(requesting(pod, R"({"name":"r2"})"), "n"),
            kUnschedulable +
                "Reservation(s) Insufficient cpu, requested: 18000, used: 0, capacity: 16000");
}

TEST_F(Examples, a_pod_that_does_not_fit_goes_beside_it_unless_it_must_use_one) {
  set(forWeb("r2", "16").owner("only", "r2").policy("Restricted").on("n").version("2"));
  running(aPod("o2").request("cpu", "12").label("only", "r2"), "n", "r2");
  const auto pod = aPod("p").request("cpu", "6").label("only", "r2");
  EXPECT_EQ(schedule(pod), "n");
  EXPECT_EQ(answer(requesting(aPod("q").request("cpu", "6").label("only", "r2"), "{}"), "n"),
            kUnschedulable + "Reservation(s) Insufficient cpu");
}

TEST_F(Reservations, owners_that_exceed_them_count_in_full_and_no_more_than_that) {
  node("n", "32");
  set(forWeb("r", "16").on("n"));
  running(webPod("o1", "12"), "n", "r");
  running(webPod("o2", "8"), "n", "r");
  EXPECT_EQ(used("n"), 20000) << "the larger of 16 and 20";
  cluster().removePod("uid-default-o2");
  EXPECT_EQ(used("n"), 16000);
  cluster().removePod("uid-default-o1");
  EXPECT_EQ(used("n"), 16000);
  expectSound();
}

TEST_F(Reservations, owners_may_be_seen_before_them) {
  node("n", "32");
  running(webPod("o", "12"), "n", "r");
  EXPECT_EQ(used("n"), 12000);
  set(forWeb("r", "16").on("n"));
  EXPECT_EQ(used("n"), 16000);
  erase("r");
  EXPECT_EQ(used("n"), 12000);
  expectSound();
}

TEST_F(Reservations, what_if_changes_leave_no_trace) {
  node("n", "32");
  set(forWeb("r", "16").on("n"));
  running(webPod("o1", "12"), "n", "r");
  running(webPod("o2", "8"), "n", "r");
  {
    Cluster::Transaction whatIf(cluster());
    cluster().removePod("uid-default-o1");
    EXPECT_EQ(used("n"), 16000);
    cluster().removePod("uid-r");
    EXPECT_EQ(used("n"), 8000);
    expectSound();
    cluster().removePod("uid-default-o2");
  }
  EXPECT_EQ(used("n"), 20000);
  expectSound();
}

TEST_F(Reservations, an_owner_on_another_node_uses_nothing) {
  node("a", "32");
  node("b", "32");
  set(forWeb("r", "16").on("a"));
  running(webPod("o", "12"), "b", "r");
  EXPECT_EQ(used("a"), 16000);
  EXPECT_EQ(used("b"), 12000);
  EXPECT_EQ(schedule(webPod("p", "16")), "a in r");
  expectSound();
}

TEST_F(Reservations, an_annotation_that_cannot_be_read_means_nothing) {
  node("n", "32");
  set(forWeb("r", "16").on("n"));
  PodBuilder pod = webPod("o", "4");
  for (const char* text : {"{", "[]", "{\"uid\":7}", "", "null", "{\"name\":\"r\"}"}) {
    pod.object().metadata.annotations[model::kAnnotationReservationAllocated] = text;
    world.bound(pod.nodeName("n"));
    EXPECT_EQ(used("n"), 20000) << text;
    cluster().removePod("uid-default-o");
  }
  expectSound();
}

TEST_F(Reservations, that_allocate_once_take_one_owner) {
  node("n", "32");
  set(forWeb("r", "16").once().on("n"));
  EXPECT_EQ(schedule(webPod("a", "4")), "n in r");
  EXPECT_EQ(schedule(webPod("b", "4")), "n") << "beside it";
  EXPECT_EQ(used("n"), 20000);
  set(forWeb("r", "16").once().on("n").phase("Succeeded").version("2"));
  EXPECT_EQ(used("n"), 8000) << "what its owner left is free";
  expectSound();
}

TEST_F(Reservations, affinity_allows_nothing_else) {
  node("a", "8");
  node("b", "8");
  set(forWeb("r", "4").on("b"));
  EXPECT_EQ(schedule(requesting(webPod("p", "2"), "{}")), "b in r");
  EXPECT_EQ(schedule(requesting(aPod("stranger").request("cpu", "1"), "{}")),
            "0/2 nodes are available: node(s) no reservations match reservation affinity.");
  EXPECT_EQ(schedule(requesting(webPod("q", "9"), "{}")),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) "
            "[Reservation].");
}

TEST_F(Reservations, affinity_selects_by_labels_of_reservation_and_node) {
  world.node(aNode("a").label("disk", "ssd"));
  world.node(aNode("b").label("disk", "hdd"));
  set(forWeb("ra", "1").label("team", "x").on("a"));
  set(forWeb("rb", "1").label("team", "x").on("b"));
  EXPECT_EQ(schedule(requesting(webPod("p", "1"),
                                R"({"reservationSelector":{"team":"x","disk":"hdd"}})")),
            "b in rb");
  const std::string term = R"({"requiredDuringSchedulingIgnoredDuringExecution":
      {"reservationSelectorTerms":[{"matchExpressions":[
        {"key":"disk","operator":"In","values":["ssd"]}]}]}})";
  EXPECT_EQ(schedule(requesting(webPod("q", "1"), term)), "a in ra");
}

TEST_F(Reservations, affinity_by_name_ignores_taints_and_closing) {
  node("n", "8");
  auto r = forWeb("r", "2").taint("t", "v").on("n");
  r.object().spec.unschedulable = true;
  set(r);
  EXPECT_EQ(schedule(requesting(webPod("p", "1"), R"({"name":"r"})")), "n in r");
  EXPECT_THAT(schedule(requesting(webPod("q", "1"), R"({"name":"other"})")),
              HasSubstr("no reservations match"));
}

TEST_F(Reservations, taints_are_for_pods_that_ask_for_a_reservation) {
  node("n", "8");
  set(forWeb("r", "2").taint("t", "v").on("n"));
  EXPECT_EQ(schedule(webPod("p", "1")), "n in r");
  EXPECT_THAT(schedule(requesting(webPod("q", "1"), "{}")), HasSubstr("no reservations match"));
  EXPECT_EQ(schedule(requesting(webPod("s", "1"),
                                R"({"tolerations":[{"key":"t","operator":"Exists"}]})")),
            "n in r");
}

TEST_F(Reservations, closed_ones_take_no_new_owners) {
  node("n", "8");
  auto r = forWeb("r", "2").on("n");
  r.object().spec.unschedulable = true;
  set(r);
  EXPECT_EQ(schedule(webPod("p", "1")), "n");
  const std::string tolerant =
      R"({"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}]})";
  EXPECT_EQ(schedule(requesting(webPod("q", "1"), tolerant)), "n in r");
}

TEST_F(Reservations, exact_match_compares_every_resource_that_is_named) {
  node("n", "16");
  set(forWeb("r", "4").request("memory", "8Gi").on("n"));
  const auto exact = [](PodBuilder pod, const char* names) {
    pod.object().metadata.annotations[model::kAnnotationExactMatchReservation] =
        std::string(R"({"resourceNames":[)") + names + "]}";
    return pod;
  };
  EXPECT_EQ(schedule(exact(webPod("a", "2"), R"("cpu")")), "n") << "2 is not 4";
  // Upstream stops at the first resource that both lack.
  EXPECT_EQ(schedule(exact(webPod("b", "2"), R"("example.com/x","cpu")")), "n");
  EXPECT_EQ(schedule(exact(webPod("c", "4000m"), R"("example.com/x","cpu")")), "n in r");
}

TEST_F(Reservations, a_pod_that_ignores_them_takes_their_room_and_uses_none) {
  node("n", "8");
  set(forWeb("r", "8").on("n"));
  const auto pod =
      aPod("p").request("cpu", "6").label(std::string(model::kLabelReservationIgnored), "true");
  EXPECT_EQ(schedule(pod), "n");
  EXPECT_EQ(used("n"), 14000);
  expectSound();
}

TEST_F(Reservations, the_lowest_order_goes_first_on_a_node_and_among_nodes) {
  const std::string order(model::kLabelReservationOrder);
  node("a", "8");
  node("b", "8");
  set(forWeb("r1", "2").label(order, "5").on("a"));
  set(forWeb("r2", "4").label(order, "3").on("a"));
  set(forWeb("r3", "4").label(order, "9").on("b"));
  EXPECT_EQ(schedule(webPod("p", "2")), "a in r2");
  const auto scores = world.scores(world.pod(webPod("q", "1")));
  EXPECT_GT(scores.at("a"), 500'000);
  EXPECT_LT(scores.at("b"), 300'000);
}

TEST_F(Reservations, score_is_how_full_they_would_be) {
  node("n", "32");
  set(forWeb("r", "8").request("memory", "16Gi").on("n"));
  running(webPod("o", "4").request("memory", "8Gi"), "n", "r");
  const auto& index = this->index();
  const ReservationMatcher matcher(index, cluster(), {}, false);
  const auto fullness = [&](const char* cpu, const char* memory) {
    return matcher.fullness(*world.pod(webPod("p", cpu).request("memory", memory)),
                            *index.named("r"));
  };
  EXPECT_EQ(fullness("2", "4Gi"), 75);
  EXPECT_EQ(fullness("6", "4Gi"), 37);
  EXPECT_EQ(fullness("1", "9000000000Gi"), 31) << "beyond what 64 bits hold times a hundred";
}

TEST_F(Reservations, owners_are_preferred_to_be_on_nodes_with_one) {
  node("a", "64");
  node("b", "8");
  set(forWeb("r", "4").on("b"));
  EXPECT_EQ(schedule(webPod("p", "2")), "b in r");
}

TEST_F(Reservations, inner_reserved_amounts_are_for_nobody) {
  node("n", "16");
  set(forWeb("r", "8")
          .policy("Restricted")
          .annotation("node.koordinator.sh/reservation", R"({"resources":{"cpu":"2"}})")
          .on("n"));
  EXPECT_EQ(answer(requesting(webPod("p", "7"), "{}"), "n"),
            kUnschedulable + "Reservation(s) Insufficient cpu");
  EXPECT_EQ(schedule(requesting(webPod("q", "6"), "{}")), "n in r");
}

TEST_F(Reservations, restricted_options_limit_some_resources_only) {
  node("n", "16");
  set(forWeb("r", "4")
          .request("memory", "1Gi")
          .policy("Restricted")
          .annotation("scheduling.koordinator.sh/reservation-restricted-options",
                      R"({"resources":["memory"]})")
          .on("n"));
  EXPECT_EQ(schedule(requesting(webPod("p", "6").request("memory", "1Gi"), "{}")), "n in r");
  EXPECT_EQ(answer(requesting(webPod("q", "1").request("memory", "1Gi"), "{}"), "n"),
            kUnschedulable + "Reservation(s) Insufficient memory");
}

TEST_F(Reservations, owners_use_resources_that_restricted_options_do_not_limit) {
  node("n", "8");
  const auto limitingMemory = [](const char* name, const char* cpu, const char* memory) {
    return forWeb(name, cpu)
        .request("memory", memory)
        .policy("Restricted")
        .annotation("scheduling.koordinator.sh/reservation-restricted-options",
                    R"({"resources":["memory"]})");
  };
  set(limitingMemory("r", "4", "4Gi").on("n"));
  set(limitingMemory("empty", "2", "2Gi").on("n"));
  running(webPod("owner", "3").request("memory", "1Gi"), "n", "r");
  EXPECT_EQ(used("n"), 6000) << "the owner's 3 CPUs are part of what is reserved";
  EXPECT_EQ(answer(aPod("stranger").request("cpu", "2"), "n"), "");
  EXPECT_EQ(schedule(webPod("p", "1").request("memory", "1Gi")), "n in r") << "the fuller one";
  expectSound();
}

TEST_F(Reservations, that_count_pods_take_so_many) {
  node("n", "16");
  set(forWeb("r", "8").request("pods", "1").policy("Restricted").on("n"));
  EXPECT_EQ(schedule(requesting(webPod("p", "1"), "{}")), "n in r");
  EXPECT_EQ(answer(requesting(webPod("q", "1"), "{}"), "n"),
            kUnschedulable + "Reservation(s) Too many pods");
  EXPECT_EQ(answer(requesting(webPod("q", "1"), R"({"name":"r"})"), "n"),
            kUnschedulable + "Reservation(s) Too many pods, requested: 1, used: 1, capacity: 1");
}

TEST_F(Reservations, reserve_pods_are_no_pods_to_their_owners) {
  world.node(aNode("n").allocatable("cpu", "8").allocatable("pods", "2"));
  set(forWeb("r", "4").on("n"));
  EXPECT_EQ(schedule(webPod("p", "1")), "n in r");
  EXPECT_EQ(schedule(webPod("q", "1")), "n in r");
  EXPECT_THAT(schedule(webPod("s", "1")), HasSubstr("Too many pods"));
}

TEST_F(Reservations, owners_take_the_host_ports_that_are_held_for_them) {
  node("n", "8");
  set(forWeb("r", "4").hostPort(80).on("n"));
  EXPECT_THAT(schedule(aPod("stranger").hostPort(80)), HasSubstr("free ports"));
  EXPECT_EQ(schedule(webPod("p", "1").hostPort(80)), "n in r");
  EXPECT_THAT(schedule(webPod("q", "1").hostPort(80)), HasSubstr("free ports"));
  erase("r");
  EXPECT_THAT(schedule(webPod("s", "1").hostPort(80)), HasSubstr("free ports"))
      << "its owner lives on";
}

TEST_F(Reservations, owners_do_not_mind_the_anti_affinity_of_their_reserve_pod) {
  world.node(aNode("n").label("host", "n"));
  auto r = forWeb("r", "2").on("n");
  r.templateMetadata()["labels"] = json::object{{"app", "web"}};
  r.templateSpec()["affinity"] = *parseJson(R"({"podAntiAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"host","labelSelector":{"matchLabels":{"app":"web"}}}]}})");
  set(r);
  const auto apart = [](const char* name) { return webPod(name, "1").apart("host", "app", "web"); };
  EXPECT_EQ(schedule(apart("p")), "n in r");
  EXPECT_THAT(schedule(apart("q")), HasSubstr("anti-affinity")) << "p is there";
}

TEST_F(Reservations, policies_that_do_not_go_together_are_kept_apart) {
  node("a", "8");
  node("b", "8");
  set(forWeb("r1", "2").policy("").on("a"));
  set(forWeb("r2", "2").policy("Restricted").on("b"));
  set(forWeb("new", "2").policy("Aligned"));
  const PodPtr info = makePodInfo(cluster(), index().named("new")->unit, &index().kind());
  const auto answers = world.filter(info);
  EXPECT_EQ(answers.at("a"), kUnresolvable + "node(s) reservation allocate policy conflict");
  EXPECT_EQ(answers.at("b"), "");
}

// The pod of a dry run that represents a Reservation for a pod's new place.
TEST_F(Reservations, that_are_to_be_use_no_other_and_stay_off_where_policies_do_not_go_together) {
  const auto toBe = [](PodBuilder pod) {
    pod.object().metadata.annotations[model::kAnnotationReservePod] = "true";
    return pod;
  };
  node("n", "8");
  set(forWeb("r", "6").policy("").on("n"));
  EXPECT_THAT(schedule(toBe(webPod("large", "3"))), HasSubstr("1 Insufficient cpu"));
  EXPECT_EQ(schedule(toBe(webPod("small", "2"))), "n");
  node("m", "8");
  set(forWeb("q", "2").policy("Restricted").on("m"));
  EXPECT_EQ(answer(toBe(webPod("next", "1")), "m"),
            kUnresolvable + "node(s) reservation allocate policy conflict");
  EXPECT_EQ(schedule(webPod("plain", "3")), "n in r")
      << "others of the same class are not taken for it";
  EXPECT_EQ(schedule(toBe(requesting(webPod("must", "2"), R"({"name":"q"})"))), "m in q")
      << "one that must use a reservation is looked at as it is";
  expectSound();
}

TEST_F(Reservations, what_is_said_when_none_is_of_use) {
  node("a", "4");
  node("b", "4");
  set(forWeb("r1", "1").on("a"));
  set(forWeb("r2", "1").taint("t", "v").on("b"));
  auto closed = forWeb("r3", "1").on("b");
  closed.object().spec.unschedulable = true;
  set(closed);
  const PodPtr pod = world.pod(requesting(webPod("p", "9"), "{}"));
  CycleState state;
  SearchResult found = world.search().find(state, pod);
  const PostFilterResult said = plugin->postFilter(state, pod, found.diagnosis);
  EXPECT_THAT(said.status.reasons(),
              ::testing::ElementsAre("1 Reservation(s) is unschedulable",
                                     "1 Reservation(s) had untolerated taint {t: v}",
                                     "1 Reservation(s) for node reason that Insufficient cpu",
                                     "3 Reservation(s) matched owner total"));
}

TEST_F(Reservations, a_pod_that_ignores_them_is_told_of_none) {
  node("a", "4");
  set(forWeb("r", "1").on("a"));
  const auto reasonsOf = [&](const auto& pod) {
    CycleState state;
    SearchResult found = world.search().find(state, pod);
    return plugin->postFilter(state, pod, found.diagnosis).status.reasons();
  };
  const std::string ignored(model::kLabelReservationIgnored);
  EXPECT_THAT(reasonsOf(world.pod(webPod("p", "9").label(ignored, "true"))), ::testing::IsEmpty());
  EXPECT_THAT(reasonsOf(world.pod(requesting(webPod("q", "9").label(ignored, "true"), "{}"))),
              ::testing::ElementsAre("0 Reservation(s) matched owner total"));
}

TEST_F(Reservations, bad_wishes_are_errors_that_name_the_field) {
  node("n", "8");
  EXPECT_THAT(schedule(requesting(webPod("p", "1"), "{")),
              HasSubstr("metadata.annotations[scheduling.koordinator.sh/reservation-affinity]"));
  EXPECT_THAT(schedule(requesting(webPod("q", "1"), R"({"name":5})")), HasSubstr("name"));
  EXPECT_EQ(schedule(webPod("fine", "1")), "n") << "nobody else is held up";
}

TEST_F(Reservations, with_owners_that_cannot_be_read_are_held_for_nobody) {
  node("n", "8");
  auto r = aReservation("r").request("cpu", "6").on("n");
  auto& selector = r.object().spec.owners.emplace_back().labelSelector.emplace();
  selector.matchExpressions.push_back({"app", "Near", {"web"}});
  set(r);
  EXPECT_EQ(used("n"), 6000);
  EXPECT_THAT(schedule(webPod("p", "4")), HasSubstr("Insufficient cpu"));
  EXPECT_THAT(index().named("r")->ownersError, HasSubstr("spec.owners[0].labelSelector"));
}

TEST_F(Reservations, that_cannot_be_scheduled_say_which_field_is_wrong) {
  const auto errorOf = [&](auto&& change) {
    auto r = forWeb("r", "1");
    change(r.object());
    set(r);
    return index().named("r")->error;
  };
  EXPECT_EQ(errorOf([](auto& r) { r.spec.owners = {}; }), "the reservation misses the owner spec");
  EXPECT_EQ(errorOf([](auto& r) { r.spec.ttl = {}; }),
            "the reservation misses the expiration spec");
  EXPECT_THAT(errorOf([](auto& r) { r.spec.template_ = json::array(); }),
              HasSubstr("spec.template"));
  EXPECT_THAT(errorOf([](auto& r) {
                r.spec.template_ = *parseJson(
                    R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}})");
              }),
              HasSubstr("spec.template.spec.containers[0].resources.requests[cpu]"));
  EXPECT_EQ(errorOf([](auto& r) {
              r.spec.template_ = *parseJson(
                  R"({"spec":{"initContainers":[{"resources":{"limits":{"cpu":"-2"}}}]}})");
            }),
            "spec.template.spec.initContainers[0].resources.limits[cpu]: Invalid value: \"-2\": "
            "must not be negative");
}

TEST_F(Reservations, another_plugin_may_say_that_one_does_not_fit) {
  struct Cpus final : Plugin, ReservationFilterOffer, ReservationScoreOffer {
    std::string_view name() const override { return "Cpus"; }
    Status filterReservation(const PodInfo&, const ReservationOnNode& reservation,
                             NodeId) override {
      return reservation.name == "r1" ? Status::unschedulable("Reservation(s) no aligned CPUs")
                                      : Status{};
    }
    std::int64_t scoreReservation(const PodInfo&, const ReservationOnNode& reservation,
                                  NodeId) override {
      return reservation.name == "r3" ? 100 : 0;
    }
  };
  Registry registry = makeRegistry();
  registry["Cpus"] = [](Fields&, Handle&) { return std::make_unique<Cpus>(); };
  std::string yaml = testing::kWithReservations;
  yaml.replace(yaml.find("{name: Reservation}"), 19, "{name: Reservation}, {name: Cpus}");
  ReservationWorld other(registry, yaml);
  other.node("n", "32");
  other.set(forWeb("r1", "4").on("n"));
  EXPECT_EQ(other.answer(requesting(webPod("p", "2"), "{}"), "n"),
            kUnschedulable + "Reservation(s) no aligned CPUs");
  other.set(forWeb("r2", "4").on("n"));
  EXPECT_EQ(other.schedule(requesting(webPod("q", "2"), "{}")), "n in r2");
  other.set(forWeb("r3", "16").on("n"));
  EXPECT_EQ(other.schedule(webPod("s", "2")), "n in r3");
  EXPECT_EQ(other.plugin->matchedReservations(*other.world.pod(webPod("t", "1")), 0).size(), 3u);
  EXPECT_EQ(other.plugin->otherReservations(*other.world.pod(aPod("t")), 0).size(), 3u);
  EXPECT_EQ(other.plugin->reservationOf("uid-default-s"), "uid-r3");
}

TEST_F(Reservations, scores_do_not_see_reserve_pods_that_match_either) {
  for (const char* name : {"n", "m"})
    world.node(aNode(name).allocatable("cpu", "16").label("kubernetes.io/hostname", name));
  auto r = forWeb("r", "4").on("n");
  r.templateMetadata()["labels"] = json::object{{"app", "web"}};
  set(r);
  PodBuilder pod = webPod("p", "1").label(std::string(model::kLabelReservationIgnored), "true");
  auto& spread = pod.object().spec.topologySpreadConstraints.emplace_back();
  spread.maxSkew = 1;
  spread.topologyKey = "kubernetes.io/hostname";
  spread.whenUnsatisfiable = "ScheduleAnyway";
  spread.labelSelector.emplace().matchLabels["app"] = "web";
  auto scores = world.scores(world.pod(pod));
  EXPECT_EQ(scores["n"], scores["m"]);
  running(webPod("q", "0"), "n", "");
  scores = world.scores(world.pod(pod));
  EXPECT_LT(scores["n"], scores["m"]) << "but those of pods they do";
}

TEST_F(Reservations, the_only_owner_of_one_still_finds_it) {
  node("n", "32");
  set(forWeb("r", "4").once().on("n"));
  EXPECT_EQ(schedule(webPod("p", "2")), "n in r");
  const PodInfo& owner = *cluster().findPod("uid-default-p")->info;
  const PodPtr other = world.pod(webPod("q", "2"));
  ASSERT_EQ(plugin->matchedReservations(owner, 0).size(), 1u);
  EXPECT_EQ(plugin->matchedReservations(owner, 0)[0].owners,
            std::vector<std::string>{"uid-default-p"});
  EXPECT_TRUE(plugin->otherReservations(owner, 0).empty());
  EXPECT_EQ(plugin->nominationOf(owner, 0, true), "uid-r");
  EXPECT_TRUE(plugin->matchedReservations(*other, 0).empty());
  EXPECT_EQ(plugin->otherReservations(*other, 0).size(), 1u);
  EXPECT_EQ(plugin->nominationOf(*other, 0, false), "");
}

TEST_F(Reservations, drift_is_told_with_both_values) {
  node("n", "32");
  set(forWeb("r", "16").on("n"));
  running(webPod("o", "4"), "n", "r");
  auto& use = const_cast<ReservationUse&>(*index().ledger().find("uid-r"));
  use.requests.base[kCpu] += 1000;
  EXPECT_THAT(cluster().verifyNode(0), HasSubstr("stored 1 owners with 0=5000"));
  EXPECT_THAT(cluster().verifyNode(0), HasSubstr("counted 1 with 0=4000"));
  cluster().repairNode(0, cluster().checkNode(0));
  expectSound();
  EXPECT_EQ(index().ledger().find("uid-r")->requests.base[kCpu], 4000);
  const_cast<std::int64_t&>(cluster().requested(kCpu)[0]) += 5;
  EXPECT_THAT(cluster().verifyNode(0), HasSubstr("resources: cpu: kept 16005, counted 16000"));
  cluster().repairNode(0, cluster().checkNode(0));
  EXPECT_EQ(used("n"), 16000);
  expectSound();
}

TEST_F(Reservations, an_explanation_says_why_each_was_not_used) {
  node("n", "8");
  set(forWeb("full", "1").policy("Restricted").on("n"));
  set(forWeb("tainted", "1").taint("t").on("n"));
  set(forWeb("waiting", "1"));
  set(aReservation("others").request("cpu", "1").owner("app", "db").on("n"));
  world.bound(requesting(webPod("p", "2"), "{}").nodeName("n"));
  const auto routes = plugin->routes();
  const auto route =
      std::ranges::find(routes, std::string("explain/"), &ServicePlugin::Route::path);
  const auto answer = route->answer("default/p");
  ASSERT_TRUE(answer) << answer.error().message;
  std::map<std::string, std::string> reasons;
  for (const auto& item : at(*answer, "reservations")->get_array())
    reasons[std::string(textAt(item, "name"))] = textAt(item, "reason");
  EXPECT_EQ(reasons,
            (std::map<std::string, std::string>{{"full", "Reservation(s) Insufficient cpu"},
                                                {"tainted", "it has the taint t=:NoSchedule"},
                                                {"waiting", "its phase is Pending"}}));
  EXPECT_FALSE(route->answer("default/nobody"));
  EXPECT_FALSE(route->answer("nonsense"));
}

TEST_F(Reservations, an_explanation_says_what_else_keeps_a_pod_off_the_node_of_a_match) {
  node("n", "8");
  world.node(aNode("tainted").allocatable("cpu", "8").taint("gpu", "NoSchedule"));
  set(forWeb("r", "2").on("n"));
  set(forWeb("t", "2").on("tainted"));
  PodBuilder pod = webPod("p", "1");
  pod.object().spec.nodeSelector["zone"] = "b";
  const auto reasonsFor = [&](const PodBuilder& each) {
    const json::value facts = plugin->factsOf(*world.pod(each));
    std::map<std::string, std::string> reasons;
    for (const auto& item : at(facts, "reservations")->get_array()) {
      EXPECT_TRUE(at(item, "matched")->get_bool());
      reasons[std::string(textAt(item, "name"))] = textAt(item, "reason");
    }
    return reasons;
  };
  EXPECT_EQ(reasonsFor(pod)["r"], "node(s) didn't match Pod's node affinity/selector");
  const auto reasons = reasonsFor(webPod("q", "1"));
  EXPECT_EQ(reasons.at("r"), "");
  EXPECT_THAT(reasons.at("t"), HasSubstr("untolerated taint"));
}

TEST_F(Reservations, what_services_and_metrics_tell_comes_from_the_ledger) {
  node("n", "32");
  set(forWeb("r", "16").request("memory", "32Gi").on("n"));
  running(webPod("o", "4").request("memory", "8Gi"), "n", "r");
  const auto routes = plugin->routes();
  const auto ask = [&](const char* path, const char* rest) {
    const auto route = std::ranges::find(routes, std::string(path), &ServicePlugin::Route::path);
    return route->answer(rest);
  };
  const auto items = ask("nodeReservations/", "n");
  ASSERT_TRUE(items);
  const auto& item = at(*items, "items")->get_array()[0];
  EXPECT_EQ(textAt(item, "allocated", "cpu"), "4");
  EXPECT_EQ(textAt(item, "allocated", "memory"), "8Gi");
  EXPECT_EQ(textAt(at(item, "assignedPods")->get_array()[0], "Name"), "o");
  const auto one = ask("reservations/", "r");
  ASSERT_TRUE(one);
  EXPECT_EQ(textAt(*one, "remaining", "cpu"), "12");
  EXPECT_EQ(textAt(*one, "phase"), "Available");
  EXPECT_FALSE(ask("reservations/", "none"));
  EXPECT_THAT(plugin->metrics(),
              HasSubstr("scheduler_reservation_resource{name=\"r\",resource=\"cpu\","
                        "type=\"utilization\",unit=\"ratio\"} 0.25\n"));
  EXPECT_THAT(plugin->metrics(),
              HasSubstr("scheduler_reservation_status_phase{name=\"r\",phase=\"Available\"} 1\n"));
}

TEST(SelectorIndexMetrics, tell_on_how_many_nodes_the_fewest_reservations_are_that_a_pod_asks_for) {
  ReservationWorld f(makeRegistry(),
                     std::string(testing::kWithReservations) +
                         "  pluginConfig: [{name: Reservation, args: {reservationSelectorIndex: "
                         "{enabled: true, keys: [team], keyPrefixes: [zone/]}}}]\n");
  for (const char* name : {"a", "b"}) f.node(name, "32");
  f.set(forWeb("r1", "4").label("team", "x").label("zone/one", "1").on("a"));
  f.set(forWeb("r2", "4").label("team", "x").on("a"));
  f.set(forWeb("r3", "4").label("team", "x").on("b"));
  const auto ask = [&](const char* labels) {
    f.world.filter(f.world.pod(
        requesting(webPod("p", "1"), std::string(R"({"reservationSelector":)") + labels + "}")));
  };
  ask(R"({"team":"x"})");
  ask(R"({"team":"x","zone/one":"1"})");
  ask(R"({"team":"none"})");
  ask(R"({"other":"x"})");
  const std::string text = f.plugin->metrics();
  EXPECT_THAT(text, HasSubstr("query_total{result=\"hit\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("query_total{result=\"miss\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("candidates_count_sum 3\n"));
}

}  // namespace
}  // namespace koord::scheduler
