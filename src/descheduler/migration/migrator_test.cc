#include "descheduler/migration/migrator.h"

#include "descheduler/migration/keys.h"
#include "descheduler/migration/world_test.h"

// Tests the creation of jobs and the reasons against it.

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Migrator, makes_a_job_that_says_where_the_pod_will_land) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  const std::string name = w.evict("web-0");
  const auto job = w.job(name);
  EXPECT_EQ(annotationOf(job, kAnnotationPlannedNode), "n2");
  EXPECT_EQ(annotationOf(job, kAnnotationFromNode), "n1");
  EXPECT_EQ(annotationOf(job, kAnnotationEvictTrigger), "LowNodeLoad");
  EXPECT_EQ(annotationOf(job, kAnnotationEvictReason), "the node is hot");
  EXPECT_EQ(annotationOf(job, kAnnotationJobCreatedBy), "koord-descheduler");
  EXPECT_EQ(job.spec.podRef.uid, w.podOf("web-0")->metadata.uid);
  EXPECT_EQ(job.spec.ttl->view(), "5m0s");
  ASSERT_EQ(w.process->landing->asked.size(), 1u);
  EXPECT_TRUE(w.process->landing->asked[0].stays);
  EXPECT_THAT(w.process->landing->asked[0].avoid, ElementsAre("n1"));
  // The whole pod, with the fields that the descheduler does not keep.
  EXPECT_TRUE(at(*w.process->landing->asked[0].whole, "spec", "containers"));
  w.run(10s);
  EXPECT_THAT(w.stateOf(name), HasSubstr("Succeeded"));
}

TEST(Migrator, evicts_nobody_who_would_find_no_better_place) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.process->landing->refused["web-0"] = "0/3 nodes are available: 3 Insufficient cpu.";
  EXPECT_EQ(w.evict("web-0"),
            "pod web-0 would not find a better node: 0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_TRUE(w.jobs().empty());
}

TEST(Migrator, a_place_that_is_no_better_is_left_out_and_the_next_one_asked_for) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  std::vector<std::string> judged;
  w.rejectTarget = [&](const Pod&, const std::string& node) {
    judged.push_back(node);
    return std::string(node == "n2" ? "n2 is as loaded" : "");
  };
  const std::string name = w.evict("web-0");
  EXPECT_THAT(judged, ElementsAre("n2", "n3"));
  EXPECT_EQ(annotationOf(w.job(name), kAnnotationPlannedNode), "n3");
  EXPECT_EQ(annotationOf(w.job(name), kAnnotationAvoidNodes), "n2");
  w.rejectTarget = [](const Pod&, const std::string& node) { return node + " is as loaded"; };
  EXPECT_THAT(w.evict("web-1"),
              HasSubstr("pod web-1 would not find a better node: n3 is as loaded"));
  EXPECT_EQ(w.jobs().size(), 1u);
}

TEST(Migrator, by_itself_sees_whether_another_node_would_do) {
  MigrationWorld w;
  w.args.nodeFit = true;
  w.args.objectLimiters.clear();
  w.args.maxMigratingPerWorkload = NumberOrPercent{3, false};
  w.args.maxUnavailablePerWorkload = NumberOrPercent{3, false};
  w.workload("web", 4);
  w.start();
  w.process->landing->silent = true;
  EXPECT_THAT(w.evict("web-0"), Not(HasSubstr("no other node")));
  for (const char* node : {"n2", "n3"})
    w.patch(api::Node::kType, node, R"({"spec":{"unschedulable":true}})");
  w.run(1s);
  EXPECT_EQ(w.evict("web-1"), "no other node takes pod web-1 (nodeFit)");
}

TEST(Migrator, no_second_job_for_a_pod_also_right_after_the_first) {
  MigrationWorld w;
  w.workload("web", 10);
  w.start();
  const std::string name = w.evict("web-0");
  EXPECT_EQ(w.evict("web-0"), fmt::format("job {} already migrates it", name));
  EXPECT_FALSE(w.process->controller->filter(*w.podOf("web-0")));
}

TEST(Migrator, nobody_goes_back_to_where_its_workload_left_lately) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.workload("web", 4);
  w.start();
  ASSERT_THAT(w.stateOf(w.evict("web-0")), Not(HasSubstr("Failed")));
  w.run(10s);
  // A pod that came back to n2 must move elsewhere, but not to n1.
  w.process->landing->node = "n1";
  w.run(1s);
  const auto job = w.job(w.evict("web-new-1"));
  EXPECT_EQ(annotationOf(job, kAnnotationAvoidNodes), "n1");
  EXPECT_EQ(annotationOf(job, kAnnotationPlannedNode), "n3");
  w.run(5s);
  for (const auto& reservation : w.list(api::Reservation::kType)) {
    if (textAt(reservation, "metadata", "name") != job.metadata.uid) continue;
    EXPECT_THAT(toJson(reservation), HasSubstr(R"("values":["n1","n2"])"));
  }
}

// No place is reserved for it, so the scheduler may choose any node.
TEST(Migrator, evicts_nobody_directly_who_would_come_back) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.args.defaultJobMode = "EvictDirectly";
  w.workload("web", 4);
  w.start();
  w.process->landing->node = "n1";
  EXPECT_EQ(w.evict("web-0"),
            "pod web-0 would return to node n1, from which it or its workload is migrated");
  ASSERT_EQ(w.process->landing->asked.size(), 1u);
  EXPECT_TRUE(w.process->landing->asked[0].avoid.empty());
  w.process->landing->node = "n2";
  const std::string name = w.evict("web-0");
  w.run(5s);
  EXPECT_THAT(w.stateOf(name), HasSubstr("Succeeded"));
  w.process->landing->node = "n1";
  EXPECT_THAT(w.evict("web-new-1"), HasSubstr("would return to node n1"))
      << "its workload has just left it";
}

TEST(Migrator, leaves_a_pod_alone_that_came_to_where_one_was_evicted_directly) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.args.defaultJobMode = "EvictDirectly";
  w.podsComeBack = false;
  w.workload("web", 4);
  w.start();
  const std::string name = w.evict("web-0");
  w.run(5s);
  ASSERT_THAT(w.stateOf(name), HasSubstr("Succeeded"));
  w.pod("web", "again", "n1");
  w.run(1s);
  EXPECT_EQ(w.evict("again"),
            "pod again came to node n1 after another pod of its workload was evicted from there");
  const std::string older = w.evict("web-1");
  EXPECT_NE(w.job(older).metadata.uid, "") << older;
  w.run(11min);
  EXPECT_NE(w.job(w.evict("again")).metadata.uid, "");
}

// web-0 and db-0 are to move together for the pod "waits".
void startWithWaitingPod(MigrationWorld& w) {
  w.workload("web", 4);
  w.workload("db", 4);
  w.pod("", "waits", "");
  w.start();
  w.together = {"db-0"};
  w.beneficiary = "waits";
}

TEST(Migrator, pods_move_together_for_a_waiting_pod_if_it_gets_a_node) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  startWithWaitingPod(w);
  w.process->landing->refused["waits"] = "0/3 nodes are available: 3 Insufficient GPU.";
  EXPECT_EQ(w.evict("web-0"),
            "pod default/waits would get no node after the moves: 0/3 nodes are available: 3 "
            "Insufficient GPU.");
  w.process->landing->silent = true;
  EXPECT_EQ(w.evict("web-0"),
            "koord-scheduler does not foretell whether pod default/waits would get a node");
  EXPECT_TRUE(w.jobs().empty());
  w.process->landing->silent = false;
  w.process->landing->refused.clear();
  EXPECT_EQ(w.evict("web-0"), "pod default/waits would get node n2 without the moves");
  w.process->landing->needsMoves.insert("waits");
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  const auto& asked = w.process->landing->asked;
  ASSERT_EQ(asked.size(), 3U);
  for (const LandingMove& move : asked) {
    EXPECT_FALSE(move.stays) << "the waiting pod gets what the others leave";
    EXPECT_EQ(move.group, "this");
  }
  EXPECT_EQ(asked[2].pod->metadata.name, "waits");
  const auto jobs = w.jobs();
  ASSERT_EQ(jobs.size(), 2U);
  for (const auto& job : jobs) EXPECT_EQ(annotationOf(job, kAnnotationMoveTogetherSize), "2");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 2);
}

TEST(Migrator, pods_of_one_workload_do_not_move_together_beyond_its_limit) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.args.maxMigratingPerWorkload = NumberOrPercent{1, false};
  w.args.maxUnavailablePerWorkload = NumberOrPercent{3, false};
  w.workload("web", 4);
  w.start();
  w.together = {"web-1"};
  EXPECT_THAT(w.evict("web-0"), HasSubstr("maxMigratingPerWorkload: 1"));
  w.args.maxMigratingPerWorkload = NumberOrPercent{2, false};
  w.start();
  EXPECT_NE(w.job(w.evict("web-0")).metadata.uid, "");
}

void makeOther(MigrationWorld& w) {
  w.api.put({"", "v1", "namespaces", "Namespace", false},
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
}

TEST(Migrator, pods_of_several_namespaces_move_together) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.args.defaultJobMode = "EvictDirectly";
  w.args.maxMigratingPerNamespace = 1;
  w.workload("web", 4);
  makeOther(w);
  w.pod("", "other/guest", "n1",
        R"(,"annotations":{"descheduler.alpha.kubernetes.io/evict":"true"})");
  w.start();
  w.together = {"other/guest"};
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  w.run(10s);
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
  EXPECT_EQ(w.evictionsOf("guest"), 1);
}

std::string budgetOf(const std::string& namespace_, int allowed) {
  return fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"b",)"
      R"("namespace":"{}"}},"spec":{{"selector":{{}}}},"status":{{"disruptionsAllowed":{},)"
      R"("observedGeneration":100,"currentHealthy":4,"desiredHealthy":4,"expectedPods":4}}}})",
      namespace_, allowed);
}

TEST(Migrator, each_pod_counts_against_the_budgets_of_its_own_namespace) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.workload("web", 4);
  makeOther(w);
  w.pod("", "other/guest", "n1",
        R"(,"annotations":{"descheduler.alpha.kubernetes.io/evict":"true"})");
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("default", 1));
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("other", 0));
  w.start();
  w.together = {"other/guest"};
  EXPECT_EQ(w.evict("web-0"), "PodDisruptionBudget b allows 0 evictions now, 1 are needed");
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("other", 1));
  w.run(3s);
  EXPECT_NE(w.job(w.evict("web-0")).metadata.uid, "") << "one eviction in each namespace";
}

TEST(Migrator, nothing_moves_for_a_pod_that_got_a_node_meanwhile) {
  MigrationWorld w;
  w.workload("web", 4);
  w.pod("", "waits", "");
  w.start();
  w.beneficiary = "waits";
  w.process->landing->needsMoves.insert("waits");
  w.stale = w.podOf("waits");
  w.bindPod("waits", "n3");
  EXPECT_EQ(w.evict("web-0"), "pod default/waits does not wait for a node");
  EXPECT_TRUE(w.jobs().empty());
}

// The pod is bound after the jobs are made, before the first eviction.
TEST(Migrator, jobs_end_without_eviction_if_the_pod_that_they_help_no_longer_waits) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.reservationsGoTo = "";
  startWithWaitingPod(w);
  w.process->landing->needsMoves.insert("waits");
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  w.run(3s);
  w.bindPod("waits", "n3");
  w.reservationsGoTo = "n2";
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Failed") << job.status.message;
}

TEST(Migrator, no_pod_of_a_group_is_evicted_while_a_budget_forbids_one_of_them) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.reservationsGoTo = "";
  w.podsComeBack = false;
  w.workload("web", 4);
  w.workload("db", 4);
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("default", 2));
  w.start();
  w.together = {"db-0"};
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  w.run(3s);
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("default", 1));
  w.reservationsGoTo = "n2";
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  EXPECT_THAT(w.jobs()[0].status.message + w.jobs()[1].status.message,
              HasSubstr("allows 1 evictions now, 2 are needed"));
  w.api.put(api::PodDisruptionBudget::kType, budgetOf("default", 2));
  w.run(10s);
  EXPECT_EQ(w.evictions(), 2);
}

TEST(Migrator, the_rate_limits_must_allow_all_pods_that_move_together) {
  MigrationWorld w;
  w.args.maxMigratingPerWorkload = NumberOrPercent{2, false};
  w.args.maxUnavailablePerWorkload = NumberOrPercent{3, false};
  w.workload("web", 4);
  w.workload("db", 4);
  w.start();
  w.together = {"web-1"};
  EXPECT_EQ(w.evict("web-0"),
            "the rate limit of evictions (objectLimiters) does not allow 2 at once");
  w.together = {"db-0"};
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 2);
}

// Another pod of the workload was evicted after the jobs were made.
TEST(Migrator, the_rate_limits_hold_for_pods_that_move_together_also_later) {
  MigrationWorld w;
  w.args.maxMigratingPerNode = 5;
  w.args.maxMigratingPerWorkload = NumberOrPercent{2, false};
  w.args.maxUnavailablePerWorkload = NumberOrPercent{3, false};
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.workload("db", 4);
  w.start();
  w.together = {"db-0"};
  ASSERT_NE(w.job(w.evict("web-0")).metadata.uid, "");
  w.run(2s);
  w.moveDirectly("other", "db-1");
  w.run(3s);
  ASSERT_EQ(w.evictionsOf("db-1"), 1);
  w.reservationsGoTo = "n2";
  w.run(10s);
  EXPECT_EQ(w.evictionsOf("web-0") + w.evictionsOf("db-0"), 0);
}

TEST(Migrator, a_budget_that_is_used_up_keeps_jobs_from_being_made) {
  MigrationWorld w;
  w.workload("web", 4);
  w.api.put(
      api::PodDisruptionBudget::kType,
      R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b",)"
      R"("namespace":"default"},"spec":{"minAvailable":4,"selector":{"matchLabels":{"app":"web"}}},)"
      R"("status":{"disruptionsAllowed":0,"currentHealthy":4,"desiredHealthy":4,"expectedPods":4}})");
  w.start();
  EXPECT_EQ(w.evict("web-0"), "PodDisruptionBudget b allows 0 evictions now, 1 are needed");
}

// Like the Eviction API.
TEST(Migrator, budgets_keep_no_pod_that_the_eviction_api_lets_go) {
  const auto refusalWith = [](const std::string& spec, int healthy, const std::string& status,
                              const std::string& policy = "") {
    MigrationWorld w;
    w.workload("web", 4);
    w.api.put(api::PodDisruptionBudget::kType,
              fmt::format(
                  R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":)"
                  R"("b","namespace":"default"}},"spec":{{"selector":{{"matchLabels":{{"app":)"
                  R"("web"}}}}{}{}}},"status":{{"disruptionsAllowed":0,"currentHealthy":{},)"
                  R"("desiredHealthy":4,"expectedPods":4}}}})",
                  spec, policy, healthy));
    w.patch(api::Pod::kType, "web-0", status, "default", "status");
    w.start();
    return w.evict("web-0");
  };
  const std::string all = R"(,"minAvailable":4)";
  const std::string refused = "PodDisruptionBudget b allows 0 evictions now, 1 are needed";
  const std::string unready = R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})";
  EXPECT_EQ(refusalWith(all, 3, unready), refused);
  EXPECT_NE(refusalWith(all, 4, unready), refused) << "the others are enough";
  EXPECT_NE(refusalWith(all, 3, unready, R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")"),
            refused);
  EXPECT_EQ(refusalWith(all, 3, R"({"status":{"phase":"Running"}})",
                        R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")"),
            refused);
  EXPECT_NE(refusalWith(all, 3, R"({"status":{"phase":"Pending"}})"), refused);
  EXPECT_NE(refusalWith(all, 3, R"({"status":{"phase":"Failed"}})"), refused);
}

TEST(Migrator, in_a_dry_run_nothing_is_written) {
  MigrationWorld w;
  w.args.dryRun = true;
  w.workload("web", 4);
  w.start();
  const std::size_t writes = w.api.writes.size();
  EXPECT_EQ(w.evict("web-0"), "");
  EXPECT_EQ(w.api.writes.size(), writes);
}

TEST(Migrator, a_class_of_priority_that_is_missing_is_an_error_at_start) {
  MigrationWorld w;
  w.args.priorityName = "nobody";
  w.process = std::make_unique<Process>(w.api, w.loop, w.args);
  w.run(1s);
  ASSERT_TRUE(w.process->started);
  ASSERT_FALSE(*w.process->started);
  EXPECT_EQ(w.process->started->error().message,
            "priorityThreshold.name: there is no PriorityClass \"nobody\"");
}

// --- Gangs.

const char* kGang = R"(,"annotations":{"gang.scheduling.koordinator.sh/name":"train"})";

TEST(Migrator, a_gang_moves_whole) {
  MigrationWorld w;
  w.workload("train", 2, "n1", kGang);
  w.start();
  EXPECT_THAT(w.evict("train-0"), Not(HasSubstr(" ")));
  ASSERT_EQ(w.jobs().size(), 2u);
  w.run(20s);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Succeeded") << job.status.message;
  EXPECT_EQ(w.evictions(), 2);
}

TEST(Migrator, or_not_at_all) {
  MigrationWorld w;
  w.workload("train", 2, "n1", kGang);
  w.start();
  w.process->landing->refused["train-1"] = "no room";
  EXPECT_EQ(w.evict("train-0"), "pod train-1 would not find a better node: no room");
  w.args.maxMigratingPerNode = 1;
  w.start();
  EXPECT_THAT(w.evict("train-0"), HasSubstr("2 pods of its gang are on node n1"));
  EXPECT_TRUE(w.jobs().empty());
}

TEST(Migrator, a_gang_of_which_one_gets_no_room_stays) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("train", 2, "n1", kGang);
  w.start();
  w.evict("train-0");
  w.run(5s);
  // One of the two gets a node, the other does not.
  w.reservationsGoTo = "n2";
  const auto reservations = w.list(api::Reservation::kType);
  ASSERT_EQ(reservations.size(), 2u);
  w.api.remove(api::Reservation::kType, std::string(textAt(reservations[0], "metadata", "name")));
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Failed") << job.status.message;
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(Migrator, a_gang_whose_jobs_were_not_all_made_stays) {
  MigrationWorld w;
  w.workload("train", 2, "n1", kGang);
  w.start(2);  // dies while it makes the second
  w.evict("train-0");
  ASSERT_EQ(w.jobs().size(), 1u);
  w.start();
  w.run(1min);
  EXPECT_THAT(w.stateOf(w.jobs()[0].metadata.name), HasSubstr("Failed GangCannotMove"));
  EXPECT_EQ(w.evictions(), 0);
}

}  // namespace
}  // namespace koord::descheduler
