// Two replicas of koord-manager on one API server, killed repeatedly: tests the webhooks' answers
// under load, and the objects that controllers leave if the process dies at any of its writes.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <set>

#include "api/device.h"
#include "api/elasticquota.h"
#include "api/group_version.h"
#include "api/recommendation.h"
#include "apiserver/role_api.h"
#include "base/file.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "kube/leader_election.h"
#include "manager/controllers.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

// A process's connection to Kubernetes: after its death it sends and receives nothing.
class CrashingApi final : public kube::Api {
 public:
  enum class Death { Never, BeforeWrite, AfterWrite };

  explicit CrashingApi(kube::Api& api) : api_(api) {}

  bool dead = false;
  int written = 0;
  int writesLeft = 0;  // until a write kills it
  Death death = Death::Never;
  std::function<void()> onDeath;

  Task<Result<std::string>> call(kube::Request request) override {
    const bool isLease = request.resource == "leases";
    const bool writes =
        request.verb != kube::Verb::Get && request.verb != kube::Verb::List && !isLease;
    written += writes ? 1 : 0;
    const bool last = writes && death != Death::Never && writesLeft-- == 0;
    if (last && death == Death::BeforeWrite) crash();
    if (dead) co_return gone();
    auto calling = api_.call(std::move(request));
    auto answer = co_await calling;
    if (last && !dead) crash();
    if (dead) co_return gone();
    co_return answer;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    sink.onEvent = [this, hear = std::move(sink.onEvent)](std::string_view event) {
      if (!dead) hear(event);
    };
    return api_.watch(std::move(request), std::move(sink));
  }

 private:
  static std::unexpected<Error> gone() {
    return fail(ErrorCode::Unavailable, "this process is dead");
  }
  void crash() {
    dead = true;
    if (onDeath) onDeath();
  }
  kube::Api& api_;
};

// One koord-manager. A dead one stays in memory without a connection, because its coroutines wait
// for answers that never come.
struct Process {
  Process(apiserver::Server& server, VirtualLoop& loop, const std::string& name, Random random,
          const ManagerOptions& options)
      : role(server, loop, apiserver::serviceAccountUser("koordinator-system", "koord-manager"),
             [](const std::string& why) { ADD_FAILURE() << "the shipped role: " << why; }),
        api(role),
        webhooks(api, loop, metrics, random.fork(), options.webhooks()),
        random(random.fork()) {
    webhooks.start();
    elector.emplace(
        api, loop,
        kube::LeaderElectionOptions{.leaseName = "koordinator-manager", .identity = name},
        random.fork(),
        [this, &loop, &options] {
          controllers.emplace(api, loop, this->random, options, metrics);
          controllers->start();
        },
        [this] { controllers.reset(); });
    elector->start();
  }
  // Must not be called from inside the process's own callbacks.
  void kill() {
    api.dead = true;
    controllers.reset();
    elector.reset();
  }
  apiserver::RoleApi role;
  CrashingApi api;
  Metrics metrics;
  Webhooks webhooks;
  Random random;
  std::optional<Controllers> controllers;
  std::optional<kube::LeaderElector> elector;
};

template <class T>
Task<void> keepResult(Task<T> task, std::optional<T>* into) {
  auto result = co_await task;
  *into = std::move(result);
}

// A cluster and its processes.
class FailoverWorld {
 public:
  FailoverWorld() {
    apiserver::ServerOptions options;
    options.inlineCommits = true;
    options.rbac = true;
    options.webhookCaller = [this](apiserver::WebhookRequest request) {
      return callWebhook(std::move(request));
    };
    server_ = apiserver::Server::open(loop_, std::move(options)).value();
    api_.emplace(*server_, loop_);
    const std::filesystem::path deploy = KOORD_DEPLOY;
    for (const auto& entry : std::filesystem::directory_iterator(deploy / "crds"))
      install(entry.path());
    for (const char* name : {"00-namespace", "priority-classes", "slo-controller-config",
                             "manager-rbac", "manager-webhooks"})
      install(deploy / "manifests" / (std::string(name) + ".yaml"));
    for (const char* gate : {"ColocationProfileController", "Recommender"})
      EXPECT_TRUE(options_.gates.set(std::string(gate) + "=true"));
    put(api::Namespace::kType,
        R"({"metadata":{"name":"shop","labels":{"koordinator.sh/enable-colocation":"true"}}})");
    put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"batch"},"spec":{
        "selector":{"matchLabels":{"tier":"batch"}},"qosClass":"BE","priorityClassName":"koord-batch",
        "labels":{"mutated":"true"}}})");
    loop_.advance(2s);
  }
  ~FailoverWorld() {
    processes_.clear();
    loop_.runReady();
    api_.reset();
    loop_.runReady();
  }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    TaskGroup tasks;
    tasks.spawn(keepResult(std::move(task), &result));
    loop_.advanceUntil([&] { return result.has_value(); }, 1min);
    return *std::move(result);
  }
  void put(const api::ResourceType& type, std::string_view text) {
    const json::value object = parseJson(text).value();
    const api::ObjectKey key{std::string(textAt(object, "metadata", "namespace")), ""};
    const auto made = run(kube::createObject(*api_, type, key, object));
    ASSERT_TRUE(made) << made.error().message;
    if (!find(object, "status")) return;
    const auto patched = run(kube::mergePatch(
        *api_, type, {key.namespace_, std::string(textAt(object, "metadata", "name"))},
        json::object{{"status", *find(object, "status")}}, "status"));
    ASSERT_TRUE(patched) << patched.error().message;
  }
  void install(const std::filesystem::path& file) {
    const auto documents = parseYamlDocuments(readFile(file).value()).value();
    for (const auto& document : documents) {
      const auto resource = server_->registry().findByKind(
          api::splitApiVersion(textAt(document, "apiVersion")).group, textAt(document, "kind"));
      ASSERT_TRUE(resource) << file;
      put({resource->group, resource->storageVersion().name, resource->plural, resource->kind,
           resource->namespaced},
          toJson(document));
    }
  }
  json::array list(const api::ResourceType& type) {
    const auto all = run(kube::listObjects(*api_, type, "", "", ""));
    EXPECT_TRUE(all);
    return find(*all, "items")->get_array();
  }

  Process& startProcess() {
    processes_.push_back(std::make_unique<Process>(
        *server_, loop_, fmt::format("replica-{}", processes_.size()), random_.fork(), options_));
    return *processes_.back();
  }
  // Calls any running replica, like a Service. A replica that dies meanwhile does not answer.
  Task<Result<std::string>> callWebhook(apiserver::WebhookRequest request) {
    std::vector<Process*> alive;
    for (const auto& process : processes_)
      if (!process->api.dead && process->webhooks.synced()) alive.push_back(process.get());
    if (alive.empty()) co_return fail(ErrorCode::Unavailable, "nobody is there");
    Process& process = *alive[random_.below(alive.size())];
    auto way = sleepFor(loop_, std::chrono::milliseconds(1 + random_.below(20)));
    co_await way;
    const auto& handlers = process.webhooks.handlers();
    const auto handler = handlers.find(request.service.path);
    if (handler == handlers.end()) co_return fail(ErrorCode::Unavailable, "no such path");
    const auto review = readReview(request.body);
    auto asking = handler->second(*review->request);
    const auto verdict = co_await asking;
    if (process.api.dead) co_return fail(ErrorCode::Unavailable, "the connection was reset");
    co_return writeReview(review->apiVersion, review->request->uid, verdict);
  }

  // Sets the failure policy of all webhooks, for requests while a webhook does not answer.
  void setPolicy(std::string_view policy) {
    for (const auto& type :
         {api::MutatingWebhookConfiguration::kType, api::ValidatingWebhookConfiguration::kType})
      for (auto& object : list(type)) {
        for (auto& webhook : find(object, "webhooks")->get_array())
          webhook.get_object()["failurePolicy"] = json::string(policy.data(), policy.size());
        const std::string name(textAt(object, "metadata", "name"));
        ASSERT_TRUE(run(kube::updateObject(*api_, type, {"", name}, object)));
      }
  }
  // Creates pods one after the other, with retries.
  Task<void> makePods(int maker, int pods) {
    for (int i = 0; i < pods; ++i) {
      json::value pod =
          parseJson(
              fmt::format(
                  R"({{"metadata":{{"namespace":"shop","name":"pod-{}-{}","labels":{{"tier":"batch"}}}},
              "spec":{{"schedulerName":"nobody","containers":[{{"name":"c","image":"i","resources":{{
              "requests":{{"cpu":"1","memory":"1Gi"}},"limits":{{"cpu":"1","memory":"1Gi"}}}}}}]}}}})",
                  maker, i))
              .value();
      for (bool made = false; !made;) {
        auto creating = kube::createObject(*api_, api::Pod::kType, {"shop", ""}, pod);
        const auto created = co_await creating;
        made = created.has_value();
        if (!made) ++refused_;
        auto pause = sleepFor(loop_, std::chrono::milliseconds(made ? 100 : 200));
        co_await pause;
      }
    }
    ++makersDone_;
  }
  // Kills replicas every few seconds, often one, at times both; replacements start a little later,
  // as of a Deployment.
  Task<void> killReplicas(const bool* enough) {
    std::array<Process*, 2> replicas{&startProcess(), &startProcess()};
    while (!*enough) {
      auto pause = sleepFor(loop_, std::chrono::milliseconds(500 + random_.below(4000)));
      co_await pause;
      const std::size_t spared = random_.below(3);
      for (std::size_t i = 0; i < replicas.size(); ++i)
        if (i != spared) replicas[i]->kill();
      auto restart = sleepFor(loop_, std::chrono::milliseconds(random_.below(2500)));
      co_await restart;
      for (std::size_t i = 0; i < replicas.size(); ++i)
        if (i != spared) replicas[i] = &startProcess();
    }
  }
  void loadWithKills(int makers, int podsEach) {
    bool enough = false;
    TaskGroup tasks;
    tasks.spawn(killReplicas(&enough));
    loop_.advance(400ms);
    for (int maker = 0; maker < makers; ++maker) tasks.spawn(makePods(maker, podsEach));
    ASSERT_TRUE(loop_.advanceUntil([&] { return makersDone_ == makers; }, 30min));
    enough = true;
    loop_.advance(10s);
  }
  static bool isRaw(const json::value& pod) {
    return textAt(pod, "metadata", "labels", "mutated").empty();
  }

  VirtualLoop loop_;
  Random random_{7};
  ManagerOptions options_;
  std::unique_ptr<apiserver::Server> server_;
  std::optional<apiserver::LocalApi> api_;
  std::vector<std::unique_ptr<Process>> processes_;
  int refused_ = 0;
  int makersDone_ = 0;
};

class Failover : public testing::Test, protected FailoverWorld {};

TEST_F(Failover, WithThePolicyFailEveryPodHasItsProfileWhoeverDies) {
  setPolicy("Fail");
  loadWithKills(8, 300);
  EXPECT_GT(processes_.size(), 5u) << "replicas were killed";
  EXPECT_GT(refused_, 0) << "some reviews were lost";
  const auto pods = list(api::Pod::kType);
  EXPECT_EQ(pods.size(), 8u * 300);
  for (const auto& pod : pods) {
    ASSERT_FALSE(isRaw(pod)) << toJson(pod);
    const auto& container = find(*find(pod, "spec"), "containers")->get_array().at(0);
    ASSERT_EQ(textAt(container, "resources", "requests", "kubernetes.io/batch-cpu"), "1k");
    ASSERT_EQ(textAt(pod, "metadata", "labels", "koordinator.sh/qosClass"), "BE");
  }
}

TEST_F(Failover, WithThePolicyIgnoreThePodsThatGotThroughAreAllTold) {
  loadWithKills(8, 300);
  EXPECT_EQ(refused_, 0) << "nobody waits for koord-manager";
  loop_.advance(2min);  // a leader exists and has read everything
  std::set<std::string> raw, told;
  for (const auto& pod : list(api::Pod::kType))
    if (isRaw(pod)) raw.emplace(textAt(pod, "metadata", "name"));
  for (const auto& event : list(api::Event::kType))
    if (textAt(event, "reason") == "AdmittedWithoutProfile")
      told.emplace(textAt(event, "involvedObject", "name"));
  EXPECT_FALSE(raw.empty()) << "there were moments with no replica at all";
  EXPECT_EQ(told, raw);
}

TEST_F(Failover, ATreeOfQuotasStaysATreeWhicheverReplicaIsAsked) {
  startProcess();
  startProcess();
  loop_.advance(5s);
  const auto quota = [](std::string_view name, std::string_view parent, bool isParent, int min) {
    return parseJson(fmt::format(
                         R"({{"metadata":{{"namespace":"shop","name":"{}","labels":{{
               "quota.scheduling.koordinator.sh/parent":"{}","quota.scheduling.koordinator.sh/is-parent":"{}"}}}},
               "spec":{{"min":{{"cpu":"{}"}},"max":{{"cpu":"100"}}}}}})",
                         name, parent, isParent, min))
        .value();
  };
  const auto create = [&](json::value object) {
    return run(
        kube::createObject(*api_, api::ElasticQuota::kType, {"shop", ""}, std::move(object)));
  };
  ASSERT_TRUE(create(quota("root", "koordinator-root-quota", true, 10)));
  // One right after the other, each at any replica: each replica must know what the other admitted.
  int made = 0;
  for (int i = 0; i < 20; ++i)
    if (create(quota(fmt::format("q{}", i), "root", false, 3))) ++made;
  EXPECT_EQ(made, 3) << "three times three are not more than ten";
}

// Has work for every controller.
class Workload : public FailoverWorld {
 public:
  Workload() {
    for (const char* name : {"n1", "n2"}) {
      put(api::Node::kType,
          fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"pool":"a"}}}},"status":{{
              "capacity":{{"cpu":"8","memory":"16Gi","pods":"110"}},
              "allocatable":{{"cpu":"8","memory":"16Gi","pods":"110"}},
              "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                      name));
    }
    put(api::Device::kType, R"({"metadata":{"name":"n1","labels":{
        "node.koordinator.sh/gpu-model":"H200","node.koordinator.sh/gpu-vendor":"nvidia"}},
        "spec":{"devices":[{"type":"gpu","minor":0,"health":true,"id":"g0","resources":{
        "koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi",
        "koordinator.sh/gpu-memory-ratio":"100"}}]}})");
    put(api::ElasticQuotaProfile::kType,
        R"({"metadata":{"namespace":"shop","name":"pool-a"},"spec":{"quotaName":"pool-a",
        "nodeSelector":{"matchLabels":{"pool":"a"}}}})");
    put(api::Pod::kType,
        R"({"metadata":{"namespace":"shop","name":"waiting","labels":{"app":"job"}},
        "spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"i"}]}})");
    put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"later","labels":{
        "config.koordinator.sh/controller-managed":"true"}},"spec":{"selector":{"matchLabels":{
        "app":"job"}},"labels":{"made":"later"}}})");
    put(api::Recommendation::kType, R"({"metadata":{"namespace":"shop","name":"job"},"spec":{
        "target":{"type":"podSelector","podSelector":{"matchLabels":{"app":"job"}}}}})");
  }
  // Acts as the koordlets: reports to the NodeMetrics that exist.
  Task<void> report() {
    for (;;) {
      auto pause = sleepFor(loop_, 5s);
      co_await pause;
      for (const char* name : {"n1", "n2"}) {
        json::value status = parseJson(fmt::format(R"({{"status":{{"updateTime":"{}","nodeMetric":{{
                "nodeUsage":{{"resources":{{"cpu":"1","memory":"1Gi"}}}},
                "systemUsage":{{"resources":{{"cpu":"500m","memory":"512Mi"}}}}}}}}}})",
                                                   formatTime(loop_.wallNow())))
                                 .value();
        auto patching = kube::mergePatch(*api_, api::NodeMetric::kType, {"", name},
                                         std::move(status), "status");
        (void)co_await patching;
      }
    }
  }
  // The controllers' objects, without fields that differ in each run.
  std::string outcome() {
    std::string text;
    for (const auto& type :
         {api::Node::kType, api::NodeSLO::kType, api::NodeMetric::kType, api::ElasticQuota::kType,
          api::ElasticQuotaProfile::kType, api::Pod::kType, api::Recommendation::kType})
      for (auto& object : list(type)) {
        auto& metadata = find(object, "metadata")->get_object();
        for (const char* name :
             {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"})
          metadata.erase(name);
        if (type.kind == "NodeMetric") object.get_object().erase("status");
        if (auto* status = find(object, "status"); status && type.kind == "Recommendation") {
          status->get_object().erase("updateTime");
          for (auto& condition : find(*status, "conditions")->get_array())
            condition.get_object().erase("lastTransitionTime");
        }
        text += toJson(object) + "\n";
      }
    return text;
  }
  // The outcome if the first process dies at its n-th write and a standby takes over.
  std::string outcomeAfter(CrashingApi::Death death, int n) {
    TaskGroup koordlets;
    koordlets.spawn(report());
    Process& first = startProcess();
    first.api.death = death;
    first.api.writesLeft = n;
    first.api.onDeath = [this, &first] { loop_.post([&first] { first.kill(); }); };
    loop_.advance(1s);
    startProcess();
    loop_.advance(2min);
    EXPECT_EQ(first.api.dead, death != CrashingApi::Death::Never);
    return outcome();
  }
};

TEST(LeaderChange, AtAnyWriteEndsWhereNoChangeEnds) {
  int writes = 0;
  std::string expected;
  {
    Workload world;
    expected = world.outcomeAfter(CrashingApi::Death::Never, 0);
    EXPECT_THAT(expected, testing::HasSubstr(R"("kubernetes.io/batch-cpu":"4300")"));
    EXPECT_THAT(expected, testing::HasSubstr(R"("made":"later")"));
    EXPECT_THAT(expected, testing::HasSubstr("tree-id"));
    EXPECT_THAT(expected, testing::HasSubstr("koordinator.sh/gpu-core"));
    writes = world.processes_.front()->api.written;
  }
  EXPECT_GT(writes, 10);
  for (const auto death : {CrashingApi::Death::BeforeWrite, CrashingApi::Death::AfterWrite})
    for (int n = 0; n < writes; ++n) {
      Workload world;
      ASSERT_EQ(world.outcomeAfter(death, n), expected)
          << (death == CrashingApi::Death::BeforeWrite ? "before" : "after") << " write " << n;
    }
}

}  // namespace
}  // namespace koord::manager
