#include "descheduler/migration/controller.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/reservation.h"
#include "apiserver/embedded_cluster.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/migration/keys.h"

// A cluster for tests of the MigrationController: the embedded API server on virtual time, with nodes, a workload
// whose pods come back when they are evicted, and a scheduler that puts Reservations where the test says. The
// controller can be killed at any write, and started anew.

namespace koord::descheduler {
namespace {

using namespace std::chrono_literals;
const std::string kCrds = KOORD_DEPLOY "/crds/scheduling.koordinator.sh_";

// Between the controller and the server: counts what it writes, and can die at one of them.
class MortalApi final : public kube::Api {
 public:
  explicit MortalApi(apiserver::EmbeddedCluster& cluster) : cluster_(cluster) {}
  Task<Result<std::string>> call(kube::Request request) override {
    const bool write = request.verb != kube::Verb::Get && request.verb != kube::Verb::List &&
                       request.resource != "events";
    if (write) ++writes;
    const bool dies = write && writes == dieAt;
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
  int dieAt = 0;            // 0 = never
  bool afterwards = false;  // the write arrives, its answer does not
  bool dead = false;
  std::vector<std::string> log;

 private:
  apiserver::EmbeddedCluster& cluster_;
};

// What the scheduler would answer.
class FixedLanding final : public Landing {
 public:
  Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) override {
    asked = moves;
    if (silent) co_return std::nullopt;
    std::vector<LandingPlace> places;
    for (const LandingMove& move : moves) {
      const auto it = refused.find(move.pod->metadata.name);
      if (it != refused.end()) {
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
  std::vector<LandingMove> asked;
};

// One life of the controller.
class Process final : public Handle, private Evictor {
 public:
  Process(apiserver::EmbeddedCluster& cluster, VirtualLoop& loop,
          const MigrationControllerArgs& args)
      : api_(cluster),
        loop_(loop),
        stores_(api_, loop, Random(1)),
        events_(api_, loop, "koord-descheduler", Random(2)) {
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
  net::HttpTransport* http() override { return nullptr; }
  Nodes nodes() const override {
    Nodes nodes;
    for (const auto& node : const_cast<Stores&>(stores_).nodes().objects())
      nodes.push_back({node, stores_.podsOn(node->metadata.name)});
    return nodes;
  }
  MortalApi& mortal() { return api_; }

  std::unique_ptr<MigrationController> controller;
  FixedLanding* landing = nullptr;
  std::optional<Result<>> started;

 private:
  bool filter(const Pod&) override { return true; }
  bool preEvictionFilter(const Pod&) override { return true; }
  Task<bool> evict(PodPtr, EvictOptions) override { co_return false; }
  bool nodeExhausted(std::string_view) const override { return false; }

  MortalApi api_;
  VirtualLoop& loop_;
  Stores stores_;
  kube::EventRecorder events_;
  Metrics metrics_;
  Random random_{3};
  std::string profile_ = "koord-descheduler";
};

struct MigrationWorld {
  VirtualLoop loop;
  apiserver::EmbeddedCluster api{loop};
  MigrationControllerArgs args;
  std::unique_ptr<Process> process;
  std::string reservationsGoTo = "n2";  // "" = nowhere
  bool podsComeBack = true;
  int incarnations = 0;

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

  void start(int dieAt = 0, bool afterwards = false) {
    process.reset();
    process = std::make_unique<Process>(api, loop, args);
    process->mortal().dieAt = dieAt;
    process->mortal().afterwards = afterwards;
    run(1s);
    if (dieAt == 0) {
      ASSERT_TRUE(process->started.has_value());
      ASSERT_TRUE(*process->started) << process->started->error().message;
    }
  }
  // Time passes, and the rest of the cluster does its part.
  void run(Duration time) {
    for (const SteadyTime end = loop.steadyNow() + time; loop.steadyNow() < end;) {
      loop.advance(200ms);
      schedule();
      finishDeletions();
      if (podsComeBack) replace();
    }
  }

  // --- A ReplicaSet that nobody owns, and its pods.
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
                R"("default","labels":{{"app":"{}"}}{}{}}},"spec":{{"nodeName":"{}",)"
                R"("schedulerName":"koord-scheduler","containers":[{{"name":"main","image":"a",)"
                R"("command":["run"],"resources":{{"requests":{{"cpu":"1"}}}}}}]}},"status":)"
                R"({{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
                name, set, owners, extra, node, ready ? "True" : "False"));
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

  // Reservations that wait get the node of the test, as the scheduler would say it.
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
  // As kubelet does once the containers have ended.
  void finishDeletions() {
    for (const auto& item : list(api::Pod::kType))
      if (!textAt(item, "metadata", "deletionTimestamp").empty())
        api.remove(api::Pod::kType, std::string(textAt(item, "metadata", "name")), "default");
  }
  // As the ReplicaSet's controller and the scheduler do: the new pod takes a Reservation that waits for it.
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

  // --- What there is.
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
  // How often the pod of that name was asked to leave.
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
  PodPtr podOf(const std::string& name) { return process->stores().pod({"default", name}); }

  // --- What somebody does.
  // By hand: spec as JSON.
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
  std::function<std::string(const Pod&, const std::string&)> noBetter;
  // The evict plugin: the job's name, or why not.
  std::string evict(const std::string& podName, const std::string& plugin = "LowNodeLoad") {
    std::optional<Result<Evicted>> out;
    TaskGroup group;
    EvictOptions options;
    options.plugin = plugin;
    options.reason = "the node is hot";
    options.noBetter = noBetter;
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// --- A job from its beginning to its end.

TEST(MigrationController, moves_a_pod_into_room_that_was_reserved_first) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Succeeded : Bind Pod \"default/web-new-1\" in Reservation"));
  EXPECT_THAT(
      w.conditionsOf("j"),
      ElementsAre("ReservationCreated True", "ReservationScheduled True", "Eviction True",
                  "PodBoundReservation True", "ReservationBound True", "BoundPodReady True"));
  EXPECT_EQ(w.job("j").status.nodeName, "n2");
  EXPECT_EQ(w.job("j").status.podRef->name, "web-new-1");
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
}

TEST(MigrationController, evicts_directly_where_it_is_told_to) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.moveDirectly("j", "web-0");
  w.run(10s);
  EXPECT_EQ(w.stateOf("j"), "Succeeded : Pod \"default/web-0\" has been evicted");
  EXPECT_EQ(w.evictions(), 1);
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, gives_up_in_time_where_there_is_no_room_and_leaves_nothing) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_EQ(w.list(api::Reservation::kType).size(), 1u);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running"));
  w.run(5min);
  EXPECT_EQ(w.stateOf("j"), "Failed Timeout: Abort job caused by timeout");
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, does_not_move_a_pod_to_where_it_is) {
  MigrationWorld w;
  w.reservationsGoTo = "n1";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Failed ForbiddenMigratePod: Scheduler assignes the Reservation"));
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, lets_a_pod_be_whose_room_somebody_else_took) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.pod("web", "web-extra", "n2");
  w.bind("web-extra", "Pending");
  w.run(5s);
  EXPECT_EQ(w.stateOf("j"),
            "Failed ForbiddenMigratePod: Reservation is already bound by another Pod");
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_pod_that_waits_for_a_node_itself_is_not_evicted) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.pod("web", "waiting", "", "", false);
  w.patch(
      api::Pod::kType, "waiting",
      R"({"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False"}]}})",
      "default", "status");
  w.start();
  w.move("j", "waiting");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running"));
  w.bindPod("waiting", "n3");
  w.run(5s);
  EXPECT_EQ(w.stateOf("j"), "Succeeded : Assign Pod \"default/waiting\" to node \"n3\"");
  EXPECT_TRUE(w.list(api::Reservation::kType).empty()) << "it did not need the room";
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, notices_a_pod_that_somebody_deletes_meanwhile) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.api.remove(api::Pod::kType, "web-0", "default");
  w.reservationsGoTo = "n2";
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed MissingPod"));
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, a_job_that_is_deleted_takes_its_reservation_with_it) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  ASSERT_EQ(w.list(api::Reservation::kType).size(), 1u);
  w.api.remove(api::PodMigrationJob::kType, "j");
  w.run(3s);
  EXPECT_TRUE(w.list(api::Reservation::kType).empty());
}

TEST(MigrationController, a_reservation_that_the_user_made_is_used_and_stays_his) {
  MigrationWorld w;
  w.reservationsGoTo = "n1";
  w.workload("web", 4);
  w.start();
  w.api.put(api::Reservation::kType,
            R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":)"
            R"({"name":"mine"},"spec":{"owners":[{"labelSelector":{"matchLabels":{"app":"web"}}}],)"
            R"("template":{"spec":{"containers":[]}}}})");
  w.makeJob("j", R"({"podRef":{"namespace":"default","name":"web-0"},)"
                 R"("reservationOptions":{"reservationRef":{"name":"mine"}}})");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed ForbiddenMigratePod"));
  EXPECT_EQ(w.list(api::Reservation::kType).size(), 1u);
}

TEST(MigrationController, ends_at_once_when_its_reservation_is_gone) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.move("j", "web-0");
  w.run(3s);
  w.api.remove(api::Reservation::kType, w.job("j").metadata.uid);
  w.run(2s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed MissingReservation"));
}

TEST(MigrationController, retries_an_eviction_that_a_budget_forbids) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  bool full = true;
  w.api.failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (full && request.subresource == "eviction")
      return Error{ErrorCode::TooManyRequests, "Cannot evict pod as it would violate the budget"};
    return std::nullopt;
  };
  w.moveDirectly("j", "web-0");
  w.run(40s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Running Evicting"));
  EXPECT_LT(w.evictions(), 20);
  full = false;
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Succeeded"));
}

TEST(MigrationController, soft_evictions_are_asked_for_and_taken_back) {
  MigrationWorld w;
  w.args.evictionPolicy = "SoftEviction";
  w.workload("web", 4);
  w.start();
  w.moveDirectly("j", "web-0");
  w.run(10s);
  const auto asked = w.api.get(api::Pod::kType, "web-0", "default");
  ASSERT_TRUE(asked);
  EXPECT_THAT(std::string(textAt(*asked, "metadata", "annotations",
                                 "scheduling.koordinator.sh/soft-eviction")),
              HasSubstr("\"reason\":\"NotSet\""));
  w.run(5min);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed Timeout"));
  EXPECT_TRUE(textAt(*w.api.get(api::Pod::kType, "web-0", "default"), "metadata", "annotations",
                     "scheduling.koordinator.sh/soft-eviction")
                  .empty());
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, paused_jobs_wait) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.makeJob(
      "j",
      R"({"mode":"EvictDirectly","paused":true,"podRef":{"namespace":"default","name":"web-0"}})");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  w.patch(api::PodMigrationJob::kType, "j", R"({"spec":{"paused":false}})");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Succeeded"));
}

TEST(MigrationController, old_jobs_are_deleted_with_their_reservations) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 4);
  w.start();
  w.moveDirectly("short", "web-0");
  w.makeJob("paused", R"({"paused":true,"podRef":{"namespace":"default","name":"web-1"}})");
  w.run(9min);
  EXPECT_EQ(w.jobs().size(), 2u);
  w.run(3min);
  EXPECT_EQ(w.jobs().size(), 1u);
  w.run(20min);
  EXPECT_TRUE(w.jobs().empty());
}

// --- Jobs that make no sense.

TEST(MigrationController, hand_made_nonsense_is_told_and_nobody_is_evicted) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  const std::string pod = R"("podRef":{"namespace":"default","name":"web-0"})";
  w.makeJob("mode", "{" + pod + R"(,"mode":"Jump"})");
  w.makeJob("ttl", "{" + pod + R"(,"ttl":"soon"})");
  w.makeJob("nameless", R"({"podRef":{"namespace":"default"}})");
  w.makeJob("missing",
            R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"nobody"}})");
  w.makeJob(
      "other",
      R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"web-1","uid":"x"}})");
  w.makeJob(
      "ref",
      "{" + pod +
          R"(,"mode":"ReservationFirst","reservationOptions":{"reservationRef":{"name":"none"}}})");
  w.run(10s);
  EXPECT_THAT(w.stateOf("mode"), HasSubstr("Failed InvalidSpec: spec.mode: \"Jump\""));
  EXPECT_THAT(w.stateOf("ttl"), HasSubstr("Failed InvalidSpec: spec.ttl"));
  EXPECT_EQ(w.stateOf("nameless"), "Failed InvalidPodRef: Abort job caused by invalid PodRef");
  EXPECT_EQ(w.stateOf("missing"),
            "Failed MissingPod: Abort job caused by missing Pod \"default/nobody\"");
  EXPECT_THAT(w.stateOf("other"), HasSubstr("Failed MissingPod"));
  EXPECT_THAT(w.stateOf("ref"), HasSubstr("Failed MissingReservation"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_bare_pod_gets_no_reservation_that_nobody_could_own) {
  MigrationWorld w;
  w.args.evictor.evictAllBarePods = true;
  w.pod("", "bare", "n1");
  w.start();
  w.move("j", "bare");
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"),
              HasSubstr("Failed FailedCreateReservation: the pod has no controller"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, two_jobs_for_one_pod_evict_it_once) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.moveDirectly("first", "web-0");
  w.moveDirectly("second", "web-0");
  w.run(30s);
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
  int succeeded = 0;
  for (const auto& job : w.jobs()) succeeded += job.status.phase == "Succeeded" ? 1 : 0;
  EXPECT_EQ(succeeded, 1);
}

TEST(MigrationController, a_job_that_names_no_uid_means_the_pod_that_was_there_when_it_was_made) {
  MigrationWorld w;
  w.podsComeBack = false;
  w.workload("web", 4);
  w.moveDirectly("j", "web-0");
  w.run(5s);
  w.api.remove(api::Pod::kType, "web-0", "default");
  w.pod("web", "web-0", "n1");
  w.start();
  w.run(5s);
  EXPECT_THAT(w.stateOf("j"),
              AllOf(HasSubstr("Failed MissingPod"), HasSubstr("made after the job")));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, a_pod_that_is_back_within_the_second_is_not_moved_for_the_one_before_it) {
  MigrationWorld w;
  w.podsComeBack = false;
  w.workload("web", 4);
  w.start();
  w.makeJob("second", R"({"mode":"EvictDirectly","paused":true,"ttl":"1h",)"
                      R"("podRef":{"namespace":"default","name":"web-0"}})");
  w.moveDirectly("first", "web-0");
  w.run(800ms);
  ASSERT_EQ(w.evictionsOf("web-0"), 1);
  w.pod("web", "web-0", "n1");
  w.patch(api::PodMigrationJob::kType, "second", R"({"spec":{"paused":false}})");
  w.run(20min);
  EXPECT_THAT(w.stateOf("second"),
              AllOf(HasSubstr("Failed MissingPod"), HasSubstr("job first has moved it")));
  EXPECT_EQ(w.evictionsOf("web-0"), 1);
}

TEST(MigrationController, jobs_of_somebody_else_are_left_alone) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.makeJob("j", R"({"mode":"EvictDirectly","podRef":{"namespace":"default","name":"web-0"}})",
            R"({"koordinator.sh/job-created-by":"another"})");
  w.run(10s);
  EXPECT_EQ(w.evictions(), 0);
  EXPECT_TRUE(w.job("j").status.phase.empty());
}

// --- Limits.

TEST(MigrationController, forbids_for_good_what_can_never_be) {
  MigrationWorld w;
  w.workload("one", 1);
  w.workload("costly", 4, "n1",
             R"(,"annotations":{"scheduling.koordinator.sh/eviction-cost":"2147483647"})");
  w.start();
  w.moveDirectly("one", "one-0");
  w.moveDirectly("costly", "costly-0");
  w.run(5s);
  EXPECT_THAT(
      w.stateOf("one"),
      HasSubstr("Failed ForbiddenMigratePod: Pod \"default/one-0\" is forbidden to migrate because "
                "it does not meet the requirements"));
  EXPECT_THAT(w.stateOf("costly"), HasSubstr("eviction-cost says never"));
  EXPECT_EQ(w.evictions(), 0);
}

TEST(MigrationController, at_most_so_many_leave_a_node_at_once) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  for (const char* name : {"a", "b", "c"}) w.workload(name, 4);
  w.start();
  for (const char* name : {"a", "b", "c"}) w.move(name, std::string(name) + "-0");
  w.run(5s);
  int running = 0;
  std::string waiting;
  for (const auto& job : w.jobs()) {
    running += job.status.phase == "Running" ? 1 : 0;
    if (job.status.phase == "Pending") waiting = job.status.message;
  }
  EXPECT_EQ(running, 2);
  EXPECT_EQ(waiting, "2 other pods leave node n1 already (maxMigratingPerNode: 2)");
  w.reservationsGoTo = "n2";
  w.run(20s);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Succeeded");
}

TEST(MigrationController, workloads_lose_no_more_than_they_may) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.workload("web", 10);
  w.args.maxMigratingPerNode = 0;
  w.start();
  for (int i = 0; i < 4; ++i) w.move(fmt::format("j{}", i), fmt::format("web-{}", i));
  w.run(5s);
  int running = 0;
  for (const auto& job : w.jobs()) running += job.status.phase == "Running" ? 1 : 0;
  EXPECT_EQ(running, 2);
}

TEST(MigrationController, a_pod_that_is_not_ready_itself_may_be_moved) {
  MigrationWorld w;
  w.workload("web", 2);
  w.unready("web-0");
  w.start();
  w.moveDirectly("healthy", "web-1");
  w.run(5s);
  EXPECT_THAT(w.stateOf("healthy"), HasSubstr("Pending WaitingForArbitration: 1 other pods"));
  w.api.remove(api::PodMigrationJob::kType, "healthy");
  w.moveDirectly("sick", "web-0");
  w.run(5s);
  EXPECT_THAT(w.stateOf("sick"), HasSubstr("Succeeded"));
}

TEST(MigrationController, pods_of_one_workload_go_one_after_the_other) {
  MigrationWorld w;
  w.workload("web", 3);
  w.start();
  w.moveDirectly("first", "web-0");
  w.run(10s);
  EXPECT_THAT(w.stateOf("first"), HasSubstr("Succeeded"));
  w.moveDirectly("second", "web-1");
  w.run(1min);
  EXPECT_EQ(w.evictions(), 1);
  EXPECT_THAT(w.stateOf("second"), HasSubstr("Running"));
}

TEST(MigrationController, a_job_that_waits_too_long_ends) {
  MigrationWorld w;
  w.workload("web", 2);
  w.unready("web-0");
  w.start();
  w.moveDirectly("j", "web-1");
  w.run(6min);
  EXPECT_THAT(w.stateOf("j"), HasSubstr("Failed Timeout"));
}

// --- The evict plugin.

TEST(MigrationController, makes_a_job_that_says_where_the_pod_will_land) {
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
  // The whole pod, with what is not kept of it here.
  EXPECT_TRUE(at(*w.process->landing->asked[0].whole, "spec", "containers"));
  w.run(10s);
  EXPECT_THAT(w.stateOf(name), HasSubstr("Succeeded"));
}

TEST(MigrationController, evicts_nobody_who_would_find_no_better_place) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  w.process->landing->refused["web-0"] = "0/3 nodes are available: 3 Insufficient cpu.";
  EXPECT_EQ(w.evict("web-0"),
            "pod web-0 would find no better place: 0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_TRUE(w.jobs().empty());
}

TEST(MigrationController, a_place_that_is_no_better_is_left_out_and_the_next_one_asked_for) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start();
  std::vector<std::string> judged;
  w.noBetter = [&](const Pod&, const std::string& node) {
    judged.push_back(node);
    return std::string(node == "n2" ? "n2 is as loaded" : "");
  };
  const std::string name = w.evict("web-0");
  EXPECT_THAT(judged, ElementsAre("n2", "n3"));
  EXPECT_EQ(annotationOf(w.job(name), kAnnotationPlannedNode), "n3");
  EXPECT_EQ(annotationOf(w.job(name), kAnnotationAvoidNodes), "n2");
  w.noBetter = [](const Pod&, const std::string& node) { return node + " is as loaded"; };
  EXPECT_THAT(w.evict("web-1"), HasSubstr("pod web-1 would find no better place: n3 is as loaded"));
  EXPECT_EQ(w.jobs().size(), 1u);
}

TEST(MigrationController, by_itself_sees_whether_another_node_would_do) {
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

TEST(MigrationController, no_second_job_for_a_pod_also_right_after_the_first) {
  MigrationWorld w;
  w.workload("web", 10);
  w.start();
  const std::string name = w.evict("web-0");
  EXPECT_EQ(w.evict("web-0"), fmt::format("job {} moves it already", name));
  EXPECT_FALSE(w.process->controller->filter(*w.podOf("web-0")));
}

TEST(MigrationController, nobody_goes_back_to_where_its_workload_left_lately) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.workload("web", 4);
  w.start();
  ASSERT_THAT(w.stateOf(w.evict("web-0")), Not(HasSubstr("Failed")));
  w.run(10s);
  // One that came back to n2 has to go elsewhere, but not to n1.
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

// Nothing holds a place for it, so the scheduler has the whole choice.
TEST(MigrationController, evicts_nobody_directly_who_would_come_back) {
  MigrationWorld w;
  w.args.objectLimiters.clear();
  w.args.defaultJobMode = "EvictDirectly";
  w.workload("web", 4);
  w.start();
  w.process->landing->node = "n1";
  EXPECT_EQ(w.evict("web-0"),
            "pod web-0 would come back to node n1, which it or its workload leaves");
  ASSERT_EQ(w.process->landing->asked.size(), 1u);
  EXPECT_TRUE(w.process->landing->asked[0].avoid.empty());
  w.process->landing->node = "n2";
  const std::string name = w.evict("web-0");
  w.run(5s);
  EXPECT_THAT(w.stateOf(name), HasSubstr("Succeeded"));
  w.process->landing->node = "n1";
  EXPECT_THAT(w.evict("web-new-1"), HasSubstr("would come back to node n1"))
      << "its workload has just left it";
}

TEST(MigrationController, leaves_a_pod_alone_that_came_to_where_one_was_evicted_directly) {
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
            "pod again came to node n1 after another one of its workload was evicted from there");
  const std::string older = w.evict("web-1");
  EXPECT_NE(w.job(older).metadata.uid, "") << older;
  w.run(11min);
  EXPECT_NE(w.job(w.evict("again")).metadata.uid, "");
}

TEST(MigrationController, a_budget_that_is_used_up_keeps_jobs_from_being_made) {
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

TEST(MigrationController, in_a_dry_run_nothing_is_written) {
  MigrationWorld w;
  w.args.dryRun = true;
  w.workload("web", 4);
  w.start();
  const std::size_t writes = w.api.writes.size();
  EXPECT_EQ(w.evict("web-0"), "");
  EXPECT_EQ(w.api.writes.size(), writes);
}

TEST(MigrationController, a_class_of_priority_that_is_missing_is_an_error_at_start) {
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

TEST(MigrationController, a_gang_moves_whole) {
  MigrationWorld w;
  w.workload("train", 2, "n1", kGang);
  w.start();
  EXPECT_THAT(w.evict("train-0"), Not(HasSubstr(" ")));
  ASSERT_EQ(w.jobs().size(), 2u);
  w.run(20s);
  for (const auto& job : w.jobs()) EXPECT_EQ(job.status.phase, "Succeeded") << job.status.message;
  EXPECT_EQ(w.evictions(), 2);
}

TEST(MigrationController, or_not_at_all) {
  MigrationWorld w;
  w.workload("train", 2, "n1", kGang);
  w.start();
  w.process->landing->refused["train-1"] = "no room";
  EXPECT_EQ(w.evict("train-0"), "pod train-1 would find no better place: no room");
  w.args.maxMigratingPerNode = 1;
  w.start();
  EXPECT_THAT(w.evict("train-0"), HasSubstr("2 pods of its gang are on node n1"));
  EXPECT_TRUE(w.jobs().empty());
}

TEST(MigrationController, a_gang_of_which_one_gets_no_room_stays) {
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

TEST(MigrationController, a_gang_whose_jobs_were_not_all_made_stays) {
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

// --- Death at any moment.

struct Death {
  int at;
  bool afterwards;
};

// What becomes of one job when the process dies at a write, and another one takes over.
std::string afterDeath(Death death, bool directly, int* evictions, int* reservations) {
  MigrationWorld w;
  w.workload("web", 4);
  w.start(death.at, death.afterwards);
  if (directly) {
    w.moveDirectly("j", "web-0");
  } else {
    w.move("j", "web-0");
  }
  w.run(5s);
  const bool died = w.process->mortal().dead;
  w.start();
  w.run(20s);
  *evictions = w.evictionsOf("web-0");
  *reservations = 0;
  for (const auto& each : w.list(api::Reservation::kType))
    *reservations += textAt(each, "status", "phase") == "Succeeded" ? 0 : 1;
  return died ? w.job("j").status.phase.str() : "lived";
}

TEST(MigrationController, dies_at_any_write_and_still_evicts_once_and_finishes) {
  for (const bool directly : {false, true}) {
    int deaths = 0;
    for (int at = 1; at < 40; ++at) {
      bool lived = true;
      for (const bool afterwards : {false, true}) {
        int evictions = 0, reservations = 0;
        const std::string phase = afterDeath({at, afterwards}, directly, &evictions, &reservations);
        if (phase == "lived") continue;
        lived = false;
        ++deaths;
        EXPECT_EQ(phase, "Succeeded") << "write " << at << (afterwards ? " after" : " before");
        // A call that never arrived is no eviction; one whose answer was lost is the only one.
        EXPECT_EQ(evictions, 1) << "write " << at << (afterwards ? " after" : " before");
        EXPECT_EQ(reservations, 0) << "write " << at;
      }
      if (lived) break;
    }
    EXPECT_GE(deaths, directly ? 8 : 14);
  }
}

TEST(MigrationController, what_was_evicted_before_a_restart_counts_against_rates_and_limits) {
  MigrationWorld w;
  w.workload("web", 3);
  w.start();
  w.moveDirectly("first", "web-0");
  w.run(10s);
  w.start();
  w.moveDirectly("second", "web-1");
  w.run(1min);
  EXPECT_EQ(w.evictions(), 1);
  w.run(4min);
  EXPECT_EQ(w.evictions(), 2) << "its turn has come, five minutes after the first";
}

TEST(MigrationController, jobs_that_wait_write_nothing_while_nothing_changes) {
  MigrationWorld w;
  w.reservationsGoTo = "";
  w.podsComeBack = false;
  w.workload("web", 40);
  w.args.maxMigratingPerNode = 0;
  w.args.maxMigratingPerWorkload = NumberOrPercent{30, false};
  w.start();
  for (int i = 0; i < 20; ++i) {
    w.makeJob(fmt::format("j{}", i),
              fmt::format(R"({{"podRef":{{"namespace":"default","name":"web-{}"}}}})", i));
  }
  w.run(20s);
  const std::size_t writes = w.api.writes.size();
  w.loop.advance(10min);
  EXPECT_EQ(w.api.writes.size(), writes);
}

}  // namespace
}  // namespace koord::descheduler
