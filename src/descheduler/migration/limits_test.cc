// Tests the limits that upstream does not have: arrivals on a node, failed migrations, and
// evictions of the cluster; and their metrics.

#include "descheduler/migration/world_test.h"

namespace koord::descheduler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ArrivalLimit, no_more_come_to_a_node_at_once_than_may) {
  MigrationWorld w;
  w.args.maxArrivingPerNode = 1;
  w.podsComeBack = false;  // evicted pods are not replaced yet
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.args.maxMigratingPerNode = 0;
  w.start();
  for (const char* name : {"a", "b", "c"}) w.move(name, std::string(name) + "-0");
  w.run(20s);
  EXPECT_EQ(w.evictions(), 1);
  int waiting = 0;
  for (const auto& job : w.jobs()) {
    if (job.status.reason != "WaitingForTurn") continue;
    ++waiting;
    EXPECT_EQ(job.status.message, "1 pods are on their way to node n2 (maxArrivingPerNode: 1)");
  }
  EXPECT_EQ(waiting, 2);
  w.podsComeBack = true;
  w.run(5s);
  EXPECT_EQ(w.evictions(), 3) << "each when the one before has arrived, and not later";
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Succeeded");
}

TEST(ArrivalLimit, a_job_that_waits_for_others_to_arrive_ends_in_time) {
  MigrationWorld w;
  w.args.maxArrivingPerNode = 1;
  w.podsComeBack = false;
  for (const char* name : {"a", "b"}) w.workload(name, 4);
  w.start();
  w.move("a", "a-0");
  w.run(10s);
  w.makeJob(
      "b",
      R"({"mode":"ReservationFirst","ttl":"30s","podRef":{"namespace":"default","name":"b-0"}})");
  w.run(1min);
  EXPECT_EQ(w.stateOf("b"),
            "Failed Timeout: Abort job caused by timeout: 1 pods are on their way to node n2 "
            "(maxArrivingPerNode: 1)");
  EXPECT_EQ(w.evictionsOf("b-0"), 0);
}

TEST(ArrivalLimit, who_plans_looks_for_a_node_that_takes_more) {
  MigrationWorld w;
  w.args.maxArrivingPerNode = 1;
  w.podsComeBack = false;
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.args.maxMigratingPerNode = 0;
  w.start();
  EXPECT_EQ(annotationOf(w.job(w.evict("a-0")), kAnnotationPlannedNode), "n2");
  const auto second = w.job(w.evict("b-0"));
  EXPECT_EQ(annotationOf(second, kAnnotationPlannedNode), "n3");
  EXPECT_EQ(annotationOf(second, kAnnotationAvoidNodes), "n2");
  w.process->landing->other = "n3";
  EXPECT_THAT(w.evict("c-0"), HasSubstr("on their way to node n3 (maxArrivingPerNode: 1)"));
}

TEST(ArrivalLimit, whom_nothing_keeps_off_a_node_stays_while_it_takes_no_more) {
  MigrationWorld w;
  w.args.maxArrivingPerNode = 1;
  w.args.defaultJobMode = "EvictDirectly";
  w.args.evictQPS = 0.01;  // the first job waits for the second token
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.start();
  w.moveDirectly("first", "c-0");
  w.run(2s);
  EXPECT_FALSE(w.job(w.evict("a-0")).metadata.uid.empty());
  EXPECT_EQ(w.evict("b-0"),
            "pod b-0 must wait: 1 pods are on their way to node n2 (maxArrivingPerNode: 1)");
}

TEST(FutileMoves, where_nobody_looks_at_reservations_nobody_else_is_tried_for_as_long_as_it_took) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.args.defaultJobTTL = 1min;
  for (const char* name : {"a", "b"}) w.workload(name, 4);
  w.start();
  const std::string job = w.evict("a-0");
  w.run(65s);
  EXPECT_EQ(w.stateOf(job),
            "Failed Timeout: Abort job caused by timeout: no scheduler processed the Reservation: "
            "does koord-scheduler run with its plugin Reservation?");
  const std::string why = w.evict("b-0");
  EXPECT_THAT(why, AllOf(HasSubstr("no scheduler processed the Reservation of job " + job),
                         HasSubstr("within 1m0s: does koord-scheduler run with its plugin "
                                   "Reservation? The next try is in 5")));
  w.start();
  EXPECT_THAT(w.evict("b-0"), HasSubstr("no scheduler processed"))
      << "the jobs say it, after a restart too";
  w.run(1min);
  const std::string again = w.evict("b-0");
  EXPECT_FALSE(w.job(again).metadata.uid.empty()) << again;
  EXPECT_EQ(w.jobs().size(), 2u);
}

TEST(FutileMoves, once_somebody_looks_at_reservations_others_are_tried_at_once) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.args.defaultJobTTL = 1min;
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.start();
  w.evict("a-0");
  w.run(65s);
  w.reservationsGoTo = "n2";
  w.move("by-hand", "b-1");
  w.run(10s);
  EXPECT_THAT(w.stateOf("by-hand"), HasSubstr("Succeeded"));
  const std::string next = w.evict("c-0");
  EXPECT_FALSE(w.job(next).metadata.uid.empty()) << next;
}

TEST(FutileMoves, a_pod_that_found_no_room_is_left_alone_and_others_are_not) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.args.defaultJobTTL = 1min;
  for (const char* name : {"a", "b"}) w.workload(name, 4);
  w.start();
  const std::string job = w.evict("a-0");
  w.run(5s);
  const std::string room(textAt(w.list(api::Reservation::kType).at(0), "metadata", "name"));
  w.patch(api::Reservation::kType, room,
          R"({"status":{"phase":"Pending","conditions":[{"type":"Scheduled","status":"False",)"
          R"("reason":"Unschedulable","message":"0/3 nodes are available"}]}})",
          "", "status");
  w.run(1min);
  EXPECT_EQ(w.stateOf(job),
            "Failed Timeout: Abort job caused by timeout: the Reservation found no node: 0/3 nodes "
            "are available");
  EXPECT_THAT(w.evict("a-0"), HasSubstr("found no place for it within 1m0s; the next try is in 5"));
  const auto next = w.job(w.evict("b-0"));
  EXPECT_EQ(annotationOf(next, kAnnotationPlannedNode), "n3") << "the move to n2 failed";
  EXPECT_EQ(annotationOf(next, kAnnotationAvoidNodes), "n2");
  w.run(1min);
  EXPECT_THAT(w.evict("a-0"), Not(HasSubstr("found no place")));
}

TEST(ObjectLimiter, keeps_a_budget_of_the_whole_cluster) {
  VirtualLoop loop;
  MigrationControllerArgs args;
  args.objectLimiters["cluster"] = {.duration = 10s, .maxMigrating = NumberOrPercent{1, false}};
  ObjectLimiter limiter(args, loop);
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
  limiter.spend("elsewhere", "w", 10);
  EXPECT_NEAR(std::chrono::duration<double>(limiter.wait(pod, "w")).count(), 10, 0.1);
  loop.advance(10s);
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
}

TEST(JobMetrics, count_jobs_by_phase_how_long_they_took_and_what_kept_them) {
  MigrationWorld w;
  for (const char* name : {"a", "b"}) w.workload(name, 4);
  w.args.maxMigratingGlobally = 1;
  w.reservationsGoTo = "";
  w.start();
  w.move("first", "a-0");
  w.run(2s);
  w.move("second", "b-0");
  w.run(2s);
  const auto text = [&] { return w.process->metrics().text(); };
  EXPECT_THAT(text(),
              AllOf(HasSubstr("migration_jobs{phase=\"Running\"} 1"),
                    HasSubstr("migration_jobs{phase=\"Pending\"} 1"),
                    HasSubstr("arbitration_queue_length 1"),
                    HasSubstr("migrations_denied_total{limit=\"maxMigratingGlobally\"} 1")));
  w.reservationsGoTo = "n2";
  w.run(30s);
  EXPECT_THAT(text(),
              AllOf(HasSubstr("migration_jobs{phase=\"Succeeded\"} 2"),
                    HasSubstr("migration_jobs{phase=\"Pending\"} 0"),
                    HasSubstr("arbitration_queue_length 0"),
                    HasSubstr("migration_jobs_ended_total{phase=\"Succeeded\",reason=\"\"} 2"),
                    HasSubstr("migration_job_duration_seconds_count{phase=\"Succeeded\"} 2")));
  w.api.remove(api::PodMigrationJob::kType, "first");
  w.run(1s);
  EXPECT_THAT(text(), HasSubstr("migration_jobs{phase=\"Succeeded\"} 1"));
  w.start();
  EXPECT_THAT(text(), AllOf(HasSubstr("migration_jobs{phase=\"Succeeded\"} 1"),
                            Not(HasSubstr("jobs_ended_total{"))))
      << "after a restart those that were over do not end again";
}

TEST(MigrationControllerArgs, of_deletions_are_checked_as_the_server_would) {
  const auto problemsOf = [](const char* options) {
    std::vector<std::string> errors;
    const auto document = parseJson(fmt::format(R"({{"defaultDeleteOptions":{}}})", options));
    Fields fields(&*document, "args", errors);
    const auto args = MigrationControllerArgs::read(fields);
    return fmt::format("{}", fmt::join(errors, "\n"));
  };
  EXPECT_EQ(problemsOf(R"({"gracePeriodSeconds":5,"propagationPolicy":"Foreground"})"), "");
  EXPECT_THAT(problemsOf(R"({"gracePeriodSeconds":-1})"),
              HasSubstr("args.defaultDeleteOptions.gracePeriodSeconds: "));
  EXPECT_THAT(problemsOf(R"({"propagationPolicy":"Never"})"),
              HasSubstr("args.defaultDeleteOptions.propagationPolicy: "));
  EXPECT_THAT(problemsOf(R"({"grace":5})"),
              HasSubstr("args.defaultDeleteOptions.grace: unknown field"));
}

}  // namespace
}  // namespace koord::descheduler
