// A console of many users: what each receives is what their roles let them list, byte for byte.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "api/slo.h"
#include "apiserver/embedded_cluster.h"
#include "base/random.h"
#include "console/console.h"
#include "net/fake_responder.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr api::ResourceType kClusterRoleType{"rbac.authorization.k8s.io", "v1", "clusterroles",
                                             "ClusterRole", false};
constexpr api::ResourceType kClusterBindingType{"rbac.authorization.k8s.io", "v1",
                                                "clusterrolebindings", "ClusterRoleBinding", false};
constexpr api::ResourceType kBindingType{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                         "RoleBinding", true};

struct KindOfTest {
  TableId table;
  const api::ResourceType* type;
  const char* name;  // of the table
};
const KindOfTest kKindsOfTest[] = {
    {TableId::Nodes, &api::Node::kType, "nodes"},
    {TableId::Metrics, &api::NodeMetric::kType, "metrics"},
    {TableId::Quotas, &api::ElasticQuota::kType, "quotas"},
    {TableId::Gangs, &api::PodGroup::kType, "gangs"},
    {TableId::Moves, &api::PodMigrationJob::kType, "moves"},
    {TableId::Reservations, &api::Reservation::kType, "reservations"},
    {TableId::Pods, &api::Pod::kType, "pods"},
};

class SharedConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    slow_ = &loop_;
    for (const char* file :
         {"slo.koordinator.sh_nodemetrics", "scheduling.sigs.k8s.io_podgroups",
          "scheduling.sigs.k8s.io_elasticquotas", "scheduling.koordinator.sh_podmigrationjobs",
          "scheduling.koordinator.sh_reservations"})
      cluster_.install(std::string(KOORD_DEPLOY) + "/crds/" + file + ".yaml");
    for (const auto& kind : kKindsOfTest) {
      const std::string group(kind.type->group), plural(kind.type->plural);
      cluster_.put(kClusterRoleType, fmt::format(R"({{"apiVersion":"rbac.authorization.k8s.io/v1",
        "kind":"ClusterRole","metadata":{{"name":"see-{1}"}},"rules":[{{"apiGroups":["{0}"],
        "resources":["{1}"],"verbs":["get","list","watch"]}}]}})",
                                                 group, plural));
    }
    addNamespace("a");
    addNamespace("b");
  }
  void open(net::HttpTransport* prometheus = nullptr) {
    ConsoleOptions options;
    options.shared = true;
    if (prometheus)
      options.prometheus = std::make_shared<Prometheus>(*prometheus, loop_, "http://p:9090", "");
    options.simulateAs = [](std::string question, std::shared_ptr<const kube::Caller> caller) {
      return answerOf(std::move(question), std::move(caller));
    };
    console_ = std::make_unique<Console>(cluster_, loop_, std::move(options));
    console_->start();
    handler_ = guard_.around(kube::RequestGuard::CallerHandler(
        [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder,
               std::shared_ptr<const kube::Caller> caller) {
          console_->handleAs(std::move(request), std::move(responder), std::move(caller));
        }));
    loop_.advance(1s);
  }
  static Task<Result<json::value>> answerOf(std::string question,
                                            std::shared_ptr<const kube::Caller> caller) {
    if (question == "slow") {
      auto pause = sleepFor(*slow_, 1h);
      co_await pause;
    }
    co_return json::value(json::object{{"asked", question}, {"by", caller->name()}});
  }

  void addNamespace(const std::string& name) {
    cluster_.put(
        api::Namespace::kType,
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})",
                    name));
  }
  // namespace_: "" = the whole cluster.
  static std::string bindingName(const std::string& user, const KindOfTest& kind) {
    return user + "-" + std::string(kind.type->plural);
  }
  void grant(const std::string& user, const KindOfTest& kind, const std::string& namespace_) {
    const bool cluster = namespace_.empty();
    cluster_.put(cluster ? kClusterBindingType : kBindingType,
                 fmt::format(R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"{}",
        "metadata":{{"name":"{}","namespace":"{}"}},"roleRef":{{
        "apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"see-{}"}},
        "subjects":[{{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"{}"}}]}})",
                             cluster ? "ClusterRoleBinding" : "RoleBinding",
                             bindingName(user, kind), namespace_, kind.type->plural, user));
  }
  void revoke(const std::string& user, const KindOfTest& kind, const std::string& namespace_) {
    cluster_.remove(namespace_.empty() ? kClusterBindingType : kBindingType,
                    bindingName(user, kind), namespace_);
  }
  void putPod(const std::string& namespace_, const std::string& name) {
    cluster_.put(api::Pod::kType, fmt::format(R"({{"apiVersion":"v1","kind":"Pod",
      "metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"containers":[{{"name":"c","image":"i",
      "env":[{{"name":"PASSWORD","value":"never"}}]}}]}}}})",
                                              name, namespace_));
  }

  std::shared_ptr<net::FakeResponder> send(const std::string& user, std::string method,
                                           std::string target, std::string body = "",
                                           net::Headers headers = {}, Duration wait = 1s) {
    auto responder = std::make_shared<net::FakeResponder>();
    net::ServerRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.headers.push_back({"Host", "console.example"});
    if (!user.empty())
      request.peer =
          std::make_shared<const net::PeerIdentity>(net::PeerIdentity{user, {}, "", expiry_});
    handler_(std::move(request), responder);
    loop_.advance(wait);
    return responder;
  }
  std::shared_ptr<net::FakeResponder> get(const std::string& user, std::string target) {
    return send(user, "GET", std::move(target));
  }
  static const KindOfTest& kindOf(TableId table) {
    return kKindsOfTest[static_cast<std::size_t>(table)];
  }

  // The cluster, except for what `answer` says.
  struct Reviewing final : kube::Api {
    explicit Reviewing(kube::Api& api) : api(api) {}
    kube::Api& api;
    std::function<std::optional<Result<std::string>>(const kube::Request&)> answer;
    Task<Result<std::string>> call(kube::Request request) override {
      if (answer)
        if (auto said = answer(request)) co_return *std::move(said);
      auto calling = api.call(std::move(request));
      auto reply = co_await calling;
      co_return reply;
    }
    std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
      return api.watch(std::move(request), std::move(sink));
    }
  };

  VirtualLoop loop_;
  inline static Executor* slow_ = nullptr;  // of answers that take an hour
  apiserver::EmbeddedCluster cluster_{loop_, true};
  Reviewing reviewing_{cluster_};
  WallTime expiry_ = WallTime::max();  // of certificates
  kube::RequestGuard guard_{
      loop_,
      &reviewing_,
      &reviewing_,
      {.alwaysAllowPaths = {"/*"}, .tokenTtl = 10s, .grantTtl = {}, .refusalTtl = {}}};
  std::unique_ptr<Console> console_;
  net::HttpServer::Handler handler_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_F(SharedConsoleTest, WithoutAnIdentityOnlyThePageIsServed) {
  open();
  EXPECT_EQ(send("", "GET", "/", "", {{"Accept-Encoding", "gzip"}})->status, 200);
  for (const char* path : {"/api/v1/feed", "/%61pi/v1/feed", "/api/v1/history?series=cluster",
                           "/api/v1/node?name=n", "/api", "http://x/api/v1/feed"}) {
    const auto refused = get("", path);
    EXPECT_EQ(refused->status, 401) << path;
    EXPECT_TRUE(has(refused->body, R"("login":"token")")) << refused->body;
  }
}

TEST_F(SharedConsoleTest, AUserSeesTheNamespacesThatTheirRolesList) {
  putPod("a", "mine");
  putPod("b", "other");
  grant("ann", kindOf(TableId::Pods), "a");
  open();
  const auto feed = get("ann", "/api/v1/feed");
  EXPECT_TRUE(has(feed->body, R"(["a","mine")")) << feed->body;
  EXPECT_FALSE(has(feed->body, "other")) << feed->body;
  EXPECT_FALSE(has(feed->body, "never")) << feed->body;
  EXPECT_TRUE(has(feed->body, "event: synced")) << feed->body;
  EXPECT_TRUE(has(feed->body, R"("pods":{"state":"namespaces","namespaces":["a"],"count":1)"))
      << feed->body;
  EXPECT_TRUE(has(feed->body, R"("nodes":{"state":"forbidden")")) << feed->body;
  EXPECT_FALSE(has(feed->body, "\nid: ")) << "ids count the changes of all rows: " << feed->body;
  feed->body.clear();
  cluster_.remove(api::Pod::kType, "mine", "a");
  cluster_.remove(api::Pod::kType, "other", "b");
  loop_.advance(1s);
  EXPECT_TRUE(has(feed->body, R"("gone":["a/mine"])")) << feed->body;
}

TEST_F(SharedConsoleTest, ListWithoutWatchIsNotEnough) {
  cluster_.put(kClusterRoleType, R"({"apiVersion":"rbac.authorization.k8s.io/v1",
    "kind":"ClusterRole","metadata":{"name":"see-pods"},
    "rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]})");
  putPod("a", "mine");
  grant("ann", kindOf(TableId::Pods), "");
  open();
  EXPECT_FALSE(has(get("ann", "/api/v1/feed")->body, "mine"));
}

TEST_F(SharedConsoleTest, ARevokedRightTakesTheRowsBackWithin30Seconds) {
  putPod("a", "mine");
  grant("ann", kindOf(TableId::Pods), "");
  open();
  const auto feed = get("ann", "/api/v1/feed");
  EXPECT_TRUE(has(feed->body, "mine"));
  revoke("ann", kindOf(TableId::Pods), "");
  feed->body.clear();
  loop_.advance(30s);
  EXPECT_TRUE(has(feed->body, R"({"t":"pods","reset":true})")) << feed->body;
  feed->body.clear();
  putPod("a", "later");
  loop_.advance(10s);
  EXPECT_FALSE(has(feed->body, "later")) << feed->body;
  EXPECT_TRUE(has(feed->body, R"("pods":{"state":"forbidden")")) << feed->body;
}

TEST_F(SharedConsoleTest, ANewRightAndANewNamespaceAppearByThemselves) {
  grant("ann", kindOf(TableId::Pods), "a");
  putPod("b", "other");
  open();
  const auto feed = get("ann", "/api/v1/feed");
  putPod("a", "mine");  // the first row of this namespace
  loop_.advance(5s);
  EXPECT_TRUE(has(feed->body, "mine")) << feed->body;
  EXPECT_FALSE(has(feed->body, "other"));
  grant("ann", kindOf(TableId::Pods), "");
  loop_.advance(20s);
  EXPECT_TRUE(has(feed->body, "other")) << feed->body;
}

TEST_F(SharedConsoleTest, WhileRightsCannotBeCheckedNothingIsSent) {
  grant("ann", kindOf(TableId::Pods), "");
  open();
  const auto feed = get("ann", "/api/v1/feed");
  cluster_.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource == "subjectaccessreviews")
      return Error{ErrorCode::Unavailable, "connection refused", {}};
    return std::nullopt;
  };
  putPod("a", "early");
  loop_.advance(35s);
  EXPECT_TRUE(has(feed->body, "early")) << "what was granted counts for 30 s";
  putPod("a", "tardy");
  loop_.advance(10s);
  EXPECT_FALSE(has(feed->body, "tardy")) << feed->body;
  const auto another = get("ann", "/api/v1/history?series=cluster");
  EXPECT_EQ(another->status, 503);
  EXPECT_TRUE(has(another->body, "connection refused")) << another->body;
  cluster_.failure = nullptr;
  loop_.advance(10s);
  EXPECT_TRUE(has(feed->body, "tardy")) << feed->body;
  EXPECT_FALSE(feed->ended);
}

TEST_F(SharedConsoleTest, AStreamEndsWithItsCredentials) {
  grant("ann", kindOf(TableId::Pods), "");
  expiry_ = loop_.wallNow() + 1min;
  open();
  const auto feed = get("ann", "/api/v1/feed");
  loop_.advance(50s);
  EXPECT_FALSE(feed->ended);
  loop_.advance(30s);
  EXPECT_TRUE(feed->ended);
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 401);
}

TEST_F(SharedConsoleTest, SumsAreForThoseWhoMayListAllThatTheySumUp) {
  putPod("a", "mine");
  cluster_.put(api::Node::kType, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},
    "status":{"allocatable":{"cpu":"8"}}})");
  cluster_.put(api::ElasticQuota::kType, R"({"apiVersion":"scheduling.sigs.k8s.io/v1alpha1",
    "kind":"ElasticQuota","metadata":{"name":"q","namespace":"a"},"spec":{}})");
  grant("pods", kindOf(TableId::Pods), "");
  grant("some", kindOf(TableId::Pods), "a");
  grant("nodes", kindOf(TableId::Nodes), "");
  grant("quotas", kindOf(TableId::Quotas), "a");
  open();
  loop_.advance(40s);
  const auto columns = [&](const std::string& user, const std::string& series) {
    const auto answer = get(user, "/api/v1/history?series=" + series);
    std::string names;
    if (answer->status != 200) return fmt::format("{}", answer->status);
    const auto document = parseJson(answer->body);
    for (const auto& [name, values] : find(*document, "columns")->get_object())
      names += std::string(name) + " ";
    return names;
  };
  EXPECT_EQ(columns("some", "cluster"), "404");
  EXPECT_TRUE(has(columns("pods", "cluster"), "cpuRequested"));
  EXPECT_FALSE(has(columns("pods", "cluster"), "cpuCapacity"));
  EXPECT_TRUE(has(columns("nodes", "cluster"), "cpuCapacity"));
  for (const char* hidden : {"cpuUsed", "cpuRequested", "pods", "pending", "gpusRequested"})
    EXPECT_FALSE(has(columns("nodes", "cluster"), hidden)) << hidden;
  EXPECT_EQ(columns("nodes", "node/n"), "batch ");
  EXPECT_EQ(columns("pods", "node/n"), "404");
  EXPECT_EQ(columns("nodes", "quota/a/q"), "404");
  EXPECT_EQ(get("nodes", "/api/v1/history?series=quota/a/q")->body,
            "{\"message\":\"there is no history of \\\"quota/a/q\\\"\"}\n")
      << "as one that does not exist";
  EXPECT_TRUE(has(columns("quotas", "quota/a/q"), "cpuUsed"));
}

namespace {

// Has one value, 7, at the first time of each query.
class SevenPrometheus final : public net::HttpTransport {
 public:
  std::string asked;  // the addresses of all requests
  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest request) override {
    asked += request.url + "\n";
    const auto start = request.url.find("start=") + 6;
    const std::string time = request.url.substr(start, request.url.find('&', start) - start);
    co_return net::HttpResponse{
        200,
        {},
        R"({"status":"success","data":{"resultType":"matrix","result":[{"values":[[)" + time +
            R"(,"7"]]}]}})"};
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
    return nullptr;
  }
};

}  // namespace

TEST_F(SharedConsoleTest, OlderHistoryHasTheSameRights) {
  cluster_.put(api::Node::kType, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},
    "status":{"allocatable":{"cpu":"8"}}})");
  for (const char* key : {"a", "b"})
    cluster_.put(api::ElasticQuota::kType,
                 fmt::format(R"({{"apiVersion":"scheduling.sigs.k8s.io/v1alpha1",
      "kind":"ElasticQuota","metadata":{{"name":"same","namespace":"{}"}},"spec":{{}}}})",
                             key));
  cluster_.put(api::ElasticQuota::kType, R"({"apiVersion":"scheduling.sigs.k8s.io/v1alpha1",
    "kind":"ElasticQuota","metadata":{"name":"own","namespace":"a"},"spec":{}})");
  grant("nodes", kindOf(TableId::Nodes), "");
  grant("quotas", kindOf(TableId::Quotas), "a");
  SevenPrometheus prometheus;
  open(&prometheus);
  loop_.advance(40s);
  const auto nodes = get("nodes", "/api/v1/history?series=cluster&seconds=604800");
  EXPECT_TRUE(has(nodes->body, "cpuCapacity") && has(nodes->body, "7E0")) << nodes->body;
  EXPECT_FALSE(has(nodes->body, "Requested") || has(nodes->body, "Used")) << nodes->body;
  EXPECT_FALSE(has(prometheus.asked, "kube_pod_resource_request")) << prometheus.asked;
  grant("all", kindOf(TableId::Quotas), "");
  EXPECT_TRUE(has(get("all", "/api/v1/history?series=quota/a/own")->body, "7E0"));
  EXPECT_FALSE(has(get("all", "/api/v1/history?series=quota/a/same")->body, "7E0"))
      << "the metric could be that of the other quota of this name";
  const auto part = get("quotas", "/api/v1/history?series=quota/a/own");
  EXPECT_EQ(part->status, 200);
  EXPECT_FALSE(has(part->body, "7E0"))
      << "the metric could be that of a quota of another namespace, which was deleted";
  prometheus.asked.clear();
  for (const char* series : {"quota/b/same", "quota/a/none", "node/n", "cluster", "x"})
    EXPECT_EQ(get("quotas", std::string("/api/v1/history?series=") + series)->status, 404)
        << series;
  EXPECT_EQ(prometheus.asked, "");
}

TEST_F(SharedConsoleTest, QuestionsToPrometheusAreBoundedForEachUser) {
  class SlowPrometheus final : public net::HttpTransport {
   public:
    Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest) override {
      auto pause = sleepFor(executor, 10s);
      co_await pause;
      co_return fail(ErrorCode::Timeout, "no answer");
    }
    std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
      return nullptr;
    }
  } prometheus;
  grant("nodes", kindOf(TableId::Nodes), "");
  open(&prometheus);
  std::vector<std::shared_ptr<net::FakeResponder>> running;
  const auto ask = [&] {
    running.push_back(
        send("nodes", "GET",
             fmt::format("/api/v1/history?series=cluster&seconds={}", 3600 * (running.size() + 2)),
             "", {}, 10ms));
    return running.back();
  };
  for (std::size_t i = 0; i < Console::kOlderOfAUser; ++i) EXPECT_EQ(ask()->status, 0);
  const auto refused = ask();
  EXPECT_EQ(refused->status, 200);
  EXPECT_TRUE(has(refused->body, R"("problem":"too many questions)")) << refused->body;
  loop_.advance(11s);
  EXPECT_TRUE(has(running.front()->body, "no answer")) << running.front()->body;
  EXPECT_EQ(ask()->status, 0);
}

TEST_F(SharedConsoleTest, ANodeHasThePartsThatTheUserMayGet) {
  cluster_.put(api::Node::kType, R"({"apiVersion":"v1","kind":"Node",
    "metadata":{"name":"n","labels":{"secret-label":"x"}}})");
  cluster_.put(api::NodeMetric::kType, R"({"apiVersion":"slo.koordinator.sh/v1alpha1",
    "kind":"NodeMetric","metadata":{"name":"n"},"spec":{},"status":{"podsMetric":[
      {"name":"mine","namespace":"a","podUsage":{"resources":{"cpu":"700m"}}},
      {"name":"other","namespace":"b","podUsage":{"resources":{"cpu":"700m"}}}]}})");
  putPod("a", "mine");
  grant("ann", kindOf(TableId::Metrics), "");
  grant("ann", kindOf(TableId::Pods), "a");
  grant("bob", kindOf(TableId::Nodes), "");
  open();
  const auto ann = get("ann", "/api/v1/node?name=n");
  EXPECT_TRUE(has(ann->body, "a/mine")) << ann->body;
  EXPECT_FALSE(has(ann->body, "other")) << ann->body;
  EXPECT_FALSE(has(ann->body, "secret-label")) << ann->body;
  const auto bob = get("bob", "/api/v1/node?name=n");
  EXPECT_TRUE(has(bob->body, "secret-label")) << bob->body;
  EXPECT_FALSE(has(bob->body, "usage")) << bob->body;
  EXPECT_EQ(get("bob", "/api/v1/node?name=none")->status, 404);
  EXPECT_EQ(get("eve", "/api/v1/node?name=none")->body, get("eve", "/api/v1/node?name=n")->body);
}

TEST_F(SharedConsoleTest, TheNameOfANodeMustBeOne) {
  grant("bob", kindOf(TableId::Nodes), "");
  open();
  for (const char* name : {"", ".", "..", "../pods", "a/proxy", "A%20b", "n%3Fwatch", "-n"}) {
    std::vector<std::string> reads;
    cluster_.failure = [&](const kube::Request& request) -> std::optional<Error> {
      if (request.resource == "nodes" && request.query.empty()) reads.push_back(request.name);
      return std::nullopt;
    };
    EXPECT_EQ(get("bob", std::string("/api/v1/node?name=") + name)->status, 400) << name;
    EXPECT_TRUE(reads.empty()) << "without a name it lists all nodes";
  }
}

TEST_F(SharedConsoleTest, ARepeatedQuestionAboutNamespacesCostsNoReviews) {
  putPod("a", "mine");
  putPod("b", "other");
  grant("ann", kindOf(TableId::Pods), "a");
  open();
  get("ann", "/api/v1/feed");
  int reviews = 0;
  cluster_.failure = [&](const kube::Request& request) -> std::optional<Error> {
    reviews += request.resource == "subjectaccessreviews";
    return std::nullopt;
  };
  for (const char* names : {"a", "b", "a,b", "none"})
    send("ann", "GET", std::string("/api/v1/history?series=x&namespaces=") + names, "", {}, 10ms);
  EXPECT_EQ(reviews, 0) << "all of them were asked about already";
}

TEST_F(SharedConsoleTest, ATokenThatIsRevokedShowsNothingAfter30SecondsAlsoIfItWasJustCached) {
  putPod("a", "mine");
  grant("ann", kindOf(TableId::Pods), "");
  bool revoked = false;
  const auto tokenAnswers = [&](const kube::Request& request) -> std::optional<Error> {
    if (request.resource == "tokenreviews" && revoked)
      return Error{ErrorCode::Unavailable, "connection refused", {}};
    return std::nullopt;
  };
  reviewing_.answer = [&](const kube::Request& request) -> std::optional<Result<std::string>> {
    if (request.resource != "tokenreviews") return std::nullopt;
    if (auto error = tokenAnswers(request)) return Result<std::string>(fail(*std::move(error)));
    return Result<std::string>(
        std::string(R"({"status":{"authenticated":true,"user":{"username":"ann","groups":[]}}})"));
  };
  open();
  const net::Headers token = {{"Authorization", "Bearer t"}};
  const auto feed = send("", "GET", "/api/v1/feed", "", token, 10ms);
  EXPECT_EQ(feed->status, 200);
  // Another request of the user keeps the answer about the token fresh until the stream is checked.
  loop_.advance(13s);
  send("", "GET", "/api/v1/history?series=x", "", token, 10ms);
  revoked = true;
  loop_.advance(1s);
  const auto late = send("", "GET", "/api/v1/feed", "", token, 10ms);
  EXPECT_EQ(late->status, 200) << "by the cached answer";
  loop_.advance(29s);
  for (const auto& stream : {feed, late}) stream->body.clear();
  putPod("a", "tardy");
  loop_.advance(1s);
  for (const auto& stream : {feed, late}) EXPECT_FALSE(has(stream->body, "tardy")) << stream->body;
}

TEST_F(SharedConsoleTest, SimulationsAreBoundedForEachUserAndInAll) {
  open();
  const net::Headers own = {{"X-Koordinator-Console", "1"}};
  std::vector<std::shared_ptr<net::FakeResponder>> running;
  const auto ask = [&](const std::string& user) {
    running.push_back(send(user, "POST", "/api/v1/simulate", "slow", own, 100ms));
    return running.back()->status;
  };
  for (std::size_t i = 0; i < Console::kSimulationsOfAUser; ++i) EXPECT_EQ(ask("ann"), 0);
  EXPECT_EQ(ask("ann"), 429);
  for (std::size_t i = Console::kSimulationsOfAUser; i < Console::kMostSimulations; ++i)
    EXPECT_EQ(ask("user-" + std::to_string(i)), 0);
  EXPECT_EQ(ask("bob"), 429);
  running.front()->closed();
  loop_.advance(100ms);
  EXPECT_EQ(ask("ann"), 0) << "a client that is gone leaves its place";
}

TEST_F(SharedConsoleTest, AnAccountWithManyTokensLeavesPlacesToOthers) {
  int token = 0;
  reviewing_.answer = [&](const kube::Request& request) -> std::optional<Result<std::string>> {
    if (request.resource != "tokenreviews") return std::nullopt;
    return Result<std::string>(fmt::format(
        R"({{"status":{{"authenticated":true,"user":{{"username":"robot","groups":[],
            "extra":{{"authentication.kubernetes.io/credential-id":["{}"]}}}}}}}})",
        ++token));
  };
  open();
  std::vector<std::shared_ptr<net::FakeResponder>> streams;
  for (std::size_t i = 0; i < Viewers::kMostOfAName + 1; ++i)
    streams.push_back(send("", "GET", "/api/v1/feed", "",
                           {{"Authorization", "Bearer " + std::to_string(i)}}, 10ms));
  EXPECT_EQ(streams[Viewers::kMostOfAName - 1]->status, 200);
  EXPECT_EQ(streams.back()->status, 429);
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 200);
}

TEST_F(SharedConsoleTest, StreamsAreBoundedInAll) {
  open();
  std::vector<std::shared_ptr<net::FakeResponder>> streams;
  for (std::size_t i = 0; i < Viewers::kMostInAll; ++i) {
    const auto user = "user-" + std::to_string(i / Viewers::kMostOfAUser);
    streams.push_back(send(user, "GET", "/api/v1/feed", "", {}, 1ms));
  }
  EXPECT_EQ(streams.back()->status, 200);
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 429);
  streams.back()->closed();
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 200);
}

TEST_F(SharedConsoleTest, QuestionsAreAskedInTheNameOfTheUser) {
  open();
  const net::Headers own = {{"X-Koordinator-Console", "1"}};
  const auto answer = send("ann", "POST", "/api/v1/simulate", "q", own);
  EXPECT_EQ(answer->body, "{\"asked\":\"q\",\"by\":\"ann\"}\n");
  EXPECT_EQ(send("ann", "POST", "/api/v1/simulate", "q")->status, 403) << "of a foreign page";
  EXPECT_EQ(send("", "POST", "/api/v1/simulate", "q", own)->status, 401);
  EXPECT_EQ(send("ann", "POST", "/api/v1/simulate", std::string(2 << 20, 'x'), own)->status, 413);
  const auto explained = get("ann", "/api/v1/explain?kind=pod&name=a/b");
  EXPECT_EQ(explained->status, 404);
  EXPECT_TRUE(has(explained->body, "koordctl explain")) << explained->body;
}

TEST_F(SharedConsoleTest, UsersAndTheirStreamsAreBounded) {
  open();
  std::vector<std::shared_ptr<net::FakeResponder>> streams;
  for (std::size_t i = 0; i < Viewers::kMostOfAUser; ++i)
    streams.push_back(get("ann", "/api/v1/feed"));
  EXPECT_EQ(streams.back()->status, 200);
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 429);
  streams.front()->closed();
  EXPECT_EQ(get("ann", "/api/v1/feed")->status, 200);
  for (std::size_t i = 0; i < 2 * Viewers::kMostUsers; ++i)
    EXPECT_EQ(send("user-" + std::to_string(i), "GET", "/api/v1/feed", "", {}, 100ms)->status,
              i + 1 < Viewers::kMostUsers ? 200 : 429);
}

TEST_F(SharedConsoleTest, NamespacesBeyondTheBoundAreAskedAboutIfTheUserNamesThem) {
  for (std::size_t i = 0; i < Rights::kMostNamespaces; ++i) {
    const std::string name = fmt::format("k-{:04}", i);
    addNamespace(name);
    putPod(name, "p");
  }
  addNamespace("z");
  putPod("z", "mine");
  grant("ann", kindOf(TableId::Pods), "z");
  open();
  const auto feed = get("ann", "/api/v1/feed");
  EXPECT_FALSE(has(feed->body, "mine"));
  loop_.advance(5s);
  const auto named = get("ann", "/api/v1/feed?namespaces=x,z");
  EXPECT_TRUE(has(named->body, R"(["z","mine")")) << named->body;
  EXPECT_TRUE(has(named->body, R"("bounded":true)")) << named->body;
}

// ---- Nothing that a user may not list ever appears in any byte sent to them. ----

namespace {

constexpr int kUsers = 4;
const char* const kPlaces[] = {"a", "b", "c", "d"};

class LeakTest : public SharedConsoleTest, public testing::WithParamInterface<int> {
 protected:
  struct Object {
    const KindOfTest* kind;
    std::string namespace_;
    std::string name;  // "m17x": no other text contains it
  };
  struct Stream {
    std::string user;
    std::shared_ptr<net::FakeResponder> responder;
    std::map<std::string, std::set<std::string>> rows;  // names by table, as a browser has them
  };

  static std::string userName(int i) { return "user-" + std::to_string(i); }
  bool mayNow(const std::string& user, const Object& object) const {
    return grants_.contains({user, object.kind->table, ""}) ||
           (!object.namespace_.empty() &&
            grants_.contains({user, object.kind->table, object.namespace_}));
  }
  // Whether the user could list it within the time that a view counts.
  bool couldLately(const std::string& user, const Object& object) const {
    if (mayNow(user, object)) return true;
    for (const std::string& place : {std::string(), object.namespace_}) {
      const auto revoked = revokedAt_.find({user, object.kind->table, place});
      if (revoked != revokedAt_.end() &&
          loop_.steadyNow() - revoked->second <= Rights::kViewLasts + 2s)
        return true;
    }
    return false;
  }
  // Every name in the text is of an object that the user may list, in one kind or another.
  void expectNoLeak(const std::string& user, const std::string& text) {
    static const std::regex kName("m[0-9]+x");
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
      bool allowed = false;
      for (const auto& object : ever_)
        allowed |= object.name == it->str() && couldLately(user, object);
      EXPECT_TRUE(allowed) << user << " may not list " << it->str() << " but receives " << text;
    }
    EXPECT_FALSE(has(text, "never")) << text;
  }
  void read(Stream& stream) {
    std::string text = std::exchange(stream.responder->body, {});
    expectNoLeak(stream.user, text);
    std::size_t at = 0;
    while ((at = text.find("data: ", at)) != std::string::npos) {
      const auto end = text.find('\n', at);
      const auto event = parseJson(text.substr(at + 6, end - at - 6));
      at = end;
      ASSERT_TRUE(event);
      if (!find(*event, "t")) continue;
      auto& rows = stream.rows[std::string(textAt(*event, "t"))];
      if (find(*event, "reset")) rows.clear();
      const bool named = !kindNamed(textAt(*event, "t")).type->namespaced;
      if (const auto* list = find(*event, "rows"))
        for (const auto& row : list->get_array())
          rows.insert(std::string(row.get_array().at(named ? 0 : 1).get_string()));
      if (const auto* list = find(*event, "gone"))
        for (const auto& key : list->get_array()) {
          const std::string name(key.get_string());
          rows.erase(name.substr(name.find('/') + 1));
        }
    }
  }
  static const KindOfTest& kindNamed(std::string_view name) {
    for (const auto& kind : kKindsOfTest)
      if (name == kind.name) return kind;
    ADD_FAILURE() << name;
    return kKindsOfTest[0];
  }
  void toggle(Random& random) {
    const std::string user = userName(random.below(kUsers));
    const auto& kind = kKindsOfTest[random.below(std::size(kKindsOfTest))];
    const bool wide = !kind.type->namespaced || random.below(3) == 0;
    const std::string place = wide ? "" : kPlaces[random.below(std::size(kPlaces))];
    const auto key = std::tuple(user, kind.table, place);
    if (grants_.erase(key) > 0) {
      revoke(user, kind, place);
      revokedAt_[key] = loop_.steadyNow();
    } else {
      grant(user, kind, place);
      grants_.insert(key);
    }
  }
  void add(Random& random) {
    const auto& kind = kKindsOfTest[random.below(std::size(kKindsOfTest))];
    Object object{&kind, kind.type->namespaced ? kPlaces[random.below(std::size(kPlaces))] : "",
                  fmt::format("m{}x", ever_.size())};
    if (kind.table == TableId::Pods) {
      putPod(object.namespace_, object.name);
    } else {
      cluster_.put(*kind.type, textOf(object));
    }
    objects_.push_back(object);
    ever_.push_back(object);
  }
  static std::string textOf(const Object& object) {
    const auto& type = *object.kind->type;
    std::string rest = R"("spec":{})";
    if (object.kind->table == TableId::Gangs) rest = R"("spec":{"minMember":1})";
    if (object.kind->table == TableId::Moves)
      rest = R"("spec":{"podRef":{"namespace":"a","name":"p"}})";
    if (object.kind->table == TableId::Reservations)
      rest = R"("spec":{"template":{},"owners":[{"object":{"kind":"Pod","name":"p"}}]})";
    if (object.kind->table == TableId::Metrics)
      rest = R"("spec":{},"status":{"updateTime":"2026-01-01T00:00:00Z",
        "nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}})";
    return fmt::format(
        R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}"{}}},{}}})",
        api::apiVersionOf(type), type.kind, object.name,
        object.namespace_.empty() ? "" : R"(,"namespace":")" + object.namespace_ + "\"", rest);
  }
  void removeOne(Random& random) {
    if (objects_.empty()) return;
    const std::size_t at = random.below(objects_.size());
    cluster_.remove(*objects_[at].kind->type, objects_[at].name, objects_[at].namespace_);
    objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // A question about an object that the user need not be allowed to see.
  void ask(Random& random) {
    if (ever_.empty()) return;
    const std::string user = userName(random.below(kUsers));
    const auto& object = ever_[random.below(ever_.size())];
    const std::string key =
        object.namespace_.empty() ? object.name : object.namespace_ + "/" + object.name;
    for (const std::string path :
         {"/api/v1/history?series=cluster", "/api/v1/node?name=", "/api/v1/history?series=quota/",
          "/api/v1/history?series=node/", "/api/v1/explain?kind=pod&name="}) {
      const auto answer = get(user, path == "/api/v1/history?series=cluster" ? path : path + key);
      // A refusal repeats the question.
      if (answer->status == 200) expectNoLeak(user, answer->body);
      const bool ofPods = has(answer->body, "Requested\"") || has(answer->body, "\"pending\"");
      const bool mayRead = couldLately(user, {&kindOf(TableId::Pods), "", ""});
      EXPECT_TRUE(!ofPods || mayRead) << answer->body;
    }
  }

  std::set<std::tuple<std::string, TableId, std::string>> grants_;
  std::map<std::tuple<std::string, TableId, std::string>, SteadyTime> revokedAt_;
  std::vector<Object> objects_, ever_;
};

}  // namespace

TEST_P(LeakTest, NothingThatAUserMayNotListIsInAnyByteSentToThem) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  addNamespace("c");
  addNamespace("d");
  for (int i = 0; i < 12; ++i) toggle(random);
  for (int i = 0; i < 30; ++i) add(random);
  open();
  std::vector<Stream> streams;
  for (int i = 0; i < kUsers; ++i)
    streams.push_back({userName(i), get(userName(i), "/api/v1/feed"), {}});
  for (int step = 0; step < 120; ++step) {
    const auto what = random.below(8);
    if (what < 3) add(random);
    if (what == 3) removeOne(random);
    if (what == 4 || what == 5) toggle(random);
    if (what == 6) ask(random);
    if (what == 7) {
      auto& stream = streams[random.below(streams.size())];
      if (stream.responder->closed) stream.responder->closed();
      stream = {stream.user, get(stream.user, "/api/v1/feed?since=00000000-9-9-9"), {}};
    }
    loop_.advance(std::chrono::milliseconds(random.below(6000)));
    for (auto& stream : streams) {
      if (stream.responder->ended)  // its longest time is over: the page opens another one
        stream = {stream.user, get(stream.user, "/api/v1/feed"), {}};
      read(stream);
    }
  }
  // In the end each has exactly what they may list, also what was refused at first.
  loop_.advance(Rights::kRefusalsLast + Rights::kViewLasts);
  std::size_t shown = 0;
  for (auto& stream : streams) {
    if (stream.responder->ended) stream = {stream.user, get(stream.user, "/api/v1/feed"), {}};
    read(stream);
    for (const auto& kind : kKindsOfTest) {
      std::set<std::string> expected;
      for (const auto& object : objects_)
        if (object.kind == &kind && mayNow(stream.user, object)) expected.insert(object.name);
      EXPECT_EQ(stream.rows[kind.name], expected) << stream.user << " " << kind.name;
      shown += expected.size();
    }
  }
  EXPECT_GT(shown, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeakTest, testing::Range(1, 13));

}  // namespace koord::console
