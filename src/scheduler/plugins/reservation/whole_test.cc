// Reservations in a whole scheduler on an API that stores them, on virtual time.

#include <gmock/gmock.h>

#include "scheduler/plugins/reservation/whole_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aReservation;
using ::testing::Contains;
using testing::forWeb;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodBuilder;
using testing::requesting;
using testing::ReservationBuilder;
using testing::webPod;
using testing::WholeWithReservations;
using testing::withNumaNodes;
using namespace std::chrono_literals;

TEST(ReservationScheduling, a_reservation_becomes_available_on_a_node_and_is_no_pod) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "3"));
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_EQ(f.status("r").nodeName, "n");
  EXPECT_EQ(f.status("r").allocatable.at("cpu"), testing::quantity("3"));
  EXPECT_EQ(f.condition("r", "Scheduled"), "True Scheduled");
  EXPECT_EQ(f.condition("r", "Ready"), "True Available");
  EXPECT_THAT(f.bindings, IsEmpty());
  EXPECT_THAT(f.events, Contains("Scheduled: Successfully assigned r to n"));
  EXPECT_EQ(f.statusWrites, 1);
  f.run(10min);
  EXPECT_EQ(f.statusWrites, 1) << "nothing is written when nothing changes";
  f.expectSound();
}

TEST(ReservationScheduling, one_that_fits_nowhere_says_so_and_comes_when_there_is_room) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "9"));
  EXPECT_EQ(f.condition("r", "Scheduled"), "False Unschedulable");
  EXPECT_THAT(f.events, Contains(HasSubstr("FailedScheduling: 0/1 nodes are available")));
  f.node(aNode("big").allocatable("cpu", "16"));
  f.run(30s);
  EXPECT_EQ(f.status("r").nodeName, "big");
}

TEST(ReservationScheduling, owners_say_which_they_use_with_their_binding) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "3"));
  f.create(webPod("p", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n");
  EXPECT_EQ(f.annotation("p"), R"({"name":"r","uid":"uid-r"})");
  std::size_t writes = 0;
  for (const auto& call : f.api.calls)
    writes += call.resource == "pods" && call.name == "p" && call.verb != kube::Verb::Get;
  EXPECT_EQ(writes, 1u) << "one write per pod";
  ASSERT_EQ(f.status("r").currentOwners.size(), 1u);
  EXPECT_EQ(f.status("r").currentOwners[0].name, "p");
  EXPECT_EQ(f.status("r").allocated.at("cpu"), testing::quantity("2"));
  f.remove("p");
  f.run();
  EXPECT_THAT(f.status("r").currentOwners, IsEmpty());
  EXPECT_FALSE(f.status("r").allocated.contains("cpu"));
  f.expectSound();
}

TEST(ReservationScheduling, a_pod_that_claims_a_reservation_before_it_is_bound_does_not_use_it) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "3").once());
  PodBuilder stranger = aPod("stranger").request("cpu", "1");
  stranger.object().metadata.annotations[model::kAnnotationReservationAllocated] =
      R"({"name":"r","uid":"uid-r"})";
  f.create(stranger);
  f.run();
  ASSERT_EQ(f.nodeOf("stranger"), "n");
  EXPECT_EQ(f.annotation("stranger"), "{}");
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_THAT(f.status("r").currentOwners, IsEmpty());
  f.create(webPod("p", "3"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n");
  f.expectSound();
}

TEST(ReservationScheduling, one_that_is_consumed_gives_back_what_its_owner_left) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4").once());
  f.create(aPod("stranger").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("stranger"), "");
  f.create(webPod("p", "1"));
  f.run(30s);
  EXPECT_EQ(f.status("r").phase, "Succeeded");
  EXPECT_EQ(f.condition("r", "Ready"), "False Succeeded");
  EXPECT_EQ(f.nodeOf("stranger"), "n");
  f.expectSound();
}

TEST(ReservationScheduling, one_whose_last_owner_vanished_is_not_consumed) {
  WholeWithReservations f;
  f.node(aNode("n"));
  auto r = forWeb("r", "2").once().on("n");
  r.object().status.currentOwners.emplace_back().uid = "gone";
  f.reserve(r);
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_THAT(f.status("r").currentOwners, IsEmpty());
}

TEST(ReservationScheduling, a_binding_that_fails_leaves_the_reservation_to_others) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4").once());
  bool refuse = true;
  f.beforeBind = [&](const std::string& pod) -> Result<std::string> {
    if (refuse && pod == "a") return fail(ErrorCode::Forbidden, "not today");
    return "";
  };
  f.create(webPod("a", "4"));
  f.run(500ms);
  EXPECT_EQ(f.status("r").phase, "Available") << "not bound, no owner";
  f.create(webPod("b", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("b"), "n");
  EXPECT_EQ(f.annotation("b"), R"({"name":"r","uid":"uid-r"})");
  f.expectSound();
}

TEST(ReservationScheduling, is_known_again_after_a_restart_whatever_is_seen_first) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "3"));
  f.create(webPod("p", "2"));
  f.run();
  f.again();
  f.node(aNode("n"));
  for (const auto& [name, object] : f.reservations)
    f.scheduler->stores().of<api::Reservation>().set(object);
  f.scheduler->start();
  f.create(webPod("q", "2"));  // 1 of the reservation, 1 of the node
  f.create(aPod("stranger").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("q"), "n");
  EXPECT_EQ(f.nodeOf("stranger"), "");
  EXPECT_EQ(f.status("r").currentOwners.size(), 2u);
  f.expectSound();
}

TEST(ReservationScheduling, expires_also_before_it_had_a_node) {
  WholeWithReservations f;
  f.node(aNode("n"));
  auto placed = forWeb("placed", "1");
  placed.object().spec.ttl = "1h";
  f.reserve(placed);
  auto waiting = forWeb("waiting", "9");
  waiting.object().spec.ttl = "1h";
  f.reserve(waiting);
  auto forever = forWeb("forever", "1");
  forever.object().spec.ttl = "0s";
  f.reserve(forever);
  f.run(59min);
  EXPECT_EQ(f.status("placed").phase, "Available");
  f.run(2min);
  for (const char* name : {"placed", "waiting"}) {
    EXPECT_EQ(f.status(name).phase, "Failed") << name;
    EXPECT_EQ(f.condition(name, "Ready"), "False Expired") << name;
  }
  EXPECT_EQ(f.status("forever").phase, "Available");
  f.node(aNode("big").allocatable("cpu", "16"));
  f.run(1min);
  EXPECT_EQ(f.status("waiting").phase, "Failed") << "it is not in the queue";
  f.run(23h);
  EXPECT_TRUE(f.reservations.contains("placed"));
  f.run(2h);
  EXPECT_FALSE(f.reservations.contains("placed")) << "a day later it is deleted";
  EXPECT_TRUE(f.reservations.contains("forever"));
  f.expectSound();
}

TEST(ReservationScheduling, is_over_when_its_node_is_gone) {
  WholeWithReservations f;
  const auto node = aNode("n");
  f.node(node);
  f.reserve(forWeb("r", "1"));
  f.scheduler->nodeDeleted(node.build());
  f.run();
  EXPECT_EQ(f.status("r").phase, "Failed");
  f.run(2min);
  EXPECT_FALSE(f.reservations.contains("r"));
}

TEST(ReservationScheduling, deleting_one_wakes_who_waits_for_its_room) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4"));
  f.create(aPod("stranger").request("cpu", "2"));
  f.run(30s);
  EXPECT_EQ(f.nodeOf("stranger"), "");
  f.removeReservation("r");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("stranger"), "n");
  f.expectSound();
}

TEST(ReservationScheduling, pods_that_need_one_wait_for_it_and_say_so) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.create(requesting(webPod("p", "2"), "{}"));
  f.run(1min);
  EXPECT_EQ(f.nodeOf("p"), "");
  EXPECT_THAT(f.conditions, Contains(HasSubstr("no reservations match reservation affinity")));
  EXPECT_THAT(f.events, Contains(HasSubstr("FailedScheduling-Reservation: 0/0 reservations")));
  f.reserve(forWeb("r", "2"));
  f.run(30s);
  EXPECT_EQ(f.nodeOf("p"), "n");
  EXPECT_EQ(f.annotation("p"), R"({"name":"r","uid":"uid-r"})");
}

TEST(ReservationScheduling, pods_that_only_reservations_reject_come_when_a_node_does) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "2").policy("Restricted"));
  f.create(webPod("p", "3"));
  f.run(1min);
  EXPECT_EQ(f.nodeOf("p"), "");
  f.node(aNode("other"));
  f.run(15s);
  EXPECT_EQ(f.nodeOf("p"), "other");
}

TEST(ReservationScheduling, conflicts_and_lost_answers_do_not_place_it_twice) {
  WholeWithReservations f;
  f.node(aNode("a"));
  f.node(aNode("b"));
  int refused = 0;
  f.beforeWrite = [&](const kube::Request& request) -> Result<> {
    if (request.subresource != "status" || refused >= 2) return {};
    ++refused;
    return fail(refused == 1 ? ErrorCode::Conflict : ErrorCode::Unavailable, "again");
  };
  f.reserve(forWeb("r", "3"));
  f.run(30s);
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 1u);
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
  f.expectSound();
}

constexpr const char* kFirstNumaNode =
    R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})";
constexpr const char* kSecondNumaNode =
    R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"2"}}]})";

TEST(ReservationScheduling, what_was_written_down_for_a_node_that_it_did_not_get_is_taken_away) {
  for (const bool dies : {false, true}) {
    WholeWithReservations f(withNumaNodes());
    f.machine("a");
    bool refuse = true;
    f.beforeWrite = [&](const kube::Request& request) -> Result<> {
      if (refuse && request.subresource == "status") return fail(ErrorCode::Forbidden, "no");
      return {};
    };
    f.reserve(forWeb("r", "2"));
    EXPECT_EQ(f.status("r").phase, "");
    EXPECT_EQ(f.holdings("r"), kFirstNumaNode);
    if (dies) {
      f.again();
      f.scheduler->stores().of<api::Reservation>().set(f.reservations.at("r"));
      f.scheduler->start();
    } else {
      f.scheduler->nodeDeleted(aNode("a").build());
    }
    f.node(aNode("b"));
    f.run(5s);
    refuse = false;
    f.run(30s);
    EXPECT_EQ(f.status("r").nodeName, "b");
    EXPECT_EQ(f.holdings("r"), "nothing");
    EXPECT_EQ(f.counted("uid-r"), "nothing");
    f.expectSound();
  }
}

TEST(ReservationScheduling, of_two_leaders_the_one_that_writes_the_status_says_what_is_held) {
  for (const bool otherWins : {false, true}) {
    WholeWithReservations f(withNumaNodes());
    f.machine("a");
    bool disturbed = false;
    f.beforeWrite = [&](const kube::Request& request) -> Result<> {
      if (request.subresource == "status" && !std::exchange(disturbed, true))
        f.claim("r", kSecondNumaNode, otherWins ? "a" : "");
      return {};
    };
    f.reserve(forWeb("r", "2"));
    f.run(30s);
    EXPECT_TRUE(disturbed);
    EXPECT_EQ(f.status("r").phase, "Available");
    EXPECT_EQ(f.holdings("r"), otherWins ? kSecondNumaNode : kFirstNumaNode);
    EXPECT_EQ(f.counted("uid-r"), f.holdings("r"));
    f.expectSound();
  }
}

TEST(ReservationScheduling, one_deleted_while_it_is_bound_leaves_nothing_behind) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.beforeWrite = [&](const kube::Request& request) -> Result<> {
    if (request.subresource != "status") return {};
    f.removeReservation("r");
    return fail(ErrorCode::NotFound, "gone");
  };
  f.reserve(forWeb("r", "3"));
  f.run(1min);
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 0u);
  EXPECT_EQ(f.scheduler->cluster().requested(kCpu)[0], 0);
}

TEST(ReservationScheduling, default_preemption_leaves_reservations_alone) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4").label("koordinator.sh/priority", "1"));
  f.create(aPod("vip").request("cpu", "3").priority(1000));
  f.run(1min);
  EXPECT_EQ(f.nodeOf("vip"), "");
  EXPECT_EQ(f.status("r").phase, "Available");
}

TEST(ReservationScheduling, preemption_frees_room_inside_of_a_reservation) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4"));
  f.create(webPod("low", "4").priority(1));
  f.run();
  f.create(webPod("high", "3").priority(10));
  f.run(1min);
  EXPECT_THAT(f.deletions, ::testing::ElementsAre("low"));
  EXPECT_EQ(f.nodeOf("high"), "n");
  EXPECT_EQ(f.annotation("high"), R"({"name":"r","uid":"uid-r"})");
  f.expectSound();
}

TEST(ReservationScheduling, victims_inside_a_reservation_do_not_help_others) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "4"));
  f.create(webPod("low", "4").priority(1));
  f.run();
  f.create(aPod("stranger").request("cpu", "3").priority(10));
  f.run(1min);
  EXPECT_THAT(f.deletions, IsEmpty()) << "the reservation would still be there";
}

TEST(ReservationScheduling, reservations_preempt_pods_of_lower_priority_where_that_is_enabled) {
  WholeWithReservations f("{enablePreemption: true}");
  f.node(aNode("n"));
  f.create(aPod("low").request("cpu", "3").priority(1));
  f.run();
  f.reserve(forWeb("r", "3"));
  f.run(1min);
  EXPECT_THAT(f.deletions, ::testing::ElementsAre("low"));
  EXPECT_EQ(f.status("r").nodeName, "n");
}

TEST(ReservationScheduling, its_own_preemption_spares_pods_that_say_so) {
  WholeWithReservations f("{enablePreemption: true}");
  // The default configuration: this plugin's preemption comes first.
  f.node(aNode("n"));
  f.create(aPod("kept")
               .request("cpu", "2")
               .priority(1)
               .label(std::string(model::kLabelDisablePreemptible), "true"));
  f.create(aPod("low").request("cpu", "2").priority(1));
  f.run();
  f.reserve(forWeb("r", "2"));
  f.run(1min);
  EXPECT_THAT(f.deletions, Not(Contains("kept")));
  EXPECT_EQ(f.status("r").nodeName, "n");
}

TEST(ReservationScheduling, invalid_ones_say_which_field_is_wrong_and_stop_nobody) {
  WholeWithReservations f;
  f.node(aNode("n"));
  auto broken = forWeb("broken", "1");
  broken.object().spec.template_ = json::object{{"spec", "nonsense"}};
  f.reserve(broken);
  auto nobody = forWeb("nobody", "1");
  nobody.object().spec.owners = {};
  f.reserve(nobody);
  auto ttl = forWeb("ttl", "1");
  ttl.object().spec.ttl = "later";
  f.reserve(ttl);
  f.run();
  EXPECT_EQ(f.condition("broken", "Scheduled"), "False Unschedulable");
  EXPECT_THAT(f.status("broken").conditions[0].message, HasSubstr("spec.template.spec"));
  EXPECT_THAT(f.status("nobody").conditions[0].message, HasSubstr("misses the owner spec"));
  EXPECT_THAT(f.events, Contains(HasSubstr("InvalidReservation: spec.ttl")));
  EXPECT_EQ(f.status("ttl").phase, "Available");
  f.create(webPod("p", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n");
}

TEST(ReservationScheduling, one_that_requires_pods_to_be_taken_over_waits_and_says_so) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.reserve(forWeb("r", "1").label(std::string(model::kLabelPreAllocationRequired), "true"));
  f.reserve(forWeb("other", "1"));
  EXPECT_THAT(f.status("r").conditions[0].message,
              HasSubstr("no pod match reservation with pre allocation required"));
  EXPECT_EQ(f.status("other").phase, "Available");
}

TEST(ReservationScheduling, one_that_pods_it_took_over_hold_all_of_is_available_and_they_own_it) {
  WholeWithReservations f;
  f.node(aNode("n"));
  f.create(webPod("running", "3"));
  f.run();
  auto r = forWeb("r", "3").policy("Restricted");
  r.object().spec.preAllocation = true;
  f.reserve(r);
  f.run();
  EXPECT_EQ(f.status("r").phase, "Available");
  EXPECT_EQ(f.condition("r", "Scheduled"), "True Scheduled");
  EXPECT_EQ(f.condition("r", "Ready"), "True Available");
  ASSERT_EQ(f.status("r").currentOwners.size(), 1u);
  EXPECT_EQ(f.status("r").currentOwners[0].name, "running");
  EXPECT_EQ(f.status("r").allocated.at("cpu").toString(), "3");
  f.create(webPod("next", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("next"), "n") << "beside the reservation, whose room is taken";
  f.remove("running");
  f.run();
  EXPECT_THAT(f.status("r").currentOwners, IsEmpty());
  EXPECT_EQ(f.status("r").phase, "Available");
  f.expectSound();
}

TEST(ReservationScheduling, one_deleted_while_it_takes_pods_over_lets_go_of_them) {
  for (const bool writes : {false, true}) {
    WholeWithReservations f;
    f.node(aNode("n"));
    f.create(webPod("running", "3"));
    f.run();
    bool refuses = !writes;  // writes of the pod
    int conflicts = 0;
    f.api.answer = [&f, &refuses, &conflicts,
                    usual = f.api.answer](const kube::Request& request) -> Result<std::string> {
      const auto body = parseJson(request.body);
      const auto* added = body ? at(*body, "metadata", "annotations") : nullptr;
      if (request.name != "running" || !request.subresource.empty() || !added)
        return usual(request);
      if (refuses) return fail(ErrorCode::Unavailable, "not now");
      const std::string_view expected = textAt(*body, "metadata", "resourceVersion");
      if (!expected.empty() && conflicts++ == 0)
        return fail(ErrorCode::Conflict, "somebody else has written");
      json::value document = api::encodeObject(*f.pods.at("running"));
      testing::merge(document.get_object()["metadata"].get_object()["annotations"], *added);
      auto changed = api::decode<api::Pod>(document);
      changed->metadata.resourceVersion = std::to_string(++f.version);
      f.replace(std::make_shared<const api::Pod>(*std::move(changed)));
      return "{}";
    };
    f.api.latency = 10s;
    auto r = forWeb("r", "3").policy("Restricted");
    r.object().spec.preAllocation = true;
    f.reserve(r);
    ASSERT_FALSE(f.scheduler->cluster().findPod("uid-default-running")->grants.empty());
    f.removeReservation("r");
    f.run(1min);
    EXPECT_EQ(f.annotation("running"), "") << writes;
    EXPECT_EQ(conflicts, writes ? 2 : 0) << "it is read again when somebody else has written";
    EXPECT_TRUE(f.scheduler->cluster().findPod("uid-default-running")->grants.empty()) << writes;
    refuses = false;
    f.api.latency = 1ms;
    r.object().metadata.name = "other";
    r.object().metadata.uid = "uid-other";
    f.reserve(r.label(std::string(model::kLabelPreAllocationRequired), "true"));
    EXPECT_EQ(f.status("other").phase, "Available") << writes;
    f.expectSound();
  }
}

TEST(ReservationScheduling, of_another_scheduler_are_counted_and_not_placed) {
  WholeWithReservations f;
  f.node(aNode("n"));
  auto r = forWeb("r", "3");
  r.templateSpec()["schedulerName"] = "other";
  f.reserve(r);
  EXPECT_EQ(f.status("r").phase, "");
  auto placed = forWeb("placed", "3");
  placed.templateSpec()["schedulerName"] = "other";
  f.reserve(placed.on("n"));
  f.create(aPod("stranger").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("stranger"), "");
}

TEST(ReservationScheduling, a_thousand_owners_come_and_go_and_sums_stay_right) {
  WholeWithReservations f;
  for (int n = 0; n < 4; ++n) f.node(aNode("n" + std::to_string(n)).allocatable("cpu", "64"));
  for (int n = 0; n < 8; ++n) f.reserve(forWeb(("r" + std::to_string(n)).c_str(), "8"));
  Random random(3);
  int next = 0;
  for (int step = 0; step < 300; ++step) {
    if (random.chance(0.6)) {
      f.create(webPod("p" + std::to_string(next++), random.chance(0.5) ? "1" : "3"));
    } else if (!f.pods.empty()) {
      const auto it = std::next(f.pods.begin(), static_cast<long>(random.below(f.pods.size())));
      f.remove(std::string(it->first));
    }
    f.run(100ms);
  }
  f.run(1min);
  f.expectSound();
  for (const auto& [name, reservation] : f.reservations) {
    std::size_t owners = 0;
    for (const auto& [pod, object] : f.pods)
      owners += f.annotation(pod) == R"({"name":")" + name + R"(","uid":"uid-)" + name + R"("})" &&
                !object->spec.nodeName.empty();
    EXPECT_EQ(reservation->status.currentOwners.size(), owners) << name;
  }
}

}  // namespace
}  // namespace koord::scheduler
