// Controllers that are stopped and restarted at any moment reach the same state as controllers that
// run without a break.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/time.h"
#include "cluster/controllers/controllers_run.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/simnode/sim_nodes.h"

namespace koord::cluster {
namespace {

constexpr int kNodes = 4;
constexpr api::ResourceType kQuotas{"", "v1", "resourcequotas", "ResourceQuota", true};

// A cluster with simulated nodes and a scheduler that binds pods of Jobs to the first node, pods of
// DaemonSets to their nodes, and others to any node.
class World {
 public:
  explicit World(std::uint64_t seed)
      : sim_(cluster.api, cluster.loop, cluster.nodes, cluster.pods, Random(seed)), seed_(seed) {
    sim_.start();
    cluster.pods.addHandler({[this](const auto& pod) { seen(pod); },
                             [this](const auto&, const auto& pod) { seen(pod); },
                             {}});
    cluster.nodes.addHandler({[this](const auto&) { seenAll(); }, {}, {}});
    cluster.nodes.start();
    cluster.pods.start();
    begin();
    addNodes();
  }

  void addNodes() { EXPECT_TRUE(cluster.run(sim_.createNodes(kNodes, {}))); }
  void end() { run_.reset(); }
  void begin() { run_ = std::make_unique<ControllersRun>(cluster, Random(seed_)); }

  template <class T>
  void put(const std::string& name, const std::string& metadata, const std::string& spec) {
    if (const auto there = cluster.get<T>(name)) {
      if (!there->metadata.deletionTimestamp) cluster.patch<T>(name, "spec: " + spec);
      return;
    }
    cluster.create("apiVersion: " + api::apiVersionOf(T::kType) +
                   "\nkind: " + std::string(T::kType.kind) + "\nmetadata: {name: " + name +
                   metadata + "}\nspec: " + spec);
  }
  template <class T>
  void drop(const std::string& name, const std::string& propagation) {
    kube::DeleteOptions options;
    options.propagationPolicy = propagation;
    if (cluster.get<T>(name)) cluster.remove<T>(name, options);
  }
  void killPod(const std::string& app, std::uint64_t which, bool atOnce) {
    auto pods = cluster.list<api::Pod>("app=" + app);
    if (pods.empty()) return;
    kube::DeleteOptions options;
    if (atOnce) options.gracePeriodSeconds = 0;
    const auto& pod = pods[which % pods.size()];
    auto removing = kube::deleteObject(cluster.api, api::Pod::kType, api::keyOf(pod.metadata),
                                       std::move(options));
    cluster.run(std::move(removing));
  }

  TestCluster cluster;

 private:
  void seenAll() {
    for (const auto& pod : cluster.pods.objects()) seen(pod);
  }
  void seen(const PodPtr& pod) {
    if (!pod->spec.nodeName.empty() || pod->metadata.deletionTimestamp) return;
    const auto* owner = api::controllerOf(pod->metadata);
    std::string node = fmt::format("sim-{}", next_++ % kNodes);
    if (owner && owner->kind == "Job") node = "sim-0";
    if (pod->spec.affinity && pod->spec.affinity->nodeAffinity)
      node = pod->spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution
                 ->nodeSelectorTerms.front()
                 .matchFields.front()
                 .values.front();
    if (!cluster.nodes.get({"", node})) return;
    tasks_.spawn(bind(pod, node));
  }
  Task<void> bind(PodPtr pod, std::string node) {
    auto binding = kube::bindPod(cluster.api, api::keyOf(pod->metadata), pod->metadata.uid, node);
    co_await binding;  // it may be bound already, or the pod may be gone
  }

  SimNodes sim_;
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
  std::unique_ptr<ControllersRun> run_;
  TaskGroup tasks_;
};

// The desired state of the workloads at a moment.
struct Desired {
  int replicas = 2;
  int version = 1;
  bool paused = false;
  int minReady = 0;
};

std::string podTemplate(const std::string& app, int version, const std::string& more = "") {
  return fmt::format(
      "{{metadata: {{labels: {{app: {0}}}{2}}}, spec: {{tolerations: [{{operator: Exists, effect: "
      "NoSchedule}}], containers: [{{name: c, image: v{1}}}]}}}}",
      app, version, more);
}

void desireDeployment(World& world, const Desired& wish) {
  world.put<api::Deployment>(
      "web", "",
      fmt::format(
          "{{replicas: {}, paused: {}, minReadySeconds: {}, selector: {{matchLabels: {{app: "
          "web}}}}, template: {}}}",
          wish.replicas, wish.paused, wish.minReady, podTemplate("web", wish.version)));
}

void desireStatefulSet(World& world, const Desired& wish) {
  world.put<api::StatefulSet>(
      "db", "",
      fmt::format("{{replicas: {}, minReadySeconds: {}, selector: {{matchLabels: {{app: db}}}}, "
                  "template: {}}}",
                  wish.replicas, wish.minReady, podTemplate("db", wish.version)));
}

void desireDaemonSet(World& world, const Desired& wish) {
  world.put<api::DaemonSet>("agent", "",
                            "{selector: {matchLabels: {app: agent}}, template: " +
                                podTemplate("agent", wish.version) + "}");
}

void desireQuota(World& world, int pods) {
  const std::string spec = fmt::format("spec: {{hard: {{pods: '{}'}}}}", pods);
  auto patching = kube::mergePatch(world.cluster.api, kQuotas, {"default", "q"}, *parseYaml(spec));
  if (world.cluster.run(std::move(patching))) return;
  world.cluster.create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n" + spec);
}

void desireTaint(World& world, bool tainted) {
  if (!world.cluster.get<api::Node>("sim-2")) return;
  world.cluster.patch<api::Node>("sim-2", tainted
                                              ? "spec: {taints: [{key: away, effect: NoExecute}]}"
                                              : "spec: {taints: null}");
}

void createOthers(World& world) {
  const std::string jobSpec =
      "template: {metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 20s}}, spec: "
      "{restartPolicy: Never, containers: [{name: c, image: i}]}}";
  world.cluster.create(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: crunch}\nspec: "
      "{completions: 9, parallelism: 2, completionMode: Indexed, " +
      jobSpec + "}");
  world.cluster.create(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: brief}\nspec: "
      "{completions: 4, ttlSecondsAfterFinished: 60, " +
      jobSpec + "}");
  world.cluster.create(
      "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tick}\nspec: "
      "{schedule: '*/2 * * * *', jobTemplate: {spec: {" +
      jobSpec + "}}}");
  for (const char* app : {"web", "db"})
    world.cluster.create(fmt::format(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {0}}}\nspec: "
        "{{maxUnavailable: 50%, selector: {{matchLabels: {{app: {0}}}}}}}",
        app));
  world.cluster.create("apiVersion: v1\nkind: Namespace\nmetadata: {name: side}");
  for (int i = 0; i < 20; ++i)
    world.cluster.create(fmt::format(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{}, namespace: side}}", i));
}

// One random change. The choice depends on the random numbers only, not on the state.
void change(World& world, Random& random, std::map<std::string, Desired>& wishes) {
  static constexpr const char* kApps[] = {"web", "db", "agent"};
  static constexpr const char* kWays[] = {"Background", "Foreground", "Orphan"};
  const std::string app = kApps[random.below(3)];
  const auto number = random.below(1000);
  const bool coin = random.chance(0.5);
  Desired& wish = wishes[app];
  switch (random.below(9)) {
    case 0:
      wish.replicas = static_cast<int>(number % 6);
      break;
    case 1:
      wish.version = 1 + static_cast<int>(number % 3);
      break;
    case 2:
      wish.paused = coin;
      break;
    case 3:
      wish.minReady = coin ? 7 : 0;
      break;
    case 4:
      return world.killPod(app, number, coin);
    case 5:
      if (app == "web") world.drop<api::Deployment>("web", kWays[number % 3]);
      if (app == "db") world.drop<api::StatefulSet>("db", kWays[number % 3]);
      if (app == "agent") world.drop<api::DaemonSet>("agent", kWays[number % 3]);
      break;
    case 6:
      if (coin) return world.addNodes();
      if (world.cluster.get<api::Node>("sim-3")) world.cluster.remove<api::Node>("sim-3");
      return;
    case 7:
      return desireTaint(world, coin);
    default:
      return desireQuota(world, coin ? 12 : 100);
  }
  if (app == "web") desireDeployment(world, wish);
  if (app == "db") desireStatefulSet(world, wish);
  if (app == "agent") desireDaemonSet(world, wish);
}

// The state in the end, without names and times that differ in every run.
std::string endState(World& world) {
  TestCluster& cluster = world.cluster;
  std::string out;
  const auto recordEvent = [&out](const auto&... words) { out += fmt::format(words...) + "\n"; };
  const auto web = cluster.get<api::Deployment>("web")->status;
  recordEvent(fmt::runtime("web {} {} {} {} {}"), web.replicas, web.updatedReplicas,
              web.readyReplicas, web.availableReplicas, web.unavailableReplicas);
  std::map<std::string, std::string> conditions;
  for (const auto& one : web.conditions) conditions[one.type] = one.status + " " + one.reason;
  for (const auto& [type, text] : conditions) recordEvent(fmt::runtime("  {} {}"), type, text);
  for (const auto& set : cluster.list<api::ReplicaSet>())
    if (set.spec.replicas.value_or(1) > 0)
      recordEvent(fmt::runtime("set {} {} {}"), set.metadata.name, set.status.replicas,
                  set.status.availableReplicas);
  const auto db = cluster.get<api::StatefulSet>("db")->status;
  recordEvent(fmt::runtime("db {} {} {} {} {}"), db.replicas, db.readyReplicas,
              db.availableReplicas, db.updatedReplicas, db.currentRevision == db.updateRevision);
  const auto agent = cluster.get<api::DaemonSet>("agent")->status;
  recordEvent(fmt::runtime("agent {} {} {} {} {}"), agent.desiredNumberScheduled,
              agent.currentNumberScheduled, agent.numberAvailable, agent.updatedNumberScheduled,
              agent.numberMisscheduled);
  std::map<std::string, int> pods;
  for (const auto& pod : cluster.list<api::Pod>()) {
    const auto* owner = api::controllerOf(pod.metadata);
    const bool numbered = owner && owner->kind == "StatefulSet";
    ++pods[fmt::format("{} {} {} {} {}", owner ? owner->kind : "", owner ? owner->name : "",
                       numbered ? pod.metadata.name : "", pod.spec.containers[0].image,
                       pod.status.phase.str())];
  }
  for (const auto& [what, count] : pods) recordEvent(fmt::runtime("{} x {}"), count, what);
  for (const auto& job : cluster.list<api::Job>())
    recordEvent(fmt::runtime("job {} {} {} {} {}"), job.metadata.name, job.status.succeeded,
                job.status.failed, job.status.active, job.status.conditions.size());
  const auto tick = cluster.get<api::CronJob>("tick")->status;
  recordEvent(fmt::runtime("tick {} {}"), tick.active.size(),
              tick.lastScheduleTime ? formatTime(*tick.lastScheduleTime) : "");
  for (const auto& budget : cluster.list<api::PodDisruptionBudget>())
    recordEvent(fmt::runtime("budget {} {} {} {} {} {}"), budget.metadata.name,
                budget.status.expectedPods, budget.status.currentHealthy,
                budget.status.disruptionsAllowed, budget.status.disruptedPods.size(),
                budget.status.conditions.empty() ? "" : budget.status.conditions[0].reason);
  for (const auto& space : cluster.list<api::Namespace>())
    recordEvent(fmt::runtime("namespace {}"), space.metadata.name);
  for (const auto& node : cluster.list<api::Node>())
    recordEvent(fmt::runtime("node {} {}"), node.metadata.name, node.spec.taints.size());
  return out;
}

// Replays the history of a seed; with `restarts`, controllers are restarted in between.
std::string play(std::uint64_t seed, bool restarts) {
  World world(seed);
  Random history(seed);
  Random moments(seed + 1);
  std::map<std::string, Desired> wishes;
  desireDeployment(world, wishes["web"]);
  desireStatefulSet(world, wishes["db"]);
  desireDaemonSet(world, wishes["agent"]);
  createOthers(world);
  // A restart may come in the middle of a change, which takes several turns of the loop.
  const auto pass = [&](Duration span) {
    if (!restarts || !moments.chance(0.4)) return world.cluster.loop.advance(span);
    world.cluster.loop.advance(
        std::min<Duration>(span, std::chrono::microseconds(moments.below(8'000))));
    world.end();
    world.cluster.loop.advance(Duration(std::chrono::milliseconds(moments.below(3'000))));
    world.begin();
    world.cluster.loop.advance(span);
  };
  for (int step = 0; step < 60; ++step) {
    change(world, history, wishes);
    if (step == 30) world.cluster.remove<api::Namespace>("side");
    pass(Duration(std::chrono::milliseconds(history.below(4'000))));
  }
  for (auto& [app, wish] : wishes) wish.paused = false;
  desireQuota(world, 1000);
  world.addNodes();
  desireTaint(world, false);
  // The last objects of their names may still be terminating.
  for (int round = 0; round < 5; ++round) {
    desireDeployment(world, wishes["web"]);
    desireStatefulSet(world, wishes["db"]);
    desireDaemonSet(world, wishes["agent"]);
    pass(1min);
  }
  // To the same second of virtual time, in which no CronJob is due.
  const WallTime end = *parseTime("2026-01-01T02:01:00Z");
  world.cluster.loop.advance(end - world.cluster.loop.wallNow());
  return endState(world);
}

TEST(RestartedControllersTest, BringEverythingToTheSameEnd) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const std::string through = play(seed, false);
    EXPECT_EQ(play(seed, true), through);
  }
}

}  // namespace
}  // namespace koord::cluster
