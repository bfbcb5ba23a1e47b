#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "descheduler/migration/arbitration_order.h"
#include "descheduler/migration/args.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/job_status.h"
#include "descheduler/migration/keys.h"
#include "descheduler/migration/landing.h"
#include "descheduler/migration/object_limiter.h"
#include "descheduler/migration/reservation_template.h"
#include "descheduler/migration/wakeups.h"
#include "descheduler/migration/workload_limits.h"

namespace koord::descheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Limits of workloads.

std::optional<NumberOrPercent> configured(const char* text) {
  return numberOrPercentOf(*parseJson(text));
}

TEST(WorkloadLimits, are_as_upstream_has_them) {
  struct Row {
    std::int64_t replicas, unset, tenth, half, five;
  };
  // 11 and 25 without a limit get at least upstream's value for ten: see the header.
  for (const Row& row : {Row{0, 0, 0, 0, 0}, Row{1, 1, 1, 1, 1}, Row{2, 1, 1, 1, 2},
                         Row{3, 1, 1, 1, 3}, Row{4, 2, 1, 2, 4}, Row{10, 2, 1, 5, 5},
                         Row{11, 2, 1, 5, 5}, Row{25, 2, 2, 12, 5}, Row{100, 10, 10, 50, 5}}) {
    EXPECT_EQ(limitFor(row.replicas, {}), row.unset) << row.replicas;
    EXPECT_EQ(limitFor(row.replicas, configured("\"10%\"")), row.tenth) << row.replicas;
    EXPECT_EQ(limitFor(row.replicas, configured("\"50%\"")), row.half) << row.replicas;
    EXPECT_EQ(limitFor(row.replicas, configured("5")), row.five) << row.replicas;
  }
}

TEST(WorkloadLimits, are_numbers_or_percentages_and_nothing_else) {
  EXPECT_EQ(configured("3")->number, 3);
  EXPECT_TRUE(configured("\"30%\"")->percent);
  for (const char* text : {"\"3\"", "\"%\"", "\"3.5%\"", "1.5", "true", "\"x%\"", "{}"})
    EXPECT_FALSE(configured(text)) << text;
}

// --- Arguments.

struct Read {
  std::vector<std::string> errors;
  MigrationControllerArgs args;
};
Read readArgs(std::string_view text) {
  const auto document = parseJson(text);
  Read out;
  Fields fields(&*document, "args", out.errors);
  out.args = MigrationControllerArgs::read(fields);
  fields.refuseUnknown();
  return out;
}

TEST(MigrationControllerArgs, have_upstreams_defaults) {
  const auto [errors, args] = readArgs("{}");
  EXPECT_THAT(errors, ElementsAre());
  EXPECT_EQ(args.maxMigratingPerNode, 2);
  EXPECT_EQ(args.defaultJobMode, "ReservationFirst");
  EXPECT_EQ(args.defaultJobTTL, 5min);
  EXPECT_EQ(args.evictQPS, 10);
  EXPECT_EQ(args.evictBurst, 1);
  EXPECT_EQ(args.arbitrationInterval, 500ms);
  EXPECT_EQ(args.objectLimiters.at("workload").duration, 5min);
  EXPECT_THAT(args.schedulerNames, ElementsAre("koord-scheduler"));
}

TEST(MigrationControllerArgs, that_are_wrong_are_all_told_with_their_path) {
  const auto [errors, args] = readArgs(R"({
    "maxMigratingPerNode": -1, "maxMigratingPerWorkload": "many", "evictQPS": "fast",
    "evictBurst": 0, "evictionPolicy": "Shoot", "defaultJobMode": "Jump", "defaultJobTTL": "-1s",
    "skipEvictionGates": ["Pvc"], "priorityThreshold": {"value": 1, "name": "a"},
    "objectLimiters": {"namespace": {"duration": "1m", "maxMigrating": "10%"}, "node": {}},
    "arbitrationArgs": {"interval": "0s"}, "landing": {"schedulerURL": "localhost"},
    "maxConcurrentReconciles": 0, "nodeSelector": "a in", "nodefit": true})");
  for (const char* text :
       {"args.maxMigratingPerNode: ", "args.maxMigratingPerWorkload: ", "args.evictQPS: ",
        "args.evictBurst: ", "args.evictionPolicy: ", "args.defaultJobMode: ",
        "args.defaultJobTTL: ", "args.skipEvictionGates: unknown gate \"Pvc\"",
        "args.priorityThreshold.name: must not be set together with value",
        "args.objectLimiters.namespace.maxMigrating: of a namespace must be an integer",
        "args.objectLimiters: must be workload, namespace or cluster, not \"node\"",
        "args.arbitrationArgs.interval: ", "args.landing.schedulerURL: ",
        "args.maxConcurrentReconciles: ", "args.nodeSelector: ", "args.nodefit: "})
    EXPECT_THAT(errors, Contains(HasSubstr(text)));
}

TEST(MigrationControllerArgs, of_skipped_gates_turn_off_what_these_stand_for) {
  const auto [errors, args] = readArgs(R"({"labelSelector": {"matchLabels": {"a": "b"}},
    "nodeFit": true, "namespaces": {"include": ["x"]}, "priorityThreshold": {"value": 5},
    "skipEvictionGates": ["LabelSelector", "NodeFit", "Namespaces", "PriorityThreshold", "BarePods",
                          "LocalStorage", "SystemCritical", "ExpectedReplicas"]})");
  EXPECT_THAT(errors, ElementsAre());
  EXPECT_FALSE(args.evictor.labelSelector);
  EXPECT_FALSE(args.evictor.priorityThreshold);
  EXPECT_FALSE(args.nodeFit);
  EXPECT_TRUE(args.namespaces.allows("y"));
  EXPECT_TRUE(args.evictor.evictAllBarePods);
  EXPECT_TRUE(args.evictor.evictLocalStoragePods);
  EXPECT_TRUE(args.evictor.evictSystemCriticalPods);
  EXPECT_TRUE(args.skipCheckExpectedReplicas);
}

TEST(MigrationControllerArgs, are_shown_as_they_are_in_force_and_can_be_read_again) {
  const auto first = readArgs(R"({"evictQPS": "2.5", "maxMigratingPerWorkload": "20%",
    "objectLimiters": {"workload": {"duration": "1m", "maxMigrating": 3, "burst": 2}}})");
  ASSERT_THAT(first.errors, ElementsAre());
  const std::string shown = toJson(json::value(first.args.document()));
  const auto second = readArgs(shown);
  EXPECT_THAT(second.errors, ElementsAre());
  EXPECT_EQ(toJson(json::value(second.args.document())), shown);
  EXPECT_EQ(second.args.evictQPS, 2.5);
}

// --- Job status.

api::PodMigrationJob jobOf(std::string_view text) {
  auto job = api::decode<api::PodMigrationJob>(*parseJson(text));
  EXPECT_TRUE(job) << (job ? "" : job.error().message);
  return job ? *job : api::PodMigrationJob{};
}

TEST(JobStatus, tells_what_is_wrong_with_a_job_by_its_field) {
  const auto defect = [](std::string_view spec) {
    const auto found = specErrorOf(jobOf(fmt::format(R"({{"spec": {}}})", spec)));
    return found.message.empty() ? std::string()
                                 : fmt::format("{}: {}", found.reason, found.message);
  };
  const std::string pod = R"("podRef": {"namespace": "a", "name": "b"})";
  EXPECT_EQ(defect("{" + pod + "}"), "");
  EXPECT_EQ(defect(R"({"podRef": {"name": "b"}})"),
            "InvalidPodRef: Abort job caused by invalid PodRef");
  EXPECT_THAT(defect("{" + pod + R"(, "mode": "Jump"})"),
              HasSubstr("InvalidSpec: spec.mode: \"Jump\""));
  EXPECT_THAT(defect("{" + pod + R"(, "ttl": "soon"})"), HasSubstr("InvalidSpec: spec.ttl"));
  EXPECT_THAT(defect("{" + pod + R"(, "ttl": "-5m"})"), HasSubstr("is negative"));
  EXPECT_THAT(defect("{" + pod + R"(, "reservationOptions": {"reservationRef": {}}})"),
              HasSubstr("reservationRef.name: is missing"));
  EXPECT_THAT(defect("{" + pod + R"(, "reservationOptions": {"template": [1]}})"),
              HasSubstr("template: must be an object"));
}

TEST(JobStatus, keeps_the_time_of_a_transition_while_the_status_stays) {
  api::PodMigrationJobStatus status;
  const WallTime start{};
  EXPECT_TRUE(setCondition(status, "Eviction", false, "Evicting", "a", start));
  EXPECT_TRUE(setCondition(status, "Eviction", false, "Evicting", "b", start + 5s));
  EXPECT_EQ(*status.conditions[0].lastTransitionTime, start);
  EXPECT_FALSE(setCondition(status, "Eviction", false, "Evicting", "b", start + 6s));
  EXPECT_TRUE(setCondition(status, "Eviction", true, "EvictComplete", "c", start + 7s));
  EXPECT_EQ(*status.conditions[0].lastTransitionTime, start + 7s);
  EXPECT_EQ(status.status, "Eviction");
  EXPECT_EQ(status.reason, "EvictComplete");
}

TEST(JobStatus, names_the_reason_of_an_eviction) {
  EXPECT_EQ(evictReasonOf(jobOf("{}")), "NotSet");
  EXPECT_EQ(evictReasonOf(
                jobOf(R"({"metadata": {"annotations": {"koordinator.sh/evict-trigger": "X"}}})")),
            "X");
}

// --- Reservations.

const char* kPod = R"({"metadata": {"name": "web-1", "namespace": "default", "uid": "p",
    "managedFields": [{}], "labels": {"app": "web"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "x"},
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7c", "uid": "R",
                         "controller": true}]},
    "spec": {"nodeName": "node-1", "unheardOf": 1,
             "volumes": [{"name": "a", "persistentVolumeClaim": {}}, {"name": "b", "emptyDir": {}}]}})";

Result<json::object> reservation(const char* job, const char* pod = kPod,
                                 bool withoutClaims = false,
                                 std::optional<api::LabelSelector> labels = {}) {
  return reservationFor(jobOf(job), *parseJson(pod), {"node-1"}, WallTime{} + 1234ms, withoutClaims,
                        labels);
}

TEST(ReservationTemplate, is_made_of_the_pod_and_keeps_it_off_its_node) {
  const auto made = reservation(R"({"metadata": {"uid": "u1"}, "spec": {"ttl": "5m"}})");
  ASSERT_TRUE(made) << made.error().message;
  const json::value document(*made);
  EXPECT_EQ(textAt(document, "metadata", "name"), "u1");
  EXPECT_EQ(toJson(*at(document, "metadata", "labels")),
            R"({"app.kubernetes.io/created-by":"koord-descheduler",)"
            R"("scheduling.koordinator.sh/reservation-order":"1234"})");
  EXPECT_EQ(textAt(document, "spec", "ttl"), "5m0s");
  EXPECT_EQ(
      toJson(*at(document, "spec", "owners")),
      R"([{"controller":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7c","uid":"R",)"
      R"("controller":true,"namespace":"default"}}])");
  EXPECT_EQ(toJson(*at(document, "spec", "template", "spec", "affinity", "nodeAffinity",
                       "requiredDuringSchedulingIgnoredDuringExecution")),
            R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"NotIn",)"
            R"("values":["node-1"]}]}]})");
  EXPECT_FALSE(at(document, "spec", "template", "spec", "nodeName"));
  EXPECT_FALSE(at(document, "spec", "template", "metadata", "managedFields"));
  // No field of the pod is lost, known or unknown.
  EXPECT_TRUE(at(document, "spec", "template", "spec", "unheardOf"));
  EXPECT_TRUE(at(document, "spec", "allocateOnce")->get_bool());
}

TEST(ReservationTemplate, leaves_what_the_user_said_and_forces_what_has_to_be) {
  const auto made =
      reservation(R"({"metadata": {"uid": "u1"}, "spec": {"ttl": "5m", "reservationOptions": {
    "template": {"metadata": {"name": "mine"}, "spec": {"ttl": "1h", "allocateOnce": false,
      "owners": [{"labelSelector": {"matchLabels": {"a": "b"}}}],
      "template": {"spec": {"nodeName": "x", "affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [{"key": "z", "operator": "Exists"}]}, {}]}}}}}}}}}})");
  ASSERT_TRUE(made) << made.error().message;
  const json::value document(*made);
  EXPECT_EQ(textAt(document, "metadata", "name"), "mine");
  EXPECT_EQ(textAt(document, "spec", "ttl"), "1h");
  EXPECT_TRUE(at(document, "spec", "allocateOnce")->get_bool());
  EXPECT_FALSE(at(document, "spec", "template", "spec", "nodeName"));
  const auto& terms = at(document, "spec", "template", "spec", "affinity", "nodeAffinity",
                         "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
                          ->get_array();
  ASSERT_EQ(terms.size(), 2u);
  for (const auto& term : terms) EXPECT_TRUE(find(term, "matchFields"));
}

TEST(ReservationTemplate, is_for_the_pod_itself_while_that_waits_for_a_node) {
  const auto made =
      reservation(R"({"metadata": {"uid": "u1"}})",
                  R"({"metadata": {"name": "w", "namespace": "a", "uid": "p"}, "spec": {},
      "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(textAt(made->at("spec").at("owners").get_array()[0], "object", "uid"), "p");
}

TEST(ReservationTemplate, is_refused_where_nobody_could_own_it) {
  const auto made = reservation(R"({"metadata": {"uid": "u1"}})",
                                R"({"metadata": {"name": "bare"}, "spec": {}})");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("the pod has no controller"));
}

TEST(ReservationTemplate, matches_pods_of_a_deployment_over_a_rollout) {
  api::LabelSelector labels;
  labels.matchLabels["app"] = "web";
  const auto made = reservation(R"({"metadata": {"uid": "u1"}})", kPod, true, labels);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(
      toJson(made->at("spec").at("owners")),
      R"([{"controller":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"","uid":"",)"
      R"("controller":true,"namespace":"default"},"labelSelector":{"matchLabels":{"app":"web"}}}])");
  // Volumes with claims belong to the old pod while it exists.
  EXPECT_EQ(made->at("spec").at("template").at("spec").at("volumes").get_array().size(), 1u);
}

// --- Order.

WaitingJob waitingJob(const std::string& name, std::string_view pod, int seconds = 0) {
  auto job = std::make_shared<api::PodMigrationJob>();
  job->metadata.name = name;
  job->metadata.creationTimestamp = WallTime{} + std::chrono::seconds(seconds);
  WaitingJob waiting{job, nullptr, 0};
  if (pod.empty()) return waiting;
  auto read = api::decode<Pod>(*parseJson(pod), api::Reading::Api);
  EXPECT_TRUE(read);
  waiting.pod = std::make_shared<const Pod>(*std::move(read));
  return waiting;
}
std::string orderOf(std::vector<WaitingJob> waiting) {
  orderWaiting(waiting);
  std::string names;
  for (const auto& each : waiting) names += each.job->metadata.name + " ";
  return names;
}
std::string podOfPriority(int priority) {
  return fmt::format(R"({{"metadata": {{"name": "p{0}"}}, "spec": {{"priority": {0}}}}})",
                     priority);
}
std::string podOfJob(const std::string& owner) {
  return fmt::format(
      R"({{"metadata": {{"name": "p", "ownerReferences": [{{"kind": "Job", "uid": "{}",)"
      R"("controller": true}}]}}}})",
      owner);
}

TEST(ArbitrationOrder, begins_with_those_without_a_pod_then_the_least_important) {
  EXPECT_EQ(
      orderOf({waitingJob("j1", podOfPriority(9500), 5), waitingJob("j2", podOfPriority(5500), 1),
               waitingJob("j3", podOfPriority(5500), 9), waitingJob("j4", "", 1)}),
      "j4 j3 j2 j1 ");
}

TEST(ArbitrationOrder, brings_pods_of_one_job_together_and_first_those_of_which_some_move) {
  std::vector<WaitingJob> ten;
  for (int i = 0; i < 10; ++i) {
    const bool owned = i == 4 || i == 8;
    ten.push_back(
        waitingJob(std::to_string(i), podOfJob(owned ? "j" : "x" + std::to_string(i)), 100 - i));
  }
  EXPECT_EQ(orderOf(ten), "0 1 2 3 4 8 5 6 7 9 ");
  ten[4].movingOfJob = ten[8].movingOfJob = 1;
  EXPECT_EQ(orderOf(ten), "4 8 0 1 2 3 5 6 7 9 ");
}

// --- Rates.

api::Pod ownedPod(const std::string& owner) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.ownerReferences.push_back({"apps/v1", "ReplicaSet", "w", owner, true, false});
  return pod;
}

TEST(ObjectLimiter, lets_a_workload_go_at_its_rate) {
  VirtualLoop loop;
  MigrationControllerArgs args;
  args.objectLimiters["workload"] = {.duration = 5min};
  ObjectLimiter limiter(args, loop);
  const auto pod = ownedPod("w");
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
  limiter.spend("default", "w", 10);  // two in five minutes
  EXPECT_NEAR(std::chrono::duration<double>(limiter.wait(pod, "w")).count(), 150, 0.1);
  EXPECT_EQ(limiter.wait(ownedPod("other"), "other"), 0s);
  loop.advance(151s);
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
}

TEST(ObjectLimiter, knows_of_evictions_of_an_earlier_life) {
  VirtualLoop loop;
  loop.advance(1h);
  MigrationControllerArgs args;
  args.objectLimiters["workload"] = {.duration = 5min};
  ObjectLimiter limiter(args, loop);
  limiter.spend("default", "w", 10, 100s);
  EXPECT_NEAR(std::chrono::duration<double>(limiter.wait(ownedPod("w"), "w")).count(), 50, 0.1);
  limiter.spend("default", "old", 10, 10min);
  EXPECT_EQ(limiter.wait(ownedPod("old"), "old"), 0s);
}

TEST(ObjectLimiter, counts_a_namespace_as_a_whole_and_bursts) {
  VirtualLoop loop;
  MigrationControllerArgs args;
  args.objectLimiters["namespace"] = {
      .duration = 1s, .maxMigrating = NumberOrPercent{10, false}, .burst = 2};
  ObjectLimiter limiter(args, loop);
  const auto pod = ownedPod("");
  limiter.spend("default", "", 0);
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
  limiter.spend("default", "", 0);
  EXPECT_GT(limiter.wait(pod, "w"), 0s);
  loop.advance(101ms);
  EXPECT_EQ(limiter.wait(pod, "w"), 0s);
}

// --- The rest.

TEST(Wakeups, come_once_and_at_the_earliest_time_asked_for) {
  VirtualLoop loop;
  std::vector<std::string> woken;
  Wakeups wakeups(loop, [&](const std::string& key) { woken.push_back(key); });
  wakeups.in("a", 10s);
  wakeups.in("a", 3s);
  wakeups.in("a", 5s);
  wakeups.in("b", 4s);
  wakeups.forget("b");
  loop.advance(1min);
  EXPECT_THAT(woken, ElementsAre("a"));
  wakeups.in("a", 1s);
  loop.advance(2s);
  EXPECT_THAT(woken, ElementsAre("a", "a"));
}

TEST(Landing, asks_with_what_decides_and_reads_what_is_answered) {
  auto pod = std::make_shared<Pod>();
  pod->spec.nodeName = "n1";
  const auto whole = std::make_shared<const json::value>(*parseJson(
      R"({"metadata": {"name": "p", "managedFields": []}, "status": {"phase": "Running"},
          "spec": {"containers": [{"image": "i", "command": ["sleep"]}], "nodeName": "n1"}})"));
  const std::string question =
      landingRequest({{.pod = pod, .whole = whole, .stays = true, .avoid = {"n1"}}});
  EXPECT_EQ(question,
            R"({"pods":[{"pod":{"metadata":{"name":"p"},"spec":{"containers":[{"image":"i"}],)"
            R"("nodeName":"n1"}},"from":"n1","stays":true,"avoid":["n1"]}]})");
  const auto places = readLandingReply(R"({"pods": [{"node": "n2"}, {"message": "no room"}]})", 2);
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)[0].node, "n2");
  EXPECT_EQ((*places)[1].why, "no room");
  EXPECT_FALSE(readLandingReply(R"({"pods": []})", 2));
  EXPECT_FALSE(readLandingReply("<html>", 1));
}

TEST(Landing, asks_for_a_pod_that_is_kept_with_what_its_containers_ask_for_together) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.uid = "u";
  pod->spec.nodeName = "n1";
  for (int i = 0; i < 2; ++i) {
    auto& requests = pod->spec.containers.emplace_back().resources.requests;
    requests["cpu"] = *Quantity::parse("250m");
    requests["memory"] = *Quantity::parse("1Ki");
    requests["example.com/card"] = *Quantity::parse("1");
  }
  establishFacts(*pod);
  slim(*pod, false);
  EXPECT_EQ(
      landingRequest({{.pod = pod}}),
      R"({"pods":[{"pod":{"metadata":{"name":"p","uid":"u"},"spec":{"nodeName":"n1","containers":)"
      R"([{"name":"all","resources":{"requests":{"cpu":"500m","memory":"2048",)"
      R"("example.com/card":"2"}}}]}},"from":"n1"}]})");
}

TEST(Gangs, are_what_labels_and_annotations_say) {
  api::Pod pod;
  pod.metadata.namespace_ = "a";
  EXPECT_EQ(gangOf(pod), "");
  pod.metadata.labels["pod-group.scheduling.sigs.k8s.io"] = "g";
  EXPECT_EQ(gangOf(pod), "a/g");
  pod.metadata.annotations["gang.scheduling.koordinator.sh/name"] = "h";
  EXPECT_EQ(gangOf(pod), "a/h");
}

}  // namespace
}  // namespace koord::descheduler
