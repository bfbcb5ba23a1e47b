#include "scheduler/auditor/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler {
namespace {

using ::testing::AllOf;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

struct AuditorTest : ::testing::Test {
  VirtualLoop loop;
  Cluster cluster;
  std::vector<std::string> alerts;
  Auditor auditor{loop, options(), [this](const std::string& text) { alerts.push_back(text); }};
  PodPtr pod = makePodInfo(cluster, aPod("p").priority(9500).label("team", "a").build());
  PodPtr victim = makePodInfo(cluster, aPod("v").nodeName("n").build());
  PodPtr other = makePodInfo(cluster, aPod("w").nodeName("n").build());

  static AuditOptions options() {
    AuditOptions options;
    options.labels = {{"team", "team"}};
    return options;
  }
  void preempt() {
    auditor.attempted(*pod);
    auditor.victims(*pod, std::vector<PodPtr>{victim, other});
    auditor.preempted(*pod, PreemptionOutcome::Nominated, "n");
    auditor.failed(*pod, "0/1 nodes are available");
  }
  void findVictimsLeaving() {
    auditor.attempted(*pod);
    auditor.preempted(*pod, PreemptionOutcome::VictimsTerminating, "not eligible");
    auditor.failed(*pod, "0/1 nodes are available");
  }
  void fail() {
    auditor.attempted(*pod);
    auditor.failed(*pod, "0/1 nodes are available");
  }
  // The line of a series without buckets.
  std::string series(const std::string& name, const std::string& more = "") const {
    return "scheduler_workload_auditor_" + name + "{" + more +
           "priority=\"koord-prod\",team=\"a\"} ";
  }
  std::string events(const std::string& type, const std::string& outcome) const {
    return "scheduler_workload_auditor_scheduling_events_before_outcome_sum{event_type=\"" + type +
           "\",outcome=\"" + outcome + "\",priority=\"koord-prod\",team=\"a\"} ";
  }
};

TEST_F(AuditorTest, a_pod_that_is_placed_counts_what_happened_to_it_before) {
  auditor.onPod(*pod);
  fail();
  loop.advance(5s);
  fail();
  auditor.attempted(*pod);
  auditor.scheduled(*pod, "n");
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(events("create", "scheduled") + "1"),
                    HasSubstr(events("scheduleFailure", "scheduled") + "2"),
                    HasSubstr(events("scheduled", "scheduled") + "1"),
                    HasSubstr(series("scheduling_event_interval_seconds_count") + "3"),
                    HasSubstr(series("scheduling_event_interval_seconds_sum") + "5"),
                    HasSubstr("method_duration_seconds_count{method=\"AddPod\"} 1")));
  EXPECT_THAT(alerts, IsEmpty());
  EXPECT_EQ(auditor.workloads(), 0u);
}

TEST_F(AuditorTest, a_pod_that_is_deleted_has_that_outcome) {
  auditor.onPod(*pod);
  auditor.onPodDeleted(*pod);
  EXPECT_THAT(auditor.metrics(), HasSubstr(events("create", "deleted") + "1"));
  EXPECT_EQ(auditor.workloads(), 0u);
}

TEST_F(AuditorTest, a_preemption_ends_with_the_last_victim_and_the_next_try_is_timed_from_there) {
  auditor.onPod(*pod);
  preempt();
  loop.advance(2s);
  findVictimsLeaving();
  auditor.podForgotten(victim->uid());
  EXPECT_THAT(auditor.metrics(), Not(HasSubstr("preemption_to_victim_deleted_seconds_count")));
  loop.advance(1s);
  auditor.podForgotten(other->uid());
  loop.advance(4s);
  auditor.scheduled(*pod, "n");
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(series("preemption_to_victim_deleted_seconds_sum") + "3"),
                    HasSubstr(series("preemption_victim_deleting_retries_sum") + "1"),
                    HasSubstr(series("victim_reschedule_duration_seconds_sum") + "4"),
                    HasSubstr(events("victimAllDeleted", "scheduled") + "1"),
                    HasSubstr(events("preemptVictimDeleting", "scheduled") + "1"),
                    Not(HasSubstr("scheduleFailure")), Not(HasSubstr("interrupted"))));
  EXPECT_THAT(alerts, IsEmpty());
}

TEST_F(AuditorTest, a_slow_next_try_is_an_alert) {
  auditor.onPod(*pod);
  preempt();
  auditor.podForgotten(victim->uid());
  auditor.podForgotten(other->uid());
  loop.advance(11s);
  auditor.scheduled(*pod, "n");
  EXPECT_THAT(alerts,
              ElementsAre("slow reschedule after victim deletion for workload default/p/"
                          "uid-default-p {koord-prod, team=a}, duration=11s (threshold 10s), "
                          "trigger=scheduled, message=\"n\""));
}

TEST_F(AuditorTest, gates_end_the_wait_for_the_next_try) {
  auditor.onPod(*pod);
  preempt();
  auditor.podForgotten(victim->uid());
  auditor.podForgotten(other->uid());
  auto gated = std::make_shared<api::Pod>(*pod->pod);
  gated->spec.schedulingGates.push_back({"hold"});
  auditor.onPod(*makePodInfo(cluster, gated));
  loop.advance(10min);
  auditor.onPod(*pod);
  loop.advance(1s);
  auditor.scheduled(*pod, "n");
  EXPECT_THAT(alerts, IsEmpty());
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(events("gatedByQueueAdmission", "scheduled") + "1"),
                    HasSubstr(events("admissionPassed", "scheduled") + "1"),
                    Not(HasSubstr("victim_reschedule_duration_seconds_count"))));
}

TEST_F(AuditorTest, a_preemption_that_came_to_nothing_is_told_once) {
  auditor.onPod(*pod);
  preempt();
  fail();
  fail();
  EXPECT_THAT(alerts, ElementsAre(HasSubstr("preemption invalidated by scheduleFailure")));
  EXPECT_THAT(auditor.metrics(), AllOf(HasSubstr(series("preemption_invalidations_total") + "1"),
                                       HasSubstr(series("preemption_cycle_interrupted_seconds_"
                                                        "count") +
                                                 "1"),
                                       Not(HasSubstr("repeated_preemptions_total{"))));
}

TEST_F(AuditorTest, preempting_again_is_told) {
  auditor.onPod(*pod);
  preempt();
  preempt();
  preempt();
  EXPECT_THAT(alerts, ElementsAre(HasSubstr("repeated preemption"),
                                  HasSubstr("invalidated by new preemption"),
                                  AllOf(HasSubstr("repeated preemption"), HasSubstr("count=3")),
                                  HasSubstr("invalidated by new preemption")));
  EXPECT_THAT(auditor.metrics(), AllOf(HasSubstr(series("repeated_preemptions_total") + "2"),
                                       HasSubstr(series("preemption_invalidations_total") + "2")));
}

TEST_F(AuditorTest, victims_that_do_not_leave_are_told) {
  auditor.onPod(*pod);
  preempt();
  for (int i = 0; i < 4; ++i) {
    loop.advance(8s);
    findVictimsLeaving();
  }
  auditor.podForgotten(victim->uid());
  auditor.podForgotten(other->uid());
  EXPECT_THAT(alerts, ElementsAre(AllOf(HasSubstr("excessive victim deleting retries"),
                                        HasSubstr("retries=4 (threshold 3)")),
                                  AllOf(HasSubstr("slow victim deletion"),
                                        HasSubstr("duration=32s (threshold 30s)"))));
}

TEST_F(AuditorTest, a_preemption_that_is_interrupted_late_is_told) {
  auditor.onPod(*pod);
  preempt();
  loop.advance(31s);
  auditor.scheduled(*pod, "m");
  EXPECT_THAT(alerts, ElementsAre(HasSubstr("preemption cycle interrupted (victim not fully "
                                            "deleted)")));
}

TEST_F(AuditorTest, a_pod_that_nobody_tries_is_told_when_it_is) {
  auditor.onPod(*pod);
  loop.advance(5min);
  fail();
  EXPECT_THAT(alerts, IsEmpty()) << "not longer yet";
  loop.advance(5min + 1s);
  fail();
  EXPECT_THAT(alerts, ElementsAre(AllOf(HasSubstr("long scheduling event interval"),
                                        HasSubstr("duration=5m1s (threshold 5m0s), trigger="
                                                  "scheduleFailure"))));
}

TEST_F(AuditorTest, a_gang_is_followed_as_one) {
  auditor.groupOf = [](const PodInfo&) { return "default/g"; };
  auditor.onPod(*pod);
  EXPECT_EQ(auditor.workloads(), 0u) << "its gang is not known yet";
  auditor.onGroup("default/g", {2, true, *pod});
  loop.advance(1min);
  auditor.onGroup("default/g", {2, false, *pod});
  auditor.groupCompleted("default/g", "default/g");
  auditor.groupAttempted("default/g");
  auditor.attempted(*pod);
  auditor.failed(*pod, "no room");
  auditor.groupFailed("default/g");
  auditor.groupAttempted("default/g");
  auditor.victims(*pod, std::vector<PodPtr>{victim});
  auditor.preempted(*pod, PreemptionOutcome::Nominated, "n");
  auditor.groupFailed("default/g");
  auditor.podForgotten(victim->uid());
  auditor.groupScheduled("default/g");
  auditor.scheduled(*pod, "n");
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(events("create", "gangScheduled") + "1"),
                    HasSubstr(events("gatedByQueueAdmission", "gangScheduled") + "1"),
                    HasSubstr(events("admissionPassed", "gangScheduled") + "1"),
                    HasSubstr(events("gangMinMemberSatisfied", "gangScheduled") + "1"),
                    HasSubstr(events("gangAllPodsAlreadyAttempted", "gangScheduled") + "1"),
                    HasSubstr(events("preemptNominated", "gangScheduled") + "1"),
                    HasSubstr(events("victimAllDeleted", "gangScheduled") + "1"),
                    Not(HasSubstr("scheduleFailure"))));
  auditor.onGroup("default/g", {2, false, *pod});
  auditor.onGroupDeleted("default/g");
  EXPECT_THAT(auditor.metrics(), HasSubstr(events("create", "gangDeleted") + "1"));
}

TEST_F(AuditorTest, counts_begin_anew) {
  auditor.onPod(*pod);
  auditor.resetMetrics();
  auditor.onPodDeleted(*pod);
  EXPECT_THAT(auditor.metrics(), AllOf(HasSubstr(events("create", "deleted") + "1"),
                                       Not(HasSubstr("method=\"AddPod\""))));
}

struct LabelsCase {
  std::string text;
  std::vector<AuditLabel> labels;
  std::string error;
};

TEST(AuditLabels, are_pairs) {
  const LabelsCase cases[] = {
      {"", {}, ""},
      {" quota_name = quota.scheduling.koordinator.sh/name , team=team ",
       {{"quota_name", "quota.scheduling.koordinator.sh/name"}, {"team", "team"}},
       ""},
      {"nothing,,=b,a=,c=d=e", {{"c", "d=e"}}, ""},
      {"quota-name=a",
       {},
       "\"quota-name\" is not a name of a metric's label: letters, digits and _"},
      {"1a=a", {}, "\"1a\" is not a name of a metric's label: letters, digits and _"},
      {"__a=a", {}, "\"__a\" is not a name of a metric's label: letters, digits and _"},
      {"a=b,a=c", {}, "duplicate label \"a\""},
      {"priority=b", {}, "duplicate label \"priority\""},
  };
  for (const auto& [text, labels, error] : cases) {
    const auto parsed = parseAuditLabels(text);
    if (error.empty()) {
      ASSERT_TRUE(parsed) << text;
      EXPECT_EQ(*parsed, labels) << text;
    } else {
      ASSERT_FALSE(parsed) << text;
      EXPECT_EQ(parsed.error().message, error);
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
