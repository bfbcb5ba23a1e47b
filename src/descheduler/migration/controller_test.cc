#include "descheduler/migration/controller.h"

#include "descheduler/migration/keys.h"
#include "descheduler/migration/world_test.h"

// Tests jobs of all creators from beginning to end.

namespace koord::descheduler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MigrationController, moves_a_pod_into_room_that_was_reserved_first) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Succeeded : Bind Pod \"default/web-new-1\" in Reservation"));
  EXPECT_THAT(
      w.conditionsOf("j"),
      ElementsAre("ReservationCreated True", "ReservationScheduled True", "Eviction True",
                  "PodBoundReservation True", "ReservationBound True", "BoundPodReady True"));
  EXPECT_EQ(w.job("j").status.nodeName, "n2");
  EXPECT_EQ(w.job("j").status.podRef->name, "web-new-1");
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
}

TEST(MigrationController, evicts_directly_where_it_is_told_to) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.moveDirectly("j", "web-0");
  w.run(10s);
  EXPECT_EQ(w.stateOf("j"), "Succeeded : Pod \"default/web-0\" has been evicted");
  EXPECT_EQ(w.evictions(), 1);
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, gives_up_in_time_where_there_is_no_room_and_leaves_nothing) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_EQ(w.list(api::Reservation::kType).size(), 1u);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running"));
  w.run(5min);
  EXPECT_EQ(w.stateOf("j"),
            "Failed Timeout: Abort job caused by timeout: no scheduler processed the Reservation: "
            "does koord-scheduler run with its plugin Reservation?");
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, does_not_move_a_pod_to_where_it_is) {
  MigrationWorld w;
  w.reservationsGoTo = "n1";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Failed ForbiddenMigratePod: Scheduler assignes the Reservation"));
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, lets_a_pod_be_whose_room_somebody_else_took) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.pod("web", "web-extra", "n2");
  w.bind("web-extra", "Pending");
  w.run(5s);
  EXPECT_EQ(w.stateOf("j"),
            "Failed ForbiddenMigratePod: Reservation is already bound by another Pod");
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_pod_that_waits_for_a_node_itself_is_not_evicted) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.pod("web", "waiting", "", "", false);
  w.patch(
      api::Pod::kType, "waiting",
      R"({"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False"}]}})",
      "default", "status");
  w.start();
  w.move("j", "waiting");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running"));
  w.bindPod("waiting", "n3");
  w.run(5s);
  EXPECT_EQ(w.stateOf("j"), "Succeeded : Assign Pod \"default/waiting\" to node \"n3\"");
  EXPECT_TRUE(w.list(api::Reservation::kType).empty()) << "it did not need the room";
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, notices_a_pod_that_somebody_deletes_meanwhile) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.api.remove(api::Pod::kType, "web-0", "default");
  w.reservationsGoTo = "n2";
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed MissingPod"));
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, a_job_that_is_deleted_takes_its_reservation_with_it) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  ASSERT_EQ(w.list(api::Reservation::kType).size(), 1u);
  w.api.remove(api::PodMigrationJob::kType, "j");
  w.run(3s);
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, a_reservation_that_the_user_made_is_used_and_stays_his) {
  MigrationWorld w;
  w.reservationsGoTo = "n1";
  w.workload("web", 4);
  w.start();
  w.api.put(api::Reservation::kType,
            R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":)"
            R"({"name":"mine"},"spec":{"owners":[{"labelSelector":{"matchLabels":{"app":"web"}}}],)"
            R"("template":{"spec":{"containers":[]}}}})");
  w.makeJob("j", R"({"podRef":{"namespace":"default","name":"web-0"},)"
                 R"("reservationOptions":{"reservationRef":{"name":"mine"}}})");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed ForbiddenMigratePod"));
  EXPECT_EQ(w.list(api::Reservation::kType).size(), 1u);
}

TEST(MigrationController,
     a_reservation_of_somebody_else_under_the_templates_name_is_neither_used_nor_deleted) {
  MigrationWorld w;
  w.workload("web", 4);
  w.api.put(
      api::Reservation::kType,
      R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation",)"
      R"("metadata":{"name":"theirs"},"spec":{"ttl":"24h","owners":[{"object":{"name":"x"}}],)"
      R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  w.start();
  w.makeJob("j",
            R"({"mode":"ReservationFirst","ttl":"5m","podRef":{"namespace":"default",)"
            R"("name":"web-0"},"reservationOptions":{"template":{"metadata":{"name":"theirs"}}}})");
  w.run(10s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed FailedCreateReservation"));
  EXPECT_TRUE(w.api.get(api::Reservation::kType, "theirs"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, ends_at_once_when_its_reservation_is_gone) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.api.remove(api::Reservation::kType, w.job("j").metadata.uid);
  w.run(2s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed MissingReservation"));
}

TEST(MigrationController, a_status_that_somebody_wrote_by_hand_ends_the_job_and_not_the_process) {
  for (const char* conditions :
       {R"([{"type":"ReservationBound","status":"True"},{"type":"Eviction","status":"True"}])",
        R"([{"type":"ReservationBound","status":"True"}])"}) {
    MigrationWorld w;
    w.reservationsGoTo = "";
    w.workload("web", 4);
    w.start();
    w.move("j", "web-0");
    w.run(3s);
    const auto reservations = w.list(api::Reservation::kType);
    ASSERT_EQ(reservations.size(), 1u);
    w.process.reset();
    w.api.remove(api::Reservation::kType, std::string(textAt(reservations[0], "metadata", "name")));
    w.patch(api::PodMigrationJob::kType, "j",
            fmt::format(R"({{"status":{{"phase":"Running","conditions":{}}}}})", conditions), "",
            "status");
    w.start();
    w.run(5s);
    EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed MissingReservation")) << conditions;
    EXPECT_EQ(w.evictions(), 0);
  }
}

TEST(MigrationController, evicts_nobody_for_room_that_is_not_held_any_more) {
  for (const bool expired : {false, true}) {
    MigrationWorld w;
    w.workload("web", 4);
    w.start();
    w.api.failure = [](const kube::Request& request) -> std::optional<Error> {
      if (request.subresource != "eviction") return std::nullopt;
      return Error{ErrorCode::TooManyRequests, "a budget"};
    };
    w.move("j", "web-0");
    w.run(5s);
    EXPECT_GE(w.evictions(), 1);
    const std::string room(textAt(w.list(api::Reservation::kType).at(0), "metadata", "name"));
    w.api.mutedResource = "reservations";  // no events of Reservations
    w.patch(api::Reservation::kType, room,
            fmt::format(R"({{"status":{{"phase":"Failed","conditions":[{{"type":"Ready","status":)"
                        R"("False","reason":"{}","message":"its node does not exist"}}]}}}})",
                        expired ? "Expired" : "NodeGone"),
            "", "status");
    w.api.failure = nullptr;
    const int before = w.evictions();
    w.run(10s);
    EXPECT_EQ(w.evictions(), before);
    EXPECT_EQ(w.stateOf("j"), expired ? "Failed ReservationExpired: Reservation expired"
                                      : "Failed Unschedulable: its node does not exist");
  }
}

TEST(MigrationController, retries_an_eviction_that_a_budget_forbids) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  bool full = true;
  w.api.failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (full && request.subresource == "eviction")
      return Error{ErrorCode::TooManyRequests, "Cannot evict pod as it would violate the budget"};
    return std::nullopt;
  };
  w.moveDirectly("j", "web-0");
  w.run(40s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running Evicting"));
  EXPECT_LT(w.evictions(), 20);
  full = false;
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Succeeded"));
}

TEST(MigrationController, soft_evictions_are_asked_for_and_taken_back) {
  MigrationWorld w;
  w.args.evictionPolicy = "SoftEviction";
  w.workload("web", 4);
  w.start();
  w.moveDirectly("j", "web-0");
  w.run(10s);
  const auto asked = w.api.get(api::Pod::kType, "web-0", "default");
  ASSERT_TRUE(asked);
  EXPECT_THAT(std::string(textAt(*asked, "metadata", "annotations",
                                 "scheduling.koordinator.sh/soft-eviction")),
              HasSubstr("\"reason\":\"NotSet\""));
  w.run(5min);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed Timeout"));
  EXPECT_TRUE(textAt(*w.api.get(api::Pod::kType, "web-0", "default"), "metadata", "annotations",
                     "scheduling.koordinator.sh/soft-eviction")
                  .empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, paused_jobs_wait) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.makeJob(
      "j",
      R"({"mode":"EvictDirectly","paused":true,"podRef":{"namespace":"default","name":"web-0"}})");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  w.patch(api::PodMigrationJob::kType, "j", R"({"spec":{"paused":false}})");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Succeeded"));
}

TEST(MigrationController, old_jobs_are_deleted_with_their_reservations) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.moveDirectly("short", "web-0");
  w.makeJob("paused", R"({"paused":true,"podRef":{"namespace":"default","name":"web-1"}})");
  w.run(9min);
  EXPECT_EQ(w.jobs().size(), 2u);
  w.run(3min);
  EXPECT_EQ(w.jobs().size(), 1u);
  w.run(20min);
  EXPECT_TRUE(w.jobs().empty());
}

// --- Invalid jobs.

TEST(MigrationController, hand_made_nonsense_is_told_and_nobody_is_evicted) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  const std::string pod = R"("podRef":{"namespace":"default","name":"web-0"})";
  w.makeJob("mode", "{" + pod + R"(,"mode":"Jump"})");
  w.makeJob("ttl", "{" + pod + R"(,"ttl":"soon"})");
  w.makeJob("nameless", R"({"podRef":{"namespace":"default"}})");
  w.makeJob("missing",
            R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"nobody"}})");
  w.makeJob(
      "other",
      R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"web-1","uid":"x"}})");
  w.makeJob(
      "ref",
      "{" + pod +
          R"(,"mode":"ReservationFirst","reservationOptions":{"reservationRef":{"name":"none"}}})");
  w.run(10s);
  EXPECT_THAT(w.stateOf("mode"), HasSubstr("Failed InvalidSpec: spec.mode: \"Jump\""));
  EXPECT_THAT(w.stateOf("ttl"), HasSubstr("Failed InvalidSpec: spec.ttl"));
  EXPECT_EQ(w.stateOf("nameless"), "Failed InvalidPodRef: Abort job caused by invalid PodRef");
  EXPECT_EQ(w.stateOf("missing"),
            "Failed MissingPod: Abort job caused by missing Pod \"default/nobody\"");
  EXPECT_THAT(w.stateOf("other"), HasSubstr("Failed MissingPod"));
  EXPECT_THAT(w.stateOf("ref"), HasSubstr("Failed MissingReservation"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_bare_pod_gets_no_reservation_that_nobody_could_own) {
  MigrationWorld w;
  w.args.evictor.evictAllBarePods = true;
  w.pod("", "bare", "n1");
  w.start();
  w.move("j", "bare");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Failed FailedCreateReservation: the pod has no controller"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, two_jobs_for_one_pod_evict_it_once) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.moveDirectly("first", "web-0");
  w.moveDirectly("second", "web-0");
  w.run(30s);
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
  int succeeded = 0;
  for (const auto& job : w.jobs()) succeeded += job.status.phase == "Succeeded" ? 1 : 0;
  EXPECT_EQ(succeeded, 1);
}

TEST(MigrationController, a_job_that_names_no_uid_means_the_pod_that_was_there_when_it_was_made) {
  MigrationWorld w;
  w.podsComeBack = false;
  w.workload("web", 4);
  w.moveDirectly("j", "web-0");
  w.run(5s);
  w.api.remove(api::Pod::kType, "web-0", "default");
  w.pod("web", "web-0", "n1");
  w.start();
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"),
              AllOf(HasSubstr("Failed MissingPod"), HasSubstr("created after the job")));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_pod_that_is_back_within_the_second_is_not_moved_for_the_one_before_it) {
  MigrationWorld w;
  w.podsComeBack = false;
  w.workload("web", 4);
  w.start();
  w.makeJob("second", R"({"mode":"EvictDirectly","paused":true,"ttl":"1h",)"
                      R"("podRef":{"namespace":"default","name":"web-0"}})");
  w.moveDirectly("first", "web-0");
  w.run(800ms);
  ASSERT_EQ(w.evictionsOf("web-0"), 1);
  w.pod("web", "web-0", "n1");
  w.patch(api::PodMigrationJob::kType, "second", R"({"spec":{"paused":false}})");
  w.run(20min);
  EXPECT_THAT(w.stateOf("second"),
              AllOf(HasSubstr("Failed MissingPod"), HasSubstr("job first has moved it")));
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
}

TEST(MigrationController, jobs_of_somebody_else_are_left_alone) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.makeJob("j", R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"web-0"}})",
            R"({"koordinator.sh/job-created-by":"another"})");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  EXPECT_TRUE(w.job("j").status.phase.empty());
}

// --- Limits.

TEST(MigrationController, forbids_for_good_what_can_never_be) {
  MigrationWorld w;
  w.workload("one", 1);
  w.workload("costly", 4, "n1",
             R"(,"annotations":{"scheduling.koordinator.sh/eviction-cost":"2147483647"})");
  w.start();
  w.moveDirectly("one", "one-0");
  w.moveDirectly("costly", "costly-0");
  w.run(5s);
  EXPECT_THAT(
      w.stateOf("one"),
      HasSubstr("Failed ForbiddenMigratePod: Pod \"default/one-0\" is forbidden to migrate because "
                "it does not meet the requirements"));
  EXPECT_THAT(w.stateOf("costly"), HasSubstr("eviction-cost forbids eviction"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, at_most_so_many_leave_a_node_at_once) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.start();
  for (const char* name : {"a", "b", "c"}) w.move(name, std::string(name) + "-0");
  w.run(5s);
  int running = 0;
  std::string waiting;
  for (const auto& job : w.jobs()) {
    running += job.status.phase == "Running" ? 1 : 0;
    if (job.status.phase == "Pending") waiting = job.status.message;
  }
  EXPECT_EQ(running, 2);
  EXPECT_EQ(waiting, "2 other pods of node n1 are already being migrated (maxMigratingPerNode: 2)");
  w.reservationsGoTo = "n2";
  w.run(20s);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Succeeded");
}

TEST(MigrationController, workloads_lose_no_more_than_they_may) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 10);
  w.args.maxMigratingPerNode = 0;
  w.start();
  for (int i = 0; i < 4; ++i) w.move(fmt::format("j{}", i), fmt::format("web-{}", i));
  w.run(5s);
  int running = 0;
  for (const auto& job : w.jobs()) running += job.status.phase == "Running" ? 1 : 0;
  EXPECT_EQ(running, 2);
}

TEST(MigrationController, a_pod_that_is_not_ready_itself_may_be_moved) {
  MigrationWorld w;
  w.workload("web", 2);
  w.unready("web-0");
  w.start();
  w.moveDirectly("healthy", "web-1");
  w.run(5s);
  EXPECT_THAT(w.stateOf("healthy"), HasSubstr("Pending WaitingForArbitration: 1 other pods"));
  w.api.remove(api::PodMigrationJob::kType, "healthy");
  w.moveDirectly("sick", "web-0");
  w.run(5s);
  EXPECT_THAT(w.stateOf("sick"), HasSubstr("Succeeded"));
}

TEST(MigrationController, pods_of_one_workload_go_one_after_the_other) {
  MigrationWorld w;
  w.workload("web", 3);
  w.start();
  w.moveDirectly("first", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("first"), HasSubstr("Succeeded"));
  w.moveDirectly("second", "web-1");
  w.run(1min);
  EXPECT_EQ(w.evictions(), 1);
  EXPECT_THAT(w.stateOf("second"), HasSubstr("Running"));
}

TEST(MigrationController, a_job_that_waits_too_long_ends) {
  MigrationWorld w;
  w.workload("web", 2);
  w.unready("web-0");
  w.start();
  w.moveDirectly("j", "web-1");
  w.run(6min);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed Timeout"));
}

// --- Death at any moment.

struct Death {
  int at;
  bool afterwards;
};

// The result of a job if the process dies at a write and another one takes over.
std::string afterDeath(Death death, bool evictsDirectly, int* evictions, int* reservations) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start(death.at, death.afterwards);
  if (evictsDirectly) {
    w.moveDirectly("j", "web-0");
  } else {
    w.move("j", "web-0");
  }
  w.run(5s);
  const bool died = w.process->crashing().dead;
  w.start();
  w.run(20s);
  *evictions = w.evictionsOf("web-0");
  *reservations = 0;
  for (const auto& each : w.list(api::Reservation::kType))
    *reservations += textAt(each, "status", "phase") == "Succeeded" ? 0 : 1;
  return died ? w.job("j").status.phase.str() : "lived";
}

TEST(MigrationController, dies_at_any_write_and_still_evicts_once_and_finishes) {
  for (const bool evictsDirectly : {false, true}) {
    int deaths = 0;
    for (int at = 1; at < 40; ++at) {
      bool lived = true;
      for (const bool afterwards : {false, true}) {
        int evictions = 0, reservations = 0;
        const std::string phase =
            afterDeath({at, afterwards}, evictsDirectly, &evictions, &reservations);
        if (phase == "lived") continue;
        lived = false;
        ++deaths;
        EXPECT_EQ(phase, "Succeeded") << "write " << at << (afterwards ? " after" : " before");
        // A call that did not arrive is not an eviction; a call whose answer was lost is the only
        // one.
        EXPECT_EQ(evictions, 1) << "write " << at << (afterwards ? " after" : " before");
        EXPECT_EQ(reservations, 0) << "write " << at;
      }
      if (lived) break;
    }
    EXPECT_GE(deaths, evictsDirectly ? 8 : 14);
  }
}

TEST(MigrationController, what_was_evicted_before_a_restart_counts_against_rates_and_limits) {
  MigrationWorld w;
  w.workload("web", 3);
  w.start();
  w.moveDirectly("first", "web-0");
  w.run(10s);
  w.start();
  w.moveDirectly("second", "web-1");
  w.run(1min);
  EXPECT_EQ(w.evictions(), 1);
  w.run(4min);
  EXPECT_EQ(w.evictions(), 2) << "its turn has come, five minutes after the first";
}

TEST(MigrationController, what_a_deployment_lost_before_a_restart_counts_too) {
  for (const bool restarts : {false, true}) {
    MigrationWorld w;
    const api::ResourceType deployments{"apps", "v1", "deployments", "Deployment", true};
    w.api.put(
        deployments,
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":)"
        R"("default"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":)"
        R"({"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main",)"
        R"("image":"a"}]}}}})");
    w.workload("web", 3);
    const auto deployment = w.api.get(deployments, "web", "default");
    w.patch({"apps", "v1", "replicasets", "ReplicaSet", true}, "web",
            fmt::format(R"({{"metadata":{{"ownerReferences":[{{"apiVersion":"apps/v1","kind":)"
                        R"("Deployment","name":"web","uid":"{}","controller":true}}]}}}})",
                        textAt(*deployment, "metadata", "uid")),
            "default");
    w.start();
    w.moveDirectly("first", "web-0");
    w.run(10s);
    EXPECT_EQ(w.evictions(), 1);
    if (restarts) w.start();
    w.moveDirectly("second", "web-1");
    w.run(1min);
    EXPECT_EQ(w.evictions(), 1) << restarts;
    w.run(4min);
    EXPECT_EQ(w.evictions(), 2) << restarts;
  }
}

TEST(MigrationController, jobs_that_wait_write_nothing_while_nothing_changes) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.podsComeBack = false;
  w.workload("web", 40);
  w.args.maxMigratingPerNode = 0;
  w.args.maxMigratingPerWorkload = NumberOrPercent{30, false};
  w.start();
  for (int i = 0; i < 20; ++i) {
    w.makeJob(fmt::format("j{}", i),
              fmt::format(R"({{"podRef":{{"namespace":"default","name":"web-{}"}}}})", i));
  }
  w.run(20s);
  const std::size_t writes = w.api.writes.size();
  w.loop.advance(10min);
  EXPECT_EQ(w.api.writes.size(), writes);
}

}  // namespace
}  // namespace koord::descheduler
