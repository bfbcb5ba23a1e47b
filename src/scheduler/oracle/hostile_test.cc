// Questions that a user might ask to break the scheduler or its answer.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/testing/test_folder.h"
#include "scheduler/oracle/budget.h"
#include "scheduler/oracle/oracle_fixture.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/deviceshare/device_world.h"

namespace koord::scheduler::oracle::testing {
namespace {

std::string workloadText(const std::string& kind, const std::string& version,
                         const std::string& spec, const std::string& pod = "containers: []",
                         const std::string& name = "w") {
  return fmt::format(
      "{{apiVersion: {}, kind: {}, metadata: {{name: {}}}, spec: {{{}template: {{spec: "
      "{{{}}}}}}}}}",
      version, kind, name, spec, pod);
}

std::vector<std::string> notesIn(const Result<json::value>& status) {
  std::vector<std::string> notes;
  if (!status) return {status.error().message};
  for (const json::value& note : memberOf(*status, "notes").get_array())
    notes.emplace_back(note.get_string());
  return notes;
}

TEST(HostileQuestion, a_pod_that_exists_or_occurs_twice_is_refused) {
  Asked a;
  a.node(aNode("a"));
  a.create(aPod("waits").request("cpu", "100"));
  a.run();
  a.exists = [](const api::ObjectKey& pod) { return pod.name == "runs"; };
  EXPECT_EQ(a.refusal("objects: [" + podText("waits", "1") + "]"),
            "spec.objects[0]: metadata.name: pod \"waits\" exists in namespace \"default\"");
  EXPECT_EQ(a.refusal("objects: [" + podText("runs", "1") + "]"),
            "spec.objects[0]: metadata.name: pod \"runs\" exists in namespace \"default\"");
  EXPECT_EQ(a.refusal("objects: [" + podText("p", "1") + ", " + podText("p", "2") + "]"),
            "spec.objects[1]: pod \"p\" occurs twice in namespace \"default\"");
  const std::string web = deploymentText("web", 2, "1");
  EXPECT_EQ(a.refusal("objects: [" + web + ", " + web + "]"),
            "spec.objects[1]: pod \"web-simulated-0\" occurs twice in namespace \"default\"");
}

TEST(HostileQuestion, a_stateful_set_that_exists_creates_only_its_other_pods) {
  Asked a;
  a.node(aNode("a"));
  a.exists = [](const api::ObjectKey& pod) { return pod.name == "w-0"; };
  const auto answer =
      a.ask("objects: [" + workloadText("StatefulSet", "apps/v1", "replicas: 3, ") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("w-1 a", "w-2 a"));
  EXPECT_THAT(notesIn(answer),
              ElementsAre("StatefulSet default/w: 1 of its pods exist; only the others are "
                          "created"));
}

TEST(HostileQuestion, a_node_that_occurs_twice_would_lose_its_pods_twice) {
  Asked a;
  a.node(aNode("a"));
  EXPECT_EQ(a.refusal("drainNodes: [a, a]"), "spec.drainNodes[1]: node \"a\" occurs twice");
  EXPECT_EQ(a.refusal("{drainNodes: [a], loseNodes: [a]}"),
            "spec.loseNodes[0]: node \"a\" occurs twice");
}

TEST(HostileQuestion, nodes_beyond_a_limit_are_counted_and_not_listed) {
  Asked a;
  a.node(aNode("a"));
  const auto answer = a.ask("addNodes: [{count: 2003, like: a}]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(*answer, "nodes").get_array().size(), kMaxShownNodes);
  EXPECT_THAT(notesIn(answer), ::testing::Contains("3 more nodes differ and are not listed"));
}

TEST(HostileQuestion, the_name_of_a_node_is_no_field_selector) {
  Asked a;
  a.node(aNode("a"));
  EXPECT_THAT(
      a.refusal("drainNodes: ['a,metadata.namespace=default']"),
      ::testing::StartsWith("spec.drainNodes[0]: \"a,metadata.namespace=default\" is not the "
                            "name of a node: "));
}

TEST(HostileQuestion, fields_that_only_servers_set_do_not_matter) {
  Asked a;
  a.node(aNode("a"));
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, deletionTimestamp: '2020-01-01T00:00:00Z'},"
      " spec: {containers: []}, status: {phase: Succeeded, nominatedNodeName: b}}";
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: w}, spec: {template: {metadata: "
      "{deletionTimestamp: '2020-01-01T00:00:00Z'}, spec: {containers: []}, status: {phase: "
      "Succeeded}}}}";
  const auto answer = a.ask("objects: [" + pod + ", " + job + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("p a", "w-0 a"));
  EXPECT_EQ(a.refusal("objects: [" + workloadText("Job", "batch/v1", "", "nodeName: a") + "]"),
            "spec.objects[0]: spec.template.spec.nodeName: no scheduler places pods that have a "
            "node");
}

TEST(HostileQuestion, what_is_not_simulated_is_said) {
  Asked a;
  a.node(aNode("a"));
  const auto answer = a.ask(
      "objects: [" + workloadText("DaemonSet", "apps/v1", "") + ", " +
      workloadText("Job", "batch/v1", "suspend: true, ") + ", " +
      workloadText("StatefulSet", "apps/v1", "volumeClaimTemplates: [{}], ") + ", " +
      workloadText("ReplicationController", "v1", "replicas: 2, ", "containers: []", "r") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("w-0 a", "r-0 a", "r-1 a"));
  EXPECT_THAT(notesIn(answer),
              ElementsAre("DaemonSet w is not simulated", "Job w is suspended: it has no pods",
                          "StatefulSet w: volumeClaimTemplates are not simulated, volumes do not "
                          "restrict its pods"));
}

TEST(HostileQuestion, a_priority_class_without_its_priority_is_said) {
  Asked a;
  a.node(aNode("a"));
  const auto answer =
      a.ask("objects: [" +
            workloadText("Job", "batch/v1", "parallelism: 2, ", "priorityClassName: high") + "]");
  EXPECT_THAT(notesIn(answer), ElementsAre("spec.priority is missing: pods of priority class "
                                           "\"high\" count as of priority 0"));
}

TEST(HostileQuestion, more_replicas_than_numbers_do_not_wrap_around) {
  Asked a;
  a.node(aNode("a").allocatable("cpu", "1000").allocatable("pods", "100000"));
  std::string objects;
  for (const char* name : {"web", "api", "job"})
    objects += deploymentText(name, std::numeric_limits<std::int64_t>::max(), "1m") + ", ";
  const auto answer = a.ask("objects: [" + objects + podText("p", "1") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(*answer, "complete"), json::value(false));
  EXPECT_GE(wholeNumber(memberOf(*answer, "notTried")).value_or(0), 1'000'000'000'000);
}

TEST(HostileQuestion, pods_that_terminate_already_have_successors) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("b"));
  CompletePods complete;
  const auto leaving = [&](const char* name, const char* kind) {
    auto pod = ownedPod(name, kind);
    pod.object().metadata.deletionTimestamp = a.loop.wallNow();
    const auto bound = a.runs(pod, "a");
    complete.emplace(bound->metadata.uid, bound);
  };
  leaving("web", "ReplicaSet");
  leaving("db-0", "StatefulSet");
  const auto answer = a.ask("drainNodes: [a]", complete);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("db-0 b"));
}

// "a-b/first" is less than "a/last" as a text.
TEST(HostileQuestion, pods_of_drained_nodes_come_by_namespace_and_name) {
  Asked a;
  a.node(aNode("full"));
  a.node(aNode("spare").allocatable("cpu", "1"));
  for (const auto& [space, name] : {std::pair{"a-b", "first"}, {"a", "last"}}) {
    auto pod = ownedPod(name, "ReplicaSet");
    pod.object().metadata.namespace_ = space;
    a.runs(pod, "full");
  }
  const auto answer = a.ask("drainNodes: [full]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("last-again spare", "first-again pending"));
}

TEST(HostileQuestion, notes_name_no_pods_of_others) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("b"));
  a.runs(ownedPod("secret", "ReplicaSet"), "a");
  const auto answer = a.ask("drainNodes: [a]");
  EXPECT_THAT(notesIn(answer),
              ElementsAre("spec.drainNodes: the complete specs of 1 pods are not known"));
}

TEST(HostileQuestion, nodes_like_a_cordoned_one_take_pods) {
  Asked a;
  auto node = aNode("a").build();
  auto cordoned = std::make_shared<api::Node>(*node);
  cordoned->spec.unschedulable = true;
  for (const char* key : {"node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"}) {
    api::Taint taint;
    taint.key = key;
    taint.effect = "NoSchedule";
    cordoned->spec.taints.push_back(std::move(taint));
  }
  a.scheduler->nodeAdded(cordoned);
  const auto answer =
      a.ask("{addNodes: [{count: 1, like: a}], objects: [" + podText("p", "1") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("p a-added-1")) << toJson(*answer);
}

TEST(HostileQuestion, nodes_like_one_with_gpus_have_the_same_gpus) {
  Asked a;
  a.node(aNode("a")
             .allocatable("koordinator.sh/gpu", "200")
             .allocatable("koordinator.sh/gpu-core", "200")
             .allocatable("koordinator.sh/gpu-memory-ratio", "200"));
  scheduler::testing::DeviceMachine machine;
  machine.gpu(0, 0, "a");
  machine.gpu(1, 0, "b");
  machine.device.metadata.name = "a";
  a.scheduler->stores().of<api::Device>().set(std::make_shared<const api::Device>(machine.device));
  const std::string job =
      workloadText("Job", "batch/v1", "parallelism: 6, ",
                   "containers: [{name: main, resources: {limits: {koordinator.sh/gpu: 60}}}]");
  const auto grown = a.ask("{addNodes: [{count: 1, like: a}], objects: [" + job + "]}");
  ASSERT_TRUE(grown) << grown.error().message;
  EXPECT_EQ(memberOf(*grown, "placed"), json::value(4)) << "one pod a GPU: " << toJson(*grown);
}

TEST(HostileQuestion, an_object_that_exists_is_changed_and_keeps_its_status) {
  Asked a;
  auto group = std::make_shared<api::PodGroup>();
  group->metadata.namespace_ = "default";
  group->metadata.name = "g";
  group->metadata.uid = "real";
  group->metadata.labels["kept"] = "yes";
  group->status.phase = "Running";
  a.scheduler->stores().of<api::PodGroup>().set(group);
  const std::string changed =
      "{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, "
      "namespace: default}, spec: {minMember: 2}, status: {phase: Pending}}";
  EXPECT_THAT(notesIn(a.ask("objects: [" + changed + "]")),
              ElementsAre("PodGroup g exists: it is changed as kubectl apply would change it"));
  // The same without a copy of the process, to look at the object.
  ScratchServer server(*a.scheduler, a.loop);
  EXPECT_EQ(server.create(*parseYaml(changed)).value_or(true), false);
  const auto now = a.scheduler->stores().of<api::PodGroup>().get({"default", "g"});
  EXPECT_EQ(now->spec.minMember, 2);
  EXPECT_EQ(now->status.phase, "Running");
  EXPECT_EQ(now->metadata.uid, "real");
  EXPECT_EQ(now->metadata.labels.at("kept"), "yes");
}

TEST(HostileQuestion, of_a_deployment_that_exists_only_the_pods_that_it_lacks_are_created) {
  Asked a;
  a.node(aNode("a"));
  auto set = std::make_shared<api::ReplicaSetSelection>();
  set->metadata.namespace_ = "default";
  set->metadata.name = "set";
  set->metadata.uid = "real";
  api::OwnerReference owner;
  owner.apiVersion = "apps/v1";
  owner.kind = "Deployment";
  owner.name = "web";
  owner.controller = true;
  set->metadata.ownerReferences.push_back(std::move(owner));
  a.scheduler->stores().of<api::ReplicaSetSelection>().set(set);
  a.runs(ownedPod("one", "ReplicaSet"), "a");
  a.runs(ownedPod("two", "ReplicaSet"), "a");
  a.runs(ownedPod("another", "StatefulSet"), "a");
  const auto more = a.ask("objects: [" + deploymentText("web", 3, "1") + "]");
  EXPECT_THAT(notesIn(more),
              ElementsAre("Deployment default/web exists with 2 pods, which stay; created: 1"));
  EXPECT_THAT(placesIn(*more), ElementsAre("web-simulated-0 a"));
  const auto fewer = a.ask("objects: [" + deploymentText("web", 1, "1") + "]");
  EXPECT_THAT(notesIn(fewer),
              ElementsAre("Deployment default/web exists with 2 pods, which stay; created: 0"));
  EXPECT_THAT(placesIn(*fewer), IsEmpty());
  EXPECT_THAT(notesIn(a.ask("objects: [" + deploymentText("api", 1, "1") + "]")), IsEmpty());
}

// The search for a pod takes long, or has no end, in real time.
struct Slow final : Plugin, PreFilterPlugin {
  std::string_view name() const override { return "Slow"; }
  PreFilterResult preFilter(CycleState&, const PodInfo& pod) override {
    if (pod.pod->metadata.name == "slow") std::this_thread::sleep_for(kSlow);
    while (pod.pod->metadata.name == "endless") ::pause();
    return {};
  }
  static constexpr std::chrono::milliseconds kSlow{60};
};

TEST(HostileQuestion, of_a_job_that_exists_what_still_has_to_run_is_created) {
  Asked a;
  a.node(aNode("n").allocatable("cpu", "100"));
  for (const auto& [name, uid] : {std::pair{"job-x", "job-uid"}, {"job-y", "an-older-job"}}) {
    auto pod = ownedPod(name, "Job");
    pod.object().metadata.ownerReferences.front().uid = uid;
    a.runs(pod, "n");
  }
  const auto created = [&](std::string_view metadata, std::string_view spec,
                           std::string_view status) {
    const auto answer = a.ask(fmt::format(
        "objects: [{{apiVersion: batch/v1, kind: Job, metadata: {{name: job{}}}, spec: {{{}, "
        "template: {{spec: {{containers: [{{name: main}}]}}}}}}, status: {{{}}}}}]",
        metadata, spec, status));
    return answer ? static_cast<int>(placesIn(*answer).size()) : -1;
  };
  const char* const known = ", uid: job-uid";
  EXPECT_EQ(created("", "parallelism: 5, completions: 8", "succeeded: 6"), 5) << "a new Job";
  EXPECT_EQ(created(known, "parallelism: 5, completions: 8", ""), 4);
  EXPECT_EQ(created(known, "parallelism: 5, completions: 8", "succeeded: 6"), 1);
  EXPECT_EQ(created(known, "parallelism: 5, completions: 8", "succeeded: 7"), 0);
  EXPECT_EQ(created(known, "parallelism: 5", "succeeded: 0"), 4);
  EXPECT_EQ(created(known + std::string(", namespace: other"), "parallelism: 5", ""), 5)
      << "the pods of others are not counted";
  EXPECT_EQ(created(known, "parallelism: 5", "succeeded: 1"), 0) << "the others only end";
  EXPECT_EQ(created(known, "parallelism: 5, completions: 8",
                    "conditions: [{type: Failed, status: 'True'}]"),
            0);
}

TEST(HostileQuestion, a_search_without_end_costs_only_itself) {
  Asked a;
  a.node(aNode("a"));
  a.registry["Slow"] = [](Fields&, Handle&) { return std::make_unique<Slow>(); };
  a.limits = {.time = 5 * Slow::kSlow, .grace = Slow::kSlow};
  const std::string configuration = R"(
configuration:
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  profiles: [{schedulerName: default-scheduler, plugins: {preFilter: {enabled: [{name: Slow}]}}}]
objects: [)";
  const auto answer =
      a.ask(configuration + podText("slow", "100") + ", " + podText("endless", "1") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("slow pending", "endless notTried"));
  EXPECT_EQ(memberOf(*answer, "complete"), json::value(false));
}

TEST(HostileQuestion, what_never_begins_is_answered_too) {
  Asked a;
  a.node(aNode("a"));
  a.limits = {.time = Duration(0), .grace = std::chrono::milliseconds(200)};
  a.exists = [](const api::ObjectKey&) -> bool {
    for (;;) ::pause();
  };
  const auto answer = a.ask("objects: [" + podText("p", "1") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(notesIn(answer), ElementsAre("the simulation took too long to begin"));
}

// The folder of a control group.
struct ControlGroup {
  std::string folder = testMemoryFolder() + "/oracle-XXXXXX";
  ControlGroup() { EXPECT_TRUE(::mkdtemp(folder.data())); }
  ~ControlGroup() { std::filesystem::remove_all(folder); }
  void write(const char* file, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(folder + file).parent_path());
    ASSERT_TRUE(writeFileAtomic(folder + file, text));
  }
};

TEST(OracleBudget, a_limited_control_group_leaves_the_child_a_share_of_its_memory) {
  const ControlGroup group;
  EXPECT_EQ(boundedMemory(1'000'000'000, group.folder), 1'000'000'000u);
  group.write("/memory.current", "1000000000\n");
  group.write("/memory.max", "max\n");
  EXPECT_EQ(boundedMemory(1'000'000'000, group.folder), 1'000'000'000u);
  group.write("/memory.max", "5000000000\n");
  EXPECT_EQ(boundedMemory(1'000'000'000, group.folder), 500'000'000u);
  group.write("/memory.max", "1200000000\n");
  EXPECT_EQ(boundedMemory(1'000'000'000, group.folder), std::uint64_t{128} << 20);
  group.write("/memory.max", "1100000000\n");
  EXPECT_EQ(boundedMemory(1'000'000'000, group.folder), std::nullopt) << "100 MB are left";
}

TEST(OracleBudget, one_cpu_of_a_limited_control_group_is_left_to_the_scheduler) {
  const ControlGroup group;
  const auto children = [&](unsigned hostCpus) {
    return boundedChildren(5, hostCpus, group.folder);
  };
  EXPECT_EQ(children(4), 3u) << "no limit: the host's CPUs";
  EXPECT_EQ(children(16), 5u);
  EXPECT_EQ(children(1), 1u);
  EXPECT_EQ(children(0), 1u);
  group.write("/cpu/cpu.cfs_period_us", "100000\n");
  group.write("/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(children(4), 3u);
  group.write("/cpu/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(children(4), 2u);
  group.write("/cpu/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(children(4), 1u);
  group.write("/cpu.max", "max 100000\n");
  EXPECT_EQ(children(4), 3u);
  group.write("/cpu.max", "350000 100000\n");
  EXPECT_EQ(children(4), 2u) << "half a CPU is no place";
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
