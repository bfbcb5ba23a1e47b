#include "simulation/features/migrations.h"

#include <algorithm>

#include "base/time.h"
#include "model/pod_requests.h"
#include "simulation/process.h"

namespace koord::simulation {

using namespace std::chrono_literals;
using scheduler::testing::amountIn;

namespace {

constexpr const char* kSet = "set";
constexpr std::size_t kMostSets = 3;
constexpr Duration kReportEach = 10s;

// A pod that leaves a node must not return to it for three minutes (migration_rules.cc). One pod of
// a workload moves at a time.
constexpr const char* kDescheduler = R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 10s
profiles:
- name: koord-descheduler
  plugins:
    balance: {{enabled: [{{name: LowNodeLoad}}, {{name: GPUDefragmentation}}]}}
  pluginConfig:
  - name: GPUDefragmentation
    args: {{minPending: 10s, typicalPods: 4}}
  - name: LowNodeLoad
    args:
      lowThresholds: {{cpu: 40}}
      highThresholds: {{cpu: 60}}
      anomalyCondition: {{timeout: 60s, consecutiveAbnormalities: 2, consecutiveNormalities: 2}}
  - name: MigrationController
    args:
      schedulerNames: [default-scheduler]
      defaultJobMode: {}
      defaultJobTTL: 60s
      maxMigratingPerNode: 1
      maxArrivingPerNode: 1
      maxMigratingPerWorkload: 1
      maxUnavailablePerWorkload: 1
      evictLocalStoragePods: true
      objectLimiters: {{workload: {{duration: 30s, maxMigrating: 2}}}}
      landing: {{schedulerURL: "http://scheduler", noReturnPeriod: 3m}}
)";

void refuse(net::Responder& to, int status, const std::string& why) {
  to.respond(status, {{"Content-Type", "text/plain"}}, why);
}

// The leading koord-scheduler's endpoint for what-if simulations.
net::HttpServer::Handler schedulerOf(const std::function<Process*()>& leader) {
  return [leader](const net::ServerRequest& request, const std::shared_ptr<net::Responder>& to) {
    if (request.target != "/apis/v1/whatif/pods") return refuse(*to, 404, "no such thing");
    Process* process = leader();
    if (!process) return refuse(*to, 503, "nobody leads");
    const auto answer = process->whatIf(request.body);
    if (!answer) return refuse(*to, 400, answer.error().message);
    to->respond(200, {{"Content-Type", "application/json"}}, toJson(*answer));
  };
}

json::object ownerOf(const api::ReplicaSet& set) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "ReplicaSet"},
          {"name", set.metadata.name},
          {"uid", set.metadata.uid},
          {"controller", true}};
}

}  // namespace

MigrationsFeature::MigrationsFeature(const Surroundings& world, Random random)
    : Feature(world, random),
      world_(world),
      jobs_(world.api, world.loop),
      sets_(world.api, world.loop),
      reservations_(world.api, world.loop) {
  jobs_.addHandler({[this](const auto& job) { jobChanged(nullptr, job); },
                    [this](const auto& before, const auto& after) { jobChanged(before, after); },
                    [this](const auto&) { invariants_.touched(); }});
  const auto seen = [this](const auto& one) {
    roomChanged_[one->metadata.name] = loop_.steadyNow();
  };
  reservations_.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); }, seen});
}

bool MigrationsFeature::holdsRoom() const {
  return std::ranges::any_of(invariants_.features(), [](const auto& feature) {
    return std::ranges::count(feature->plugins(), "Reservation") > 0;
  });
}

void MigrationsFeature::makeProcess() {
  DeschedulerProcess::Peers peers;
  peers.server = [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
    auto answer = asked(request, std::move(responder));
    world_.front.handle(std::move(request), std::move(answer));
  };
  peers.scheduler = schedulerOf(world_.leader);
  // Without the plugin, no scheduler would ever place a Reservation.
  const bool holds = random_.chance(0.8) && holdsRoom();
  process_ = std::make_unique<DeschedulerProcess>(
      loop_, journal_, std::move(peers),
      fmt::format(kDescheduler, holds ? "ReservationFirst" : "EvictDirectly"), random_.fork());
}

void MigrationsFeature::begin() {
  makeProcess();
  invariants_.pods.addHandler(
      {{},
       [this](const auto& before, const auto& after) { podChanged(before, after); },
       [this](const auto& pod) { podChanged(pod, nullptr); }});
  // Quotas exist, too.
  write(kube::createObject(api_, api::Namespace::kType, {"", ""},
                           {{"metadata", {{"name", "koordinator-system"}}}}));
  define(Job::kType);
  define(api::NodeMetric::kType, Status::Within);
  if (!holdsRoom()) define(api::Reservation::kType);
}

void MigrationsFeature::start() {
  jobs_.start();
  sets_.start();
  reservations_.start();
  for (int i = 0; i < 2; ++i) createSet();
  process_->start();
}

std::vector<MigrationsFeature::SetPtr> MigrationsFeature::sortedSets() const {
  std::vector<SetPtr> all;
  for (const auto& set : sets_.objects()) all.push_back(set);
  std::ranges::sort(all, {}, [](const auto& set) { return set->metadata.name; });
  return all;
}

std::vector<PodObject> MigrationsFeature::podsOf(const api::ReplicaSet& set) const {
  std::vector<PodObject> pods;
  for (const auto& pod : invariants_.sortedPods())
    if (!pod->metadata.deletionTimestamp && !api::isTerminal(*pod) &&
        std::ranges::any_of(pod->metadata.ownerReferences,
                            [&](const auto& owner) { return owner.uid == set.metadata.uid; }))
      pods.push_back(pod);
  return pods;
}

// --- Users.

void MigrationsFeature::act() {
  const auto sets = sortedSets();
  const double dice = random_.unit();
  if (dice < 0.15) {
    disturb();
  } else if (dice < 0.3) {
    createJob();
  } else if (dice < 0.4 && sets.size() < kMostSets) {
    createSet();
  } else if (const auto* set = anyOf(sets)) {
    changeSet(**set);
  }
}

void MigrationsFeature::disturb() {
  if (!process_->running()) return process_->start();
  if (random_.chance(0.3)) return process_->kill();
  if (random_.chance(0.5)) {  // at any point of its work
    loop_.runAfter(Duration(random_.below(12'000'000'000)), [this] {
      if (!quiet_) process_->kill();
    });
    return;
  }
  net::NetworkFaults faults;
  if (random_.chance(0.6)) {
    faults.maxDelay = random_.chance(0.3) ? 800ms : 50ms;
    faults.loseRequest = faults.loseAnswer = 0.15 * random_.unit();
    faults.overload = 0.2 * random_.unit();
    faults.cut = 0.1 * random_.unit();
  }
  journal_.note("the network of the descheduler is {}", faults.overload > 0 ? "bad" : "good");
  process_->setFaults(faults);
}

void MigrationsFeature::createSet() {
  const std::string name = fmt::format("w{}", ++lastSet_);
  const int replicas = static_cast<int>(2 + random_.below(4));
  loads_[name] = static_cast<std::int64_t>(100 + random_.below(900));
  journal_.note("workload {} of {} pods comes, {}m each", name, replicas, loads_[name]);
  create(api::ReplicaSet::kType, "default",
         {{"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{kSet, name}}}}},
            {"template",
             {{"metadata", {{"labels", {{kSet, name}}}}},
              {"spec", {{"containers", json::array{{{"name", "main"}, {"image", "img:1"}}}}}}}}}}});
  if (random_.chance(0.5))
    create(api::PodDisruptionBudget::kType, "default",
           {{"metadata", {{"name", name}}},
            {"spec",
             {{"minAvailable", replicas - 1}, {"selector", {{"matchLabels", {{kSet, name}}}}}}}});
}

void MigrationsFeature::changeSet(const api::ReplicaSet& set) {
  const std::string& name = set.metadata.name;
  if (random_.chance(0.3)) {
    const int replicas = static_cast<int>(1 + random_.below(5));
    journal_.note("workload {} has {} pods now", name, replicas);
    return patch(api::ReplicaSet::kType, set.metadata, {{"spec", {{"replicas", replicas}}}});
  }
  loads_[name] = static_cast<std::int64_t>(100 + random_.below(1200));
  journal_.note("pods of {} use {}m now", name, loads_[name]);
}

void MigrationsFeature::createJob() {
  const auto pods = invariants_.sortedPods();
  const auto* found = anyOf(pods);
  if (!found) return;
  const api::Pod& pod = **found;
  const std::string name = fmt::format("j{}", ++lastJob_);
  journal_.note("somebody wants {} to move, by {}", pod.metadata.name, name);
  json::object reference{{"namespace", pod.metadata.namespace_}, {"name", pod.metadata.name}};
  if (random_.chance(0.5)) reference["uid"] = pod.metadata.uid;
  write(kube::createObject(api_, Job::kType, {"", ""},
                           {{"metadata", {{"name", name}}},
                            {"spec",
                             {{"podRef", std::move(reference)},
                              {"mode", pick({"", "ReservationFirst", "EvictDirectly"})},
                              {"ttl", pick({"20s", "60s"})}}}}));
}

// --- Controllers.

void MigrationsFeature::tick() {
  for (const SetPtr& set : sortedSets()) replace(*set);
  makeReady();
  if (loop_.steadyNow() < nextReport_) return;
  nextReport_ = loop_.steadyNow() + kReportEach;
  report();
}

// The controller of ReplicaSets.
void MigrationsFeature::replace(const api::ReplicaSet& set) {
  auto pods = podsOf(set);
  const auto wanted = static_cast<std::size_t>(set.spec.replicas.value_or(1));
  if (calm_ && pods.size() < wanted)
    return patch(api::ReplicaSet::kType, set.metadata,
                 {{"spec", {{"replicas", static_cast<std::int64_t>(pods.size())}}}});
  for (; pods.size() > wanted; pods.pop_back()) remove(api::Pod::kType, pods.back()->metadata);
  for (std::size_t n = pods.size(); n < wanted; ++n) {
    const std::string name = fmt::format("{}-{}", set.metadata.name, ++lastPod_);
    journal_.note("pod {} is created", name);
    const json::object requests{{"cpu", "400m"}, {"memory", "256Mi"}};
    create(api::Pod::kType, "default",
           {{"metadata",
             {{"name", name},
              {"labels", {{kSet, set.metadata.name}}},
              {"ownerReferences", json::array{ownerOf(set)}}}},
            {"spec",
             {{"containers", json::array{{{"name", "main"},
                                          {"image", "img:1"},
                                          {"resources", {{"requests", requests}}}}}}}}});
  }
}

void MigrationsFeature::makeReady() {
  for (const PodObject& pod : invariants_.sortedPods()) {
    const auto& conditions = pod->status.conditions;
    if (!pod->metadata.labels.contains(kSet) || pod->status.phase != "Running" ||
        std::ranges::any_of(conditions, [](const auto& one) { return one.type == "Ready"; }))
      continue;
    write(kube::strategicPatch(
        api_, api::Pod::kType, api::keyOf(pod->metadata),
        {{"metadata", {{"uid", pod->metadata.uid}}},
         {"status", {{"conditions", json::array{{{"type", "Ready"}, {"status", "True"}}}}}}},
        "status"));
  }
}

std::int64_t MigrationsFeature::loadOf(const api::Pod& pod) const {
  const auto* set = api::findIn(pod.metadata.labels, kSet);
  const auto load = set ? loads_.find(*set) : loads_.end();
  return load != loads_.end() ? load->second : amountIn(model::podRequests(pod), "cpu") / 2;
}

// koordlet and koord-manager: the usage of nodes and pods.
void MigrationsFeature::report() {
  std::map<std::string, json::array> pods;
  std::map<std::string, std::int64_t> used;
  for (const PodObject& pod : invariants_.sortedPods()) {
    if (pod->spec.nodeName.empty() || pod->status.phase != "Running") continue;
    const std::int64_t load = loadOf(*pod);
    used[pod->spec.nodeName] += load;
    const json::object usage{{"cpu", fmt::format("{}m", load)}, {"memory", "64Mi"}};
    pods[pod->spec.nodeName].push_back({{"name", pod->metadata.name},
                                        {"namespace", pod->metadata.namespace_},
                                        {"podUsage", {{"resources", usage}}}});
  }
  std::map<std::string, Invariants::NodeObject> sorted;
  for (const auto& node : invariants_.nodes.objects()) sorted[node->metadata.name] = node;
  for (const auto& [name, node] : sorted) {
    const json::object usage{{"cpu", fmt::format("{}m", used[name])}, {"memory", "512Mi"}};
    json::object status{{"updateTime", formatTime(loop_.wallNow())},
                        {"nodeMetric", {{"nodeUsage", {{"resources", usage}}}}},
                        {"podsMetric", pods[name]}};
    write(kube::createObject(api_, api::NodeMetric::kType, {"", ""},
                             {{"metadata", {{"name", name}}}, {"status", status}}));
    write(kube::mergePatch(api_, api::NodeMetric::kType, {"", name}, {{"status", status}}));
  }
}

bool MigrationsFeature::calm() {
  journal_.note("workloads make do with the pods that they have");
  return calm_ = true;
}

void MigrationsFeature::quiet() {
  quiet_ = true;
  quietSince_ = loop_.steadyNow();
  process_->setFaults({});
  process_->keepRunning();
}

}  // namespace koord::simulation
