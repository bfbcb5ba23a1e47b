#pragma once

// A cluster for tests of the MigrationController: the embedded API server on virtual time, with
// nodes, a workload that replaces evicted pods, and a scheduler that places Reservations on the
// test's node. The controller can be killed at any write, and restarted.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/reservation.h"
#include "apiserver/embedded_cluster.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/migration/controller.h"
#include "descheduler/migration/keys.h"

namespace koord::descheduler {

using namespace std::chrono_literals;
inline const std::string kCrds = KOORD_DEPLOY "/crds/scheduling.koordinator.sh_";

// Between the controller and the server: counts writes, and can die at one of them.
class CrashingApi final : public kube::Api {
 public:
  explicit CrashingApi(apiserver::EmbeddedCluster& cluster) : cluster_(cluster) {}
  Task<Result<std::string>> call(kube::Request request) override {
    const bool write = request.verb != kube::Verb::Get && request.verb != kube::Verb::List &&
                       request.resource != "events";
    if (write) ++writes;
    const bool dies = write && writes == crashAt;
    if (dead || (dies && !afterwards)) {
      dead = true;
      co_return fail(ErrorCode::Cancelled, "the process has died");
    }
    if (write)
      log.push_back(fmt::format("{} {}/{}{}{}", verbOf(request), request.resource, request.name,
                                request.subresource.empty() ? "" : "/", request.subresource));
    auto calling = cluster_.call(std::move(request));
    auto reply = co_await calling;
    if (dies) {
      dead = true;
      co_return fail(ErrorCode::Cancelled, "the process has died");
    }
    co_return reply;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return cluster_.watch(std::move(request), std::move(sink));
  }
  static std::string verbOf(const kube::Request& request) {
    switch (request.verb) {
      case kube::Verb::Create:
        return "create";
      case kube::Verb::Delete:
        return "delete";
      default:
        return "patch";
    }
  }

  int writes = 0;
  int crashAt = 0;          // 0 = never
  bool afterwards = false;  // the write succeeds, its answer is lost
  bool dead = false;
  std::vector<std::string> log;

 private:
  apiserver::EmbeddedCluster& cluster_;
};

// Fixed predictions instead of the scheduler's.
class FixedLanding final : public Landing {
 public:
  Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) override {
    asked = moves;
    if (silent) co_return std::nullopt;
    std::vector<LandingPlace> places;
    for (const LandingMove& move : moves) {
      const auto it = refused.find(move.pod->metadata.name);
      if (move.group.empty() && needsMoves.contains(move.pod->metadata.name)) {
        places.push_back({"", "3 Insufficient GPU"});
      } else if (it != refused.end()) {
        places.push_back({"", it->second});
      } else {
        places.push_back({move.avoid.contains(node) ? other : node, ""});
      }
    }
    co_return places;
  }
  bool silent = false;
  std::string node = "n2";
  std::string other = "n3";
  std::map<std::string, std::string> refused;
  std::set<std::string> needsMoves;  // names of pods that get a node in a group only
  std::vector<LandingMove> asked;
};

// One life of the controller.
class Process final : public Handle, private Evictor {
 public:
  Process(apiserver::EmbeddedCluster& cluster, VirtualLoop& loop,
          const MigrationControllerArgs& args, std::uint64_t seed = 3)
      : api_(cluster),
        loop_(loop),
        stores_(api_, loop, Random(1)),
        events_(api_, loop, "koord-descheduler", Random(2)),
        random_(seed) {
    auto landing = std::make_unique<FixedLanding>();
    this->landing = landing.get();
    controller = std::make_unique<MigrationController>(*this, args, std::move(landing));
    stores_.start();
    stores_.onSynced([this] { started = controller->start(); });
  }
  kube::Api& api() override { return api_; }
  Executor& executor() override { return loop_; }
  Random& random() override { return random_; }
  Stores& stores() override { return stores_; }
  kube::EventRecorder& events() override { return events_; }
  Metrics& metrics() override { return metrics_; }
  Evictor& evictor() override { return *this; }
  const std::string& profile() const override { return profile_; }
  bool dryRun() const override { return false; }
  Duration interval() const override { return {}; }
  bool gate(std::string_view) const override { return false; }
  void keepDraining(const std::string&) override {}
  net::HttpTransport* http() override { return nullptr; }
  Nodes nodes() const override {
    Nodes nodes;
    for (const auto& node : const_cast<Stores&>(stores_).nodes().objects())
      nodes.push_back({node, stores_.podsOn(node->metadata.name)});
    return nodes;
  }
  CrashingApi& crashing() { return api_; }

  std::unique_ptr<MigrationController> controller;
  FixedLanding* landing = nullptr;
  std::optional<Result<>> started;

 private:
  bool filter(const Pod&) override { return true; }
  bool preEvictionFilter(const Pod&) override { return true; }
  Task<bool> evict(PodPtr, EvictOptions) override { co_return false; }
  bool nodeExhausted(std::string_view) const override { return false; }

  CrashingApi api_;
  VirtualLoop& loop_;
  Stores stores_;
  kube::EventRecorder events_;
  Metrics metrics_;
  Random random_;
  std::string profile_ = "koord-descheduler";
};

struct MigrationWorld {
  VirtualLoop loop;
  apiserver::EmbeddedCluster api{loop};
  MigrationControllerArgs args;
  std::unique_ptr<Process> process;
  std::string reservationsGoTo = "n2";  // "" = no node
  bool podsComeBack = true;
  int incarnations = 0;
  std::uint64_t lives = 0;  // of the controller

  MigrationWorld() {
    api.install(kCrds + "podmigrationjobs.yaml");
    api.install(kCrds + "reservations.yaml");
    for (const char* name : {"n1", "n2", "n3"})
      api.put(
          api::Node::kType,
          fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}},)"
                      R"("status":{{"allocatable":{{"cpu":"4","memory":"8Gi","pods":"110"}}}}}})",
                      name));
    args.objectLimiters["workload"] = {.duration = 5min};
    loop.advance(1s);
  }
  ~MigrationWorld() { process.reset(); }

  void start(int crashAt = 0, bool afterwards = false) {
    process.reset();
    process = std::make_unique<Process>(api, loop, args, ++lives);
    process->crashing().crashAt = crashAt;
    process->crashing().afterwards = afterwards;
    run(1s);
    if (crashAt == 0) {
      ASSERT_TRUE(process->started.has_value());
      ASSERT_TRUE(*process->started) << process->started->error().message;
    }
  }
  // Advances time and simulates the rest of the cluster.
  void run(Duration time) {
    for (const SteadyTime end = loop.steadyNow() + time; loop.steadyNow() < end;) {
      loop.advance(200ms);
      schedule();
      finishDeletions();
      if (podsComeBack) replace();
    }
  }

  // --- A ReplicaSet without an owner, and its pods.
  void workload(const std::string& name, int replicas, const std::string& node = "n1",
                const std::string& extra = "") {
    api.put(
        {"apps", "v1", "replicasets", "ReplicaSet", true},
        fmt::format(R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{0}",)"
                    R"("namespace":"default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":)"
                    R"({{"app":"{0}"}}}},"template":{{"metadata":{{"labels":{{"app":"{0}"}}}},)"
                    R"("spec":{{"containers":[{{"name":"main","image":"a"}}]}}}}}}}})",
                    name, replicas));
    for (int i = 0; i < replicas; ++i) pod(name, fmt::format("{}-{}", name, i), node, extra);
    wanted[name] = replicas;
    extras[name] = extra;
  }
  // name: "name" in the namespace default, or "namespace/name".
  void pod(const std::string& set, const std::string& name, const std::string& node,
           const std::string& extra = "", bool ready = true) {
    const auto owner = api.get({"apps", "v1", "replicasets", "ReplicaSet", true}, set, "default");
    const std::string uid(owner ? textAt(*owner, "metadata", "uid") : "");
    const std::string owners =
        set.empty()
            ? ""
            : fmt::format(R"(,"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
                          R"("name":"{}","uid":"{}","controller":true}}])",
                          set, uid);
    api.put(api::Pod::kType,
            fmt::format(
                R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":)"
                R"("{}","labels":{{"app":"{}"}}{}{}}},"spec":{{"nodeName":"{}",)"
                R"("schedulerName":"koord-scheduler","containers":[{{"name":"main","image":"a",)"
                R"("command":["run"],"resources":{{"requests":{{"cpu":"1"}}}}}}]}},"status":)"
                R"({{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
                keyOf(name).name, keyOf(name).namespace_, set, owners, extra, node,
                ready ? "True" : "False"));
  }
  static api::ObjectKey keyOf(const std::string& name) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return {"default", name};
    return {name.substr(0, slash), name.substr(slash + 1)};
  }
  void bindPod(const std::string& name, const std::string& node) {
    std::optional<Result<>> out;
    TaskGroup group;
    const auto now = api.get(api::Pod::kType, name, "default");
    group.spawn(keep(
        kube::bindPod(api, {"default", name}, std::string(textAt(*now, "metadata", "uid")), node),
        &out));
    ASSERT_TRUE(loop.advanceUntil([&] { return out.has_value(); }, 10s));
    ASSERT_TRUE(*out) << out->error().message;
  }
  void unready(const std::string& name) {
    patch(api::Pod::kType, name, R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
          "default", "status");
  }
  std::map<std::string, int> wanted;
  std::map<std::string, std::string> extras;

  // Schedules pending Reservations on the test's node, as the scheduler would.
  void schedule() {
    if (reservationsGoTo.empty()) return;
    for (const auto& item : list(api::Reservation::kType)) {
      if (!textAt(item, "status", "nodeName").empty()) continue;
      statusOf(item, fmt::format(R"({{"phase":"Available","nodeName":"{}","conditions":[)"
                                 R"({{"type":"Scheduled","status":"True","reason":"Scheduled"}},)"
                                 R"({{"type":"Ready","status":"True","reason":"Available"}}]}})",
                                 reservationsGoTo));
    }
  }
  // Removes terminating pods, as kubelet does when their containers have ended.
  void finishDeletions() {
    for (const auto& item : list(api::Pod::kType))
      if (!textAt(item, "metadata", "deletionTimestamp").empty())
        api.remove(api::Pod::kType, std::string(textAt(item, "metadata", "name")),
                   std::string(textAt(item, "metadata", "namespace")));
  }
  // Replaces pods, as the ReplicaSet controller and the scheduler do: the new pod uses a matching
  // Reservation.
  void replace() {
    for (const auto& [set, count] : wanted) {
      int there = 0;
      for (const auto& item : list(api::Pod::kType))
        there += textAt(item, "metadata", "labels", "app") == set ? 1 : 0;
      for (; there < count; ++there) {
        const std::string name = fmt::format("{}-new-{}", set, ++incarnations);
        pod(set, name, "n2", extras[set]);
        bind(name);
      }
    }
  }
  void bind(const std::string& podName, std::string_view phase = "Available") {
    const auto made = api.get(api::Pod::kType, podName, "default");
    const std::string node = reservationsGoTo.empty() ? "n2" : reservationsGoTo;
    for (const auto& item : list(api::Reservation::kType)) {
      const auto now = textAt(item, "status", "phase");
      if ((now.empty() ? "Pending" : now) != phase) continue;
      statusOf(item, fmt::format(
                         R"({{"phase":"Succeeded","nodeName":"{}","conditions":[)"
                         R"({{"type":"Scheduled","status":"True","reason":"Scheduled"}}],)"
                         R"("currentOwners":[{{"namespace":"default","name":"{}","uid":"{}"}}]}})",
                         node, podName, textAt(*made, "metadata", "uid")));
      return;
    }
  }

  // --- Reading the cluster.
  std::vector<json::value> list(const api::ResourceType& type) {
    kube::Request request = kube::makeRequest(kube::Verb::List, type);
    std::optional<Result<std::string>> out;
    TaskGroup group;
    group.spawn(keep(api.call(std::move(request)), &out));
    loop.runReady();
    std::vector<json::value> items;
    if (!out || !*out) return items;
    const auto document = parseJson(**out);
    if (const auto* found = find(*document, "items"))
      for (const auto& item : found->get_array()) items.push_back(item);
    return items;
  }
  std::vector<api::PodMigrationJob> jobs() {
    std::vector<api::PodMigrationJob> all;
    for (const auto& item : list(api::PodMigrationJob::kType))
      all.push_back(*api::decode<api::PodMigrationJob>(item));
    return all;
  }
  api::PodMigrationJob job(const std::string& name) {
    const auto found = api.get(api::PodMigrationJob::kType, name);
    return found ? *api::decode<api::PodMigrationJob>(*found) : api::PodMigrationJob{};
  }
  // "phase reason: message"
  std::string stateOf(const std::string& name) {
    const auto now = job(name);
    return fmt::format("{} {}: {}", now.status.phase.view(), now.status.reason, now.status.message);
  }
  std::vector<std::string> conditionsOf(const std::string& name) {
    std::vector<std::string> all;
    for (const auto& each : job(name).status.conditions)
      all.push_back(each.type + " " + each.status);
    return all;
  }
  // The number of evictions of the pod with that name.
  int evictionsOf(const std::string& podName) {
    int count = 0;
    for (const auto& request : api.writes)
      if (request.subresource == "eviction" && request.name == podName) ++count;
    return count;
  }
  int evictions() {
    int count = 0;
    for (const auto& request : api.writes) count += request.subresource == "eviction" ? 1 : 0;
    return count;
  }
  PodPtr podOf(const std::string& name) { return process->stores().pod(keyOf(name)); }

  // --- Actions. A job of a user: spec as JSON.
  void makeJob(const std::string& name, const std::string& spec,
               const std::string& annotations = "{}") {
    api.put(api::PodMigrationJob::kType,
            fmt::format(
                R"({{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"PodMigrationJob",)"
                R"("metadata":{{"name":"{}","annotations":{}}},"spec":{}}})",
                name, annotations, spec));
  }
  void moveDirectly(const std::string& name, const std::string& podName) {
    makeJob(name, fmt::format(R"({{"mode":"EvictDirectly","ttl":"5m","podRef":)"
                              R"({{"namespace":"default","name":"{}"}}}})",
                              podName));
  }
  void move(const std::string& name, const std::string& podName) {
    makeJob(name, fmt::format(R"({{"mode":"ReservationFirst","ttl":"5m","podRef":)"
                              R"({{"namespace":"default","name":"{}"}}}})",
                              podName));
  }
  std::function<std::string(const Pod&, const std::string&)> rejectTarget;
  std::vector<std::string> together;  // names of pods
  std::string beneficiary;            // name of a pod
  PodPtr stale;                       // an older state of it
  // Calls the evict plugin: returns the job's name, or the reason against it.
  std::string evict(const std::string& podName, const std::string& plugin = "LowNodeLoad") {
    std::optional<Result<Evicted>> out;
    TaskGroup group;
    EvictOptions options;
    options.plugin = plugin;
    options.reason = "the node is hot";
    options.rejectTarget = rejectTarget;
    for (const std::string& other : together) options.together.push_back(podOf(other));
    if (!beneficiary.empty()) options.beneficiary = stale ? stale : podOf(beneficiary);
    group.spawn(keep(process->controller->evict(podOf(podName), std::move(options)), &out));
    EXPECT_TRUE(loop.advanceUntil([&] { return out.has_value(); }, 10s));
    if (!out) return "no answer";
    return *out ? (*out)->job : (*out).error().message;
  }
  void patch(const api::ResourceType& type, const std::string& name, const std::string& text,
             const std::string& namespace_ = "", const std::string& subresource = "") {
    std::optional<Result<json::value>> out;
    TaskGroup group;
    group.spawn(
        keep(kube::mergePatch(api, type, {namespace_, name}, *parseJson(text), subresource), &out));
    ASSERT_TRUE(loop.advanceUntil([&] { return out.has_value(); }, 10s));
    ASSERT_TRUE(*out) << out->error().message;
  }

 private:
  template <class T>
  static Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>* out) {
    auto result = co_await task;
    *out = std::move(result);
  }
  void statusOf(const json::value& item, const std::string& status) {
    patch(api::Reservation::kType, std::string(textAt(item, "metadata", "name")),
          fmt::format(R"({{"status":{}}})", status), "", "status");
  }
};

}  // namespace koord::descheduler
