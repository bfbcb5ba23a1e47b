#include "koordctl/simulate/snapshot_simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/test_folder.h"
#include "base/yaml.h"
#include "cluster/snapshot/snapshot_writer.h"
#include "koordctl/explain/layout.h"

namespace koord::koordctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string nodeText(const std::string& name, int cpus) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","uid":"{}",)"
      R"("labels":{{"kubernetes.io/hostname":"{}"}}}},"spec":{{}},"status":{{"allocatable":)"
      R"({{"cpu":"{}","memory":"64Gi","pods":"110"}}}}}})",
      name, name, name, cpus);
}

std::string runningText(const std::string& name, const std::string& node, int cpus,
                        const std::string& phase = "Running") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default",)"
      R"("uid":"{}","ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
      R"("name":"set","uid":"set","controller":true}}]}},"spec":{{"nodeName":"{}",)"
      R"("schedulerName":"default-scheduler","priority":0,"containers":[{{"name":"main",)"
      R"("image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}},)"
      R"("status":{{"phase":"{}"}}}})",
      name, name, node, cpus, phase);
}

// A snapshot of two nodes, "small" with a running pod and "large", and of a priority class.
class SnapshotSimulation : public ::testing::Test {
 protected:
  SnapshotSimulation() {
    EXPECT_TRUE(::mkdtemp(folder_.data()));
    file_ = folder_ + "/case.snap";
  }
  ~SnapshotSimulation() override { std::filesystem::remove_all(folder_); }

  void take(const std::string& configuration = "") const {
    cluster::SnapshotHeader header;
    header.scope = cluster::SnapshotHeader::Scope::Support;
    header.createdAt = "2026-11-27T12:00:00Z";
    auto writer = cluster::SnapshotWriter::create(file_, header);
    ASSERT_TRUE(writer) << writer.error().message;
    const auto add = [&](const std::string& resource, std::string_view text) {
      ASSERT_TRUE((*writer)->addObject(resource, text));
    };
    if (!configuration.empty())
      add("configmaps",
          toJson(json::object{{"metadata", json::object{{"name", "koord-scheduler-config"},
                                                        {"namespace", "koordinator-system"}}},
                              {"data", json::object{{"koord-scheduler-config", configuration}}}}));
    add("nodes", nodeText("small", 4));
    add("nodes", nodeText("large", 8));
    add("pods", runningText("web", "small", 3));
    add("pods", runningText("done", "large", 8, "Succeeded"));
    add("priorityclasses.scheduling.k8s.io",
        R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",)"
        R"("metadata":{"name":"important"},"value":1000})");
    for (const std::string& text : jobs_) add("jobs.batch", text);
    for (const std::string& text : morePods_) add("pods", text);
    for (const std::string& text : moreClasses_) add("priorityclasses.scheduling.k8s.io", text);
    ASSERT_TRUE((*writer)->finish());
  }
  // The status of the answer.
  json::value ask(const std::string& spec) const {
    const auto answers = simulateOnSnapshot(file_, {parseYaml(spec)->get_object()});
    if (!answers) return json::string(answers.error().message);
    return memberOf(answers->front().result, "status");
  }
  std::string failure() const {
    const auto answers = simulateOnSnapshot(file_, {json::object{}});
    return answers ? "answered" : answers.error().message;
  }
  static std::string podText(const std::string& name, int cpus, const std::string& more = "") {
    return fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: {{{}"
        "containers: [{{name: main, resources: {{requests: {{cpu: {}}}}}}}]}}}}",
        name, more, cpus);
  }
  static std::vector<std::string> placesIn(const json::value& status) {
    std::vector<std::string> places;
    for (const json::value& pod : arrayAt(status, "pods"))
      places.push_back(
          fmt::format("{} {} {}", textAt(pod, "name"), textAt(pod, "state"), textAt(pod, "node")));
    return places;
  }

  std::string folder_ = testMemoryFolder() + "/simulation-XXXXXX";
  std::string file_;
  std::vector<std::string> morePods_;
  std::vector<std::string> moreClasses_;  // objects
  std::vector<std::string> jobs_;
};

TEST_F(SnapshotSimulation, each_question_is_asked_on_the_state_of_the_file) {
  take();
  const auto specOf = [](const std::string& name) {
    return parseYaml("objects: [" + podText(name, 6) + "]")->get_object();
  };
  const auto answers = simulateOnSnapshot(file_, {specOf("one"), specOf("two")});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 2u);
  for (const SimulationAnswer& answer : *answers)
    EXPECT_EQ(textAt(memberOf(memberOf(answer.result, "status"), "pods").get_array()[0], "node"),
              "large");
}

TEST_F(SnapshotSimulation, pods_go_where_the_objects_of_the_file_leave_resources) {
  take();
  const auto status = ask("objects: [" + podText("five", 5) + ", " + podText("four", 4) + "]");
  EXPECT_THAT(placesIn(status), ElementsAre("five placed large", "four pending "))
      << toJson(status);
  EXPECT_EQ(textAt(status, "state", "time"), "2026-11-27T12:00:00.000000Z");
}

TEST_F(SnapshotSimulation, a_priority_class_of_the_file_lets_pods_preempt) {
  take();
  const auto status = ask("objects: [" +
                          podText("big", 4,
                                  "nodeSelector: {kubernetes.io/hostname: small}, "
                                  "priorityClassName: important, ") +
                          "]");
  EXPECT_THAT(placesIn(status), ElementsAre("big placed small")) << toJson(status);
  ASSERT_EQ(arrayAt(status, "victims").size(), 1u);
  EXPECT_EQ(textAt(arrayAt(status, "victims")[0], "name"), "web");
}

TEST_F(SnapshotSimulation, pods_of_a_drained_node_are_complete) {
  take();
  const auto status = ask("drainNodes: [small]");
  EXPECT_THAT(placesIn(status), ElementsAre("web-again placed large")) << toJson(status);
  EXPECT_THAT(arrayAt(status, "notes"), ::testing::IsEmpty());
}

TEST_F(SnapshotSimulation, the_configuration_is_that_of_the_file_or_the_question) {
  take(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{schedulerName: mine}]\n");
  const std::string objects = "objects: [" + podText("p", 1, "schedulerName: mine, ") + "]";
  EXPECT_THAT(placesIn(ask(objects)), ElementsAre(HasSubstr("p placed")));
  const auto other = ask(objects +
                         "\nconfiguration: {apiVersion: kubescheduler.config.k8s.io/v1, kind: "
                         "KubeSchedulerConfiguration}");
  EXPECT_THAT(toJson(other), HasSubstr("this scheduler has no profile mine"));
}

TEST_F(SnapshotSimulation, a_file_that_is_no_snapshot_is_named) {
  EXPECT_THAT(failure(), HasSubstr(file_)) << "it does not exist";
  ASSERT_TRUE(writeFileAtomic(file_, "no snapshot"));
  EXPECT_THAT(failure(), HasSubstr(file_ + ": the file is not a snapshot"));
  std::filesystem::remove(file_);
  take();
  const auto whole = readFile(file_);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(writeFileAtomic(file_, whole->substr(0, whole->size() - 20)));
  EXPECT_THAT(failure(), HasSubstr(file_));
  EXPECT_THAT(failure(), HasSubstr("runcated"));
}

TEST_F(SnapshotSimulation, an_object_that_cannot_be_read_is_ignored_with_a_note) {
  moreClasses_ = {R"({"metadata":{"name":"odd"},"value":"many"})"};
  take();
  const std::string spec = "objects: [" + podText("p", 1) + "]";
  const auto answers = simulateOnSnapshot(file_, {parseYaml(spec)->get_object()});
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_THAT(answers->front().notes,
              ::testing::Contains(HasSubstr("priorityclasses.scheduling.k8s.io odd is ignored")));
}

TEST_F(SnapshotSimulation, errors_of_the_question_name_the_field) {
  take();
  EXPECT_EQ(ask("drainNodes: [none]"),
            json::string("spec.drainNodes[0]: there is no node \"none\""));
  EXPECT_THAT(toJson(ask("configuration: {kind: Other}")), HasSubstr("--config"));
}

TEST_F(SnapshotSimulation, of_a_job_of_the_file_what_still_has_to_run_is_created) {
  jobs_.emplace_back(
      R"({"metadata":{"name":"job","namespace":"default","uid":"u"},"status":{"succeeded":3}})");
  take();
  const std::string job =
      "{objects: [{apiVersion: batch/v1, kind: Job, metadata: {name: job, namespace: default}, "
      "spec: {completions: 5, parallelism: 4, template: {spec: {containers: [{name: main}]}}}}]}";
  EXPECT_EQ(memberOf(ask(job), "placed"), json::value(2));
  jobs_.clear();
  std::filesystem::remove(file_);
  take();
  EXPECT_EQ(memberOf(ask(job), "placed"), json::value(4));
}

// A pod of the Job "train", which began so many minutes before the snapshot.
std::string jobPodText(const std::string& name, const std::string& node, int cpus, int began,
                       int ended = 0) {
  const auto minutesAgo = [](int minutes) {
    return fmt::format("2026-11-27T11:{:02}:00Z", 60 - minutes);
  };
  std::string status = R"("phase":"Pending")";
  if (!node.empty())
    status = fmt::format(R"("phase":"{}","startTime":"{}")", ended > 0 ? "Succeeded" : "Running",
                         minutesAgo(began));
  if (ended > 0)
    status += fmt::format(
        R"(,"containerStatuses":[{{"name":"main","state":{{"terminated":{{"finishedAt":"{}"}}}}}}])",
        minutesAgo(ended));
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default",)"
      R"("uid":"{}","ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job",)"
      R"("name":"train","uid":"train","controller":true}}]}},"spec":{{"nodeName":"{}",)"
      R"("schedulerName":"default-scheduler","restartPolicy":"Never","priority":0,)"
      R"("containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}},)"
      R"("status":{{{}}}}})",
      name, name, node, cpus, status);
}

TEST_F(SnapshotSimulation, estimates_starts_from_the_pods_that_have_ended) {
  for (int i = 0; i < 4; ++i)
    morePods_.push_back(jobPodText(fmt::format("train-{}", i), "large", 8, 40 + i, 20 + i));
  morePods_.push_back(jobPodText("train-5", "large", 8, 15));
  morePods_.push_back(jobPodText("train-6", "", 8, 0));
  jobs_.push_back(
      R"({"metadata":{"name":"train","namespace":"default","uid":"train"},"spec":{"parallelism":2,)"
      R"("completions":9},"status":{"active":2,"succeeded":4}})");
  take();
  const std::string question = "when: {pods: [default/train-6]}";
  const json::value status = ask(question);
  const json::array& estimates = arrayAt(memberOf(status, "when"), "estimates");
  ASSERT_EQ(estimates.size(), 1u) << toJson(status);
  EXPECT_EQ(textAt(estimates[0], "state"), "estimated") << toJson(status);
  EXPECT_NEAR(realNumber(memberOf(memberOf(estimates[0], "next"), "likely")).value_or(0), 300, 60);
}

}  // namespace
}  // namespace koord::koordctl
