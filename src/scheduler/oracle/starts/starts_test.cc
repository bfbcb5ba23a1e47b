#include "scheduler/oracle/starts/starts.h"

#include "base/time.h"
#include "model/well_known.h"
#include "scheduler/oracle/oracle_fixture.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler::oracle::testing {
namespace {

using namespace std::chrono_literals;

// A scheduler with pods of Jobs.
struct Foretold : Asked {
  int made = 0;

  static PodBuilder jobPod(const std::string& name, const std::string& job,
                           const std::string& cpu) {
    auto pod = aPod(name).request("cpu", cpu);
    pod.object().metadata.uid = "uid-" + name;
    pod.object().spec.restartPolicy = "Never";
    api::OwnerReference owner;
    owner.kind = "Job";
    owner.name = job;
    owner.uid = "uid-of-" + job;
    owner.controller = true;
    pod.object().metadata.ownerReferences.push_back(std::move(owner));
    return pod;
  }
  // Earlier runs of the Job.
  void ran(const std::string& job, std::initializer_list<Duration> times) {
    for (const Duration time : times) {
      api::Pod pod = jobPod(fmt::format("earlier-{}", ++made), job, "1").object();
      pod.spec.nodeName = "gone";
      pod.status.phase = "Succeeded";
      pod.status.startTime = loop.wallNow() - time;
      api::ContainerStatus status;
      status.state.terminated.emplace().finishedAt = loop.wallNow();
      pod.status.containerStatuses.push_back(status);
      history.learn(pod);
    }
  }
  void running(const std::string& name, const std::string& job, const std::string& node,
               Duration since, const std::string& cpu = "4") {
    auto pod = jobPod(name, job, cpu);
    pod.object().status.startTime = loop.wallNow() - since;
    runs(pod, node);
  }
  json::value when(const std::string& spec) {
    const auto answer = ask("when: " + spec);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? memberOf(*answer, "when") : json::value();
  }
  json::value first(const std::string& spec) {
    const json::value answer = when(spec);
    const json::value& estimates = memberOf(answer, "estimates");
    return estimates.is_array() && !estimates.get_array().empty() ? estimates.get_array()[0]
                                                                  : json::value();
  }
};

double number(const json::value& object, const char* part, const char* name) {
  return realNumber(memberOf(memberOf(object, part), name)).value_or(-1);
}

TEST(Starts, a_pod_starts_when_the_pod_before_it_has_run_as_long_as_its_workload_runs) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {600s, 610s, 620s, 630s, 640s, 650s, 660s, 670s, 680s});
  f.running("train-0", "train", "a", 400s);
  f.create(aPod("waits").request("cpu", "2"));
  f.run();
  const json::value pod = f.first("{pods: [default/waits]}");
  EXPECT_EQ(textAt(pod, "state"), "estimated") << toJson(pod);
  EXPECT_EQ(textAt(pod, "node"), "a");
  const double earliest = number(pod, "next", "earliest"), likely = number(pod, "next", "likely"),
               latest = number(pod, "next", "latest");
  // It ran 405 s; the quantiles of the runs, and the seconds of a backoff.
  EXPECT_NEAR(earliest, 195, 15) << toJson(pod);
  EXPECT_NEAR(likely, 235, 20) << toJson(pod);
  EXPECT_NEAR(latest, 275, 20) << toJson(pod);
  const json::value& runs = memberOf(pod, "runs").get_array()[0];
  EXPECT_EQ(textAt(runs, "name"), "train");
  EXPECT_EQ(memberOf(runs, "runs"), json::value(9));
  EXPECT_EQ(memberOf(runs, "pods"), json::value(1));
  EXPECT_EQ(realNumber(memberOf(runs, "longest")), 680.0);
}

TEST(Starts, nothing_is_claimed_if_nothing_is_known_and_the_pod_in_the_way_is_named) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {600s, 610s});  // two runs say too little
  f.running("train-0", "train", "a", 400s);
  f.create(aPod("waits").request("cpu", "2"));
  f.run();
  const json::value pod = f.first("{pods: [default/waits]}");
  EXPECT_EQ(textAt(pod, "state"), "none") << toJson(pod);
  EXPECT_EQ(memberOf(pod, "next"), json::value());
  EXPECT_THAT(std::string(textAt(pod, "lastMessage")), HasSubstr("1 Insufficient cpu"));
  ASSERT_EQ(memberOf(pod, "unknownPods"), json::value(1)) << toJson(pod);
  EXPECT_EQ(textAt(memberOf(pod, "unknown").get_array()[0], "name"), "train-0");
}

TEST(Starts, pods_of_a_full_quota_are_named_if_nothing_is_known_about_their_ends) {
  Foretold f;
  f.node(aNode("a"));
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->metadata.namespace_ = "default";
  quota->metadata.name = quota->metadata.uid = "team";
  for (auto* list : {&quota->spec.min, &quota->spec.max}) (*list)["cpu"] = *Quantity::parse("1");
  f.scheduler->stores().of<api::ElasticQuota>().set(quota);
  f.run();
  const auto member = [](const char* name) {
    return aPod(name).request("cpu", "1").label(std::string(model::kLabelQuotaName), "team");
  };
  f.runs(member("first"), "a");
  f.runs(aPod("other").request("cpu", "1"), "a");
  f.create(member("waits"));
  f.run();
  const json::value answer = f.when("{pods: [default/waits], quotas: [team]}");
  for (const json::value& estimate : memberOf(answer, "estimates").get_array()) {
    EXPECT_EQ(textAt(estimate, "state"), "none") << toJson(estimate);
    ASSERT_EQ(memberOf(estimate, "unknownPods"), json::value(1)) << toJson(estimate);
    EXPECT_EQ(textAt(memberOf(estimate, "unknown").get_array()[0], "name"), "first");
  }
}

TEST(Starts, a_deadline_without_history_gives_only_the_latest_time) {
  Foretold f;
  f.node(aNode("a"));
  auto pod = Foretold::jobPod("once", "once", "4");
  pod.object().spec.activeDeadlineSeconds = 900;
  pod.object().status.startTime = f.loop.wallNow() - 300s;
  f.runs(pod, "a");
  f.create(aPod("waits").request("cpu", "2"));
  f.run();
  const json::value answer = f.first("{pods: [default/waits]}");
  EXPECT_EQ(textAt(answer, "state"), "latestOnly") << toJson(answer);
  EXPECT_NEAR(number(answer, "next", "latest"), 595, 15);
  EXPECT_EQ(number(answer, "next", "earliest"), -1);
}

TEST(Starts, the_queue_before_the_pod_is_played_and_its_pods_run_too) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {600s, 600s, 600s, 600s});
  f.running("train-0", "train", "a", 0s);
  f.run();
  f.create(Foretold::jobPod("train-1", "train", "4"));
  f.run();
  f.create(aPod("waits").request("cpu", "4"));
  f.run();
  const json::value answer = f.when("{pods: [default/waits, default/train-1]}");
  const json::array& pods = memberOf(answer, "estimates").get_array();
  EXPECT_NEAR(number(pods[0], "next", "likely"), 1190, 60) << toJson(answer);
  EXPECT_NEAR(number(pods[1], "next", "likely"), 590, 30) << toJson(answer);
}

TEST(Starts, a_job_with_completions_left_keeps_its_node) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {600s, 600s, 600s, 600s});
  f.running("train-0", "train", "a", 0s);
  f.run();
  f.create(aPod("waits").request("cpu", "4").priority(-1));
  f.run();
  const std::string job =
      ", jobs: [{metadata: {uid: uid-of-train}, spec: {parallelism: 1, completions: 3}, status: "
      "{succeeded: 0}}]";
  EXPECT_NEAR(number(f.first("{pods: [default/waits]}"), "next", "likely"), 590, 30);
  EXPECT_NEAR(number(f.first("{pods: [default/waits]" + job + "}"), "next", "likely"), 1790, 80);
}

TEST(Starts, pods_that_run_or_do_not_exist_have_no_estimate) {
  Foretold f;
  f.node(aNode("a"));
  f.running("train-0", "train", "a", 0s, "1");
  const json::value answer = f.when("{pods: [default/train-0, default/nothing]}");
  const json::array& pods = memberOf(answer, "estimates").get_array();
  EXPECT_EQ(textAt(pods[0], "state"), "running");
  EXPECT_EQ(textAt(pods[0], "node"), "a");
  EXPECT_EQ(textAt(pods[1], "state"), "notFound");
}

TEST(Starts, a_pod_that_terminates_leaves_when_its_grace_is_over) {
  Foretold f;
  f.node(aNode("a"));
  auto pod = aPod("leaves").request("cpu", "4");
  pod.object().metadata.deletionTimestamp = f.loop.wallNow() + 120s;
  f.runs(pod, "a");
  f.create(aPod("waits").request("cpu", "2"));
  f.run();
  EXPECT_NEAR(number(f.first("{pods: [default/waits]}"), "next", "likely"), 115, 12);
}

TEST(Starts, the_same_question_has_the_same_answer) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {300s, 600s, 900s, 2000s});
  for (int i = 0; i < 4; ++i) f.running(fmt::format("train-{}", i), "train", "a", 60s * i, "1");
  f.create(aPod("waits").request("cpu", "3"));
  f.run();
  const std::string question = "{pods: [default/waits]}";
  EXPECT_EQ(toJson(f.when(question)), toJson(f.when(question)));
}

TEST(Starts, refuses_what_is_no_question) {
  Foretold f;
  const struct {
    const char* spec;
    const char* message;
  } table[] = {
      {"when: 5", "spec.when: must be an object"},
      {"when: {}", "spec.when: must name a pod, a gang or a quota"},
      {"when: {pods: [p]}", "spec.when.pods[0]: must be a text NAMESPACE/NAME"},
      {"when: {pods: [/p]}", "spec.when.pods[0]: must be a text NAMESPACE/NAME"},
      {"when: {quotas: [a/b]}", "spec.when.quotas[0]: must be the name of a quota"},
      {"when: {gangs: {}}", "spec.when.gangs: must be a list"},
      {"when: {pods: [a/b], jobs: 7}", "spec.when.jobs: must be a list"},
      {"when: {pods: [a/b], jobs: [7]}", "spec.when.jobs[0].metadata.uid: is required"},
      {"when: {pods: [a/b], more: 1}", "spec.when.more: unknown field"},
      {"{when: {pods: [a/b]}, fill: {}}", "spec.when: cannot be asked together with spec.fill"},
  };
  for (const auto& row : table) EXPECT_EQ(f.refusal(row.spec), row.message) << row.spec;
}

TEST(Starts, hostile_jobs_and_times_harm_nothing) {
  Foretold f;
  f.node(aNode("a"));
  f.ran("train", {600s, 600s, 600s, 600s});
  auto pod = Foretold::jobPod("train-0", "train", "4");
  pod.object().spec.activeDeadlineSeconds = -5;
  pod.object().status.startTime = f.loop.wallNow() + std::chrono::hours(24 * 365 * 200);
  f.runs(pod, "a");
  f.create(aPod("waits").request("cpu", "2"));
  f.run();
  const char* jobs[] = {
      "{metadata: {uid: uid-of-train}, spec: {parallelism: -1, completions: 9e30}, status: 7}",
      "{metadata: {uid: uid-of-train}, spec: {parallelism: 9223372036854775807, completions: "
      "9223372036854775807, activeDeadlineSeconds: 9223372036854775807, template: {spec: [1]}}, "
      "status: {succeeded: 9223372036854775807, startTime: '9999-12-31T23:59:59Z'}}",
      "{metadata: {uid: uid-of-train}, spec: {parallelism: 5, completions: 5, "
      "activeDeadlineSeconds: 1, template: {spec: {tolerations: 4}}}, status: {startTime: "
      "'0001-01-01T00:00:00Z'}}"};
  for (const char* job : jobs) {
    const json::value answer = f.first(fmt::format("{{pods: [default/waits], jobs: [{}]}}", job));
    EXPECT_EQ(textAt(answer, "state"), "estimated") << job << toJson(answer);
  }
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
