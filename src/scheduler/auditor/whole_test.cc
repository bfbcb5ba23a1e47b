// The auditor with a whole scheduler.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/auditor/auditor.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using ::testing::AllOf;
using testing::aNode;
using testing::aPod;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodBuilder;
using namespace std::chrono_literals;

SchedulerConfiguration withGangs() {
  SchedulerConfiguration configuration = defaultConfiguration();
  configuration.profiles.front().plugins["multiPoint"].enabled.push_back({"Coscheduling", 0});
  return configuration;
}

struct AuditedScheduler : ::testing::Test {
  testing::SchedulerFixture f{withGangs()};
  std::vector<std::string> alerts;
  Auditor auditor{f.loop, {}, [this](const std::string& text) { alerts.push_back(text); }};

  AuditedScheduler() {
    f.audit = &auditor;
    f.create();
    f.scheduler->start();
  }
  // Destroyed before the auditor.
  ~AuditedScheduler() override { f.scheduler.reset(); }

  static PodBuilder member(const std::string& name) {
    PodBuilder pod = aPod(name);
    pod.object().metadata.annotations = {{"gang.scheduling.koordinator.sh/name", "g"},
                                         {"gang.scheduling.koordinator.sh/min-available", "2"}};
    return pod;
  }
  static std::string count(const std::string& type, const std::string& outcome, int times) {
    return "before_outcome_sum{event_type=\"" + type + "\",outcome=\"" + outcome +
           "\",priority=\"\"} " + std::to_string(times) + "\n";
  }
};

TEST_F(AuditedScheduler, a_pod_that_waits_for_a_node_and_gets_it) {
  f.create(aPod("p").request("cpu", "1"));
  f.run(1s);
  EXPECT_EQ(auditor.workloads(), 1u);
  f.node(aNode("n").allocatable("cpu", "2"));
  f.run();
  ASSERT_EQ(f.nodeOf("p"), "n");
  EXPECT_EQ(auditor.workloads(), 0u);
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(count("create", "scheduled", 1)),
                    HasSubstr(count("scheduled", "scheduled", 1)),
                    HasSubstr("event_type=\"scheduleFailure\",outcome=\"scheduled\"")));
}

TEST_F(AuditedScheduler, a_pod_that_somebody_else_binds_is_not_ours_any_more) {
  f.create(aPod("p").request("cpu", "1"));
  f.run(1s);
  auto bound = std::make_shared<api::Pod>(*f.pods["p"]);
  bound->spec.nodeName = "elsewhere";
  bound->metadata.resourceVersion = "2";
  f.replace(bound);
  f.run(1s);
  EXPECT_EQ(auditor.workloads(), 0u);
  EXPECT_THAT(auditor.metrics(), HasSubstr(count("create", "deleted", 1)));
}

TEST_F(AuditedScheduler, a_preemption_is_followed_to_its_end) {
  f.node(aNode("n").allocatable("cpu", "2"));
  f.create(aPod("low").request("cpu", "2").priority(1));
  f.run();
  ASSERT_EQ(f.nodeOf("low"), "n");
  f.create(aPod("high").request("cpu", "2").priority(100));
  f.run(10s);
  ASSERT_EQ(f.nodeOf("high"), "n");
  EXPECT_THAT(f.deletions, ::testing::ElementsAre("low"));
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(count("preemptNominated", "scheduled", 1)),
                    HasSubstr(count("victimAllDeleted", "scheduled", 1)),
                    HasSubstr("preemption_to_victim_deleted_seconds_count{priority=\"\"} 1"),
                    HasSubstr("victim_reschedule_duration_seconds_count{priority=\"\"} 1"),
                    Not(HasSubstr("invalidations_total{"))));
  EXPECT_THAT(alerts, IsEmpty());
}

TEST_F(AuditedScheduler, a_gang_has_one_record) {
  f.node(aNode("n").allocatable("cpu", "3"));
  f.create(member("a").request("cpu", "2"));
  f.run(1s);
  EXPECT_EQ(auditor.workloads(), 1u);
  f.create(member("b").request("cpu", "2"));
  f.run(1s);
  EXPECT_EQ(auditor.workloads(), 1u);
  f.node(aNode("m").allocatable("cpu", "3"));
  f.run(10s);
  ASSERT_NE(f.nodeOf("a"), "");
  ASSERT_NE(f.nodeOf("b"), "");
  EXPECT_EQ(auditor.workloads(), 0u);
  EXPECT_THAT(auditor.metrics(),
              AllOf(HasSubstr(count("create", "gangScheduled", 1)),
                    HasSubstr(count("gangMinMemberSatisfied", "gangScheduled", 1)),
                    HasSubstr("event_type=\"gangAllPodsAlreadyAttempted\""),
                    HasSubstr(count("scheduled", "gangScheduled", 1)),
                    Not(HasSubstr("outcome=\"scheduled\""))));
}

TEST_F(AuditedScheduler, a_gang_whose_members_go_has_no_record) {
  f.create(member("a").request("cpu", "2"));
  f.run(1s);
  f.remove("a");
  f.run(1s);
  EXPECT_EQ(auditor.workloads(), 0u);
  EXPECT_THAT(auditor.metrics(), HasSubstr(count("create", "gangDeleted", 1)));
}

}  // namespace
}  // namespace koord::scheduler
