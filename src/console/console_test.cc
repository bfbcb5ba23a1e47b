#include "console/console.h"

#include <gtest/gtest.h>

#include "api/slo.h"
#include "apiserver/embedded_cluster.h"
#include "net/fake_responder.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

class ConsoleTest : public testing::Test {
 protected:
  void start(ConsoleOptions options = {}) {
    cluster_.install(std::string(KOORD_DEPLOY) + "/crds/slo.koordinator.sh_nodemetrics.yaml");
    console_ = std::make_unique<Console>(cluster_, loop_, std::move(options));
    console_->start();
    loop_.advance(500ms);
  }
  void putNode(const std::string& name) {
    cluster_.put(api::Node::kType,
                 R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("}})");
  }
  std::shared_ptr<net::FakeResponder> get(std::string target, net::Headers headers = {}) {
    return send("GET", std::move(target), "", std::move(headers));
  }
  std::shared_ptr<net::FakeResponder> send(std::string method, std::string target, std::string body,
                                           net::Headers headers = {}) {
    auto responder = std::make_shared<net::FakeResponder>();
    net::ServerRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.headers.push_back({"Host", "127.0.0.1:1"});
    console_->handle(std::move(request), responder);
    loop_.advance(500ms);
    return responder;
  }
  std::shared_ptr<net::FakeResponder> ask(std::string target) {
    return get(std::move(target), {{"Authorization", "Bearer " + console_->token()}});
  }
  std::shared_ptr<net::FakeResponder> simulate(std::string request) {
    return send("POST", "/api/v1/simulate", std::move(request),
                {{"Authorization", "Bearer " + console_->token()}});
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  std::unique_ptr<Console> console_;
};

std::string lastId(const std::string& events) {
  const auto begin = events.rfind("\nid: ");
  return begin == std::string::npos
             ? ""
             : events.substr(begin + 5, events.find('\n', begin + 1) - begin - 5);
}

}  // namespace

TEST_F(ConsoleTest, RequestsForDataNeedTheToken) {
  start();
  EXPECT_EQ(get("/api/v1/feed")->status, 401);
  EXPECT_EQ(get("/api/v1/feed", {{"Authorization", "Bearer x"}})->status, 401);
  EXPECT_EQ(get("/api/v1/history?series=cluster")->status, 401);
  EXPECT_EQ(get("/api")->status, 401);
  EXPECT_EQ(get("/%61pi/v1/feed")->status, 401);
  EXPECT_EQ(get("http://x/api/v1/history?series=cluster")->status, 401);
  EXPECT_EQ(get("//api/v1/feed")->status, 406) << "it is the page";
  EXPECT_EQ(ask("/api/v1/feed")->status, 200);
  EXPECT_EQ(ask("/api/v1/unknown")->status, 404);
}

TEST_F(ConsoleTest, AForeignHostNameIsRefused) {
  start();
  auto responder = std::make_shared<net::FakeResponder>();
  net::ServerRequest request;
  request.method = "GET";
  request.target = "/";
  request.headers = {{"Host", "evil.example:6480"}, {"Accept-Encoding", "gzip"}};
  console_->handle(std::move(request), responder);
  EXPECT_EQ(responder->status, 403);
}

TEST_F(ConsoleTest, ThePageForbidsInlineScriptsAndIsCached) {
  start();
  const auto page = get("/nodes/a", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(net::headerOf(page->headers, "Content-Encoding"), "gzip");
  const auto policy = net::headerOf(page->headers, "Content-Security-Policy");
  EXPECT_NE(policy.find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  const std::string tag(net::headerOf(page->headers, "ETag"));
  const auto again = get("/", {{"Accept-Encoding", "gzip"}, {"If-None-Match", tag}});
  EXPECT_EQ(again->status, 304);
  EXPECT_TRUE(again->body.empty());
  EXPECT_EQ(get("/")->status, 406);
}

TEST_F(ConsoleTest, TheFeedHasAllObjectsThenChanges) {
  putNode("n1");
  start();
  const auto feed = ask("/api/v1/feed");
  EXPECT_EQ(net::headerOf(feed->headers, "Content-Type"), "text/event-stream");
  EXPECT_NE(feed->body.find(R"({"t":"nodes","reset":true,"rows":[["n1")"), std::string::npos)
      << feed->body;
  EXPECT_NE(feed->body.find("event: synced"), std::string::npos) << feed->body;
  feed->body.clear();
  putNode("n2");
  cluster_.remove(api::Node::kType, "n1");
  loop_.advance(1s);
  EXPECT_NE(feed->body.find(R"(["n2")"), std::string::npos) << feed->body;
  EXPECT_NE(feed->body.find(R"("gone":["n1"])"), std::string::npos) << feed->body;
}

TEST_F(ConsoleTest, ABrowserThatComesBackReceivesOnlyWhatHasChanged) {
  putNode("n1");
  start();
  const auto first = ask("/api/v1/feed");
  const std::string id = lastId(first->body);
  ASSERT_FALSE(id.empty());
  first->closed();
  putNode("n2");
  loop_.advance(1s);
  const auto second = ask("/api/v1/feed?since=" + id);
  EXPECT_EQ(second->body.find("\"n1\""), std::string::npos) << second->body;
  EXPECT_NE(second->body.find("[\"n2\""), std::string::npos) << second->body;
  // Of another process: also the rows of tables that are empty now are forgotten.
  const auto foreign = ask("/api/v1/feed?since=0123abcd-5-5-5");
  EXPECT_NE(foreign->body.find(R"({"t":"pods","reset":true})"), std::string::npos) << foreign->body;
  EXPECT_NE(foreign->body.find("\"n1\""), std::string::npos) << foreign->body;
}

TEST_F(ConsoleTest, ABrowserThatDoesNotReadReceivesTheLatestStateLater) {
  putNode("n1");
  start();
  const auto feed = ask("/api/v1/feed");
  feed->queued = 10 << 20;
  feed->body.clear();
  for (int i = 0; i < 5; ++i) {
    cluster_.put(api::Node::kType, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
      "spec":{"unschedulable":)" + std::string(i % 2 ? "false" : "true") +
                                       "}}");
    loop_.advance(1s);
  }
  const auto sent = feed->body.size();
  EXPECT_LT(sent, 2000u);
  feed->queued = 0;
  feed->body.clear();
  loop_.advance(1s);
  EXPECT_NE(feed->body.find(R"(["n1",0,1)"), std::string::npos) << feed->body;
}

TEST_F(ConsoleTest, KindsThatMayNotBeListedAreReported) {
  cluster_.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource == "nodes") return Error{ErrorCode::Forbidden, "nodes is forbidden"};
    return std::nullopt;
  };
  start();
  const auto feed = ask("/api/v1/feed");
  EXPECT_NE(feed->body.find(R"("nodes":{"state":"forbidden","message":"nodes is forbidden"})"),
            std::string::npos)
      << feed->body;
  EXPECT_NE(feed->body.find(R"("quotas":{"state":"absent")"), std::string::npos) << feed->body;
  EXPECT_NE(feed->body.find("event: synced"), std::string::npos) << feed->body;
}

TEST_F(ConsoleTest, AUserOfOneNamespaceSeesItsPods) {
  cluster_.put(api::Namespace::kType,
               R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  cluster_.put(api::Pod::kType, R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"p","namespace":"team"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster_.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource == "pods" && request.namespace_.empty())
      return Error{ErrorCode::Forbidden, "pods is forbidden"};
    return std::nullopt;
  };
  start({.ownNamespace = "team"});
  const auto feed = ask("/api/v1/feed");
  EXPECT_NE(feed->body.find(R"(["team","p")"), std::string::npos) << feed->body;
  EXPECT_NE(feed->body.find(R"("state":"namespace")"), std::string::npos) << feed->body;
}

TEST_F(ConsoleTest, ASilentApiServerIsReportedWithTheReason) {
  start();
  const auto feed = ask("/api/v1/feed");
  cluster_.failure = [](const kube::Request&) -> std::optional<Error> {
    return Error{ErrorCode::Unavailable, "connection refused"};
  };
  feed->body.clear();
  loop_.advance(12s);
  EXPECT_NE(feed->body.find(R"("why":"connection refused")"), std::string::npos) << feed->body;
  cluster_.failure = nullptr;
  loop_.advance(6s);
  feed->body.clear();
  loop_.advance(6s);
  EXPECT_EQ(feed->body.find("silent"), std::string::npos) << feed->body;
}

namespace {

// Answers calls after half a minute, as a server that hangs does at the end of a client's patience.
class HangingApi final : public kube::Api {
 public:
  HangingApi(kube::Api& api, Executor& executor) : api_(api), executor_(executor) {}
  bool hangs = false;

  Task<Result<std::string>> call(kube::Request request) override {
    if (hangs) {
      auto pause = sleepFor(executor_, 30s);
      co_await pause;
      co_return fail(ErrorCode::Unavailable, "no answer within 30 s");
    }
    auto calling = api_.call(std::move(request));
    auto reply = co_await calling;
    co_return reply;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return api_.watch(std::move(request), std::move(sink));
  }

 private:
  kube::Api& api_;
  Executor& executor_;
};

}  // namespace

TEST_F(ConsoleTest, AnApiServerThatHangsIsSilentBeforeTheRequestEnds) {
  HangingApi api(cluster_, loop_);
  console_ = std::make_unique<Console>(api, loop_, ConsoleOptions{});
  console_->start();
  loop_.advance(6s);
  const auto feed = ask("/api/v1/feed");
  EXPECT_EQ(feed->body.find("silent"), std::string::npos) << feed->body;
  api.hangs = true;
  feed->body.clear();
  loop_.advance(16s);
  EXPECT_NE(feed->body.find(R"("why":"the last request is without an answer")"), std::string::npos)
      << feed->body;
  console_.reset();
}

TEST_F(ConsoleTest, HistoryBeginsAtTheStart) {
  putNode("n1");
  start();
  loop_.advance(40s);
  const auto answer = ask("/api/v1/history?series=cluster&seconds=600");
  EXPECT_EQ(answer->status, 200);
  const auto document = parseJson(answer->body);
  ASSERT_TRUE(document);
  EXPECT_EQ(find(*document, "times")->get_array().size(), 3u);
  EXPECT_EQ(ask("/api/v1/history?series=node/none")->status, 404);
}

TEST_F(ConsoleTest, ANodeHasDetailsAndAnUnknownOneHasNot) {
  cluster_.put(api::Node::kType, R"({"apiVersion":"v1","kind":"Node",
    "metadata":{"name":"n1","labels":{"a":"b"}},
    "spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})");
  start();
  const auto detail = ask("/api/v1/node?name=n1");
  EXPECT_NE(detail->body.find(R"("a":"b")"), std::string::npos) << detail->body;
  EXPECT_NE(detail->body.find("k:NoSchedule"), std::string::npos) << detail->body;
  EXPECT_EQ(ask("/api/v1/node?name=none")->status, 404);
}

TEST_F(ConsoleTest, APartOfANodeThatMayNotBeReadDoesNotHideTheOthers) {
  start();
  putNode("n1");
  cluster_.put(api::NodeMetric::kType, R"({"apiVersion":"slo.koordinator.sh/v1alpha1",
    "kind":"NodeMetric","metadata":{"name":"n1"},"spec":{},"status":{"podsMetric":[
      {"name":"p","namespace":"shop","podUsage":{"resources":{"cpu":"700m"}}}]}})");
  cluster_.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource == "nodes" && request.verb == kube::Verb::Get)
      return Error{ErrorCode::Forbidden, "cannot get nodes"};
    return std::nullopt;
  };
  const auto detail = ask("/api/v1/node?name=n1");
  EXPECT_EQ(detail->status, 200);
  EXPECT_NE(detail->body.find(R"("usage":{"shop/p":[700,0]})"), std::string::npos) << detail->body;
  EXPECT_EQ(detail->body.find("labels"), std::string::npos) << detail->body;
}

namespace {

Task<Result<std::string>> explainedAs(std::string text) {
  co_return text;
}

Task<Result<std::string>> notExplained(ErrorCode code) {
  co_return fail(code, "why");
}

}  // namespace

TEST_F(ConsoleTest, ExplanationsAreThoseOfTheOwner) {
  start({.explain = [](std::string kind, std::string name) {
    return explainedAs(kind + " of " + name);
  }});
  EXPECT_EQ(ask("/api/v1/explain?kind=pod&name=a/b")->body, "{\"text\":\"pod of a/b\"}\n");
}

TEST_F(ConsoleTest, AFailedExplanationHasItsReason) {
  start({.explain = [](std::string kind, std::string) {
    return notExplained(kind == "pod" ? ErrorCode::Unavailable : ErrorCode::Invalid);
  }});
  const auto failed = ask("/api/v1/explain?kind=pod&name=a/b");
  EXPECT_EQ(failed->status, 502);
  EXPECT_EQ(failed->body, "{\"message\":\"why\"}\n");
  EXPECT_EQ(ask("/api/v1/explain?kind=secret&name=a/b")->status, 400);
}

namespace {

Task<Result<json::value>> simulatedAs(std::string request) {
  if (request == "forbidden") co_return fail(ErrorCode::Forbidden, "no right");
  if (request == "bad") co_return fail(ErrorCode::BadRequest, "spec.objects[0].kind: is required");
  if (request == "large") co_return fail(ErrorCode::RequestEntityTooLarge, "too large");
  if (request == "many") co_return fail(ErrorCode::TooManyRequests, "too many");
  if (request == "slow") co_return fail(ErrorCode::Timeout, "too slow");
  if (request == "absent") co_return fail(ErrorCode::NotFound, "no koord-scheduler");
  if (request == "gone") co_return fail(ErrorCode::Unavailable, "connection refused");
  co_return json::value(json::object{{"status", json::object{{"placed", 1}}}});
}

}  // namespace

TEST_F(ConsoleTest, ASimulationNeedsTheTokenAndIsOnlyPosted) {
  int asked = 0;
  start({.simulate = [&asked](std::string request) {
    ++asked;
    return simulatedAs(std::move(request));
  }});
  EXPECT_EQ(send("POST", "/api/v1/simulate", "{}")->status, 401);
  EXPECT_EQ(ask("/api/v1/simulate")->status, 405);
  EXPECT_EQ(asked, 0);
  const auto answer = simulate("{}");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "{\"status\":{\"placed\":1}}\n");
  EXPECT_EQ(asked, 1);
}

TEST_F(ConsoleTest, AFailedSimulationHasTheStatusOfItsReason) {
  start({.simulate = simulatedAs});
  const auto status = [&](const char* request) { return simulate(request)->status; };
  EXPECT_EQ(status("bad"), 400);
  EXPECT_EQ(status("forbidden"), 403);
  EXPECT_EQ(status("absent"), 404);
  EXPECT_EQ(status("large"), 413);
  EXPECT_EQ(status("many"), 429);
  EXPECT_EQ(status("gone"), 502);
  EXPECT_EQ(status("slow"), 504);
}

namespace {

// Simulates without end, and counts the hours.
Task<Result<json::value>> simulatedForever(Executor* executor, std::shared_ptr<int> hours) {
  while (true) {
    auto pause = sleepFor(*executor, 1h);
    co_await pause;
    ++*hours;
  }
}

}  // namespace

TEST_F(ConsoleTest, ASimulationEndsWhenItsBrowserIsGone) {
  const auto hours = std::make_shared<int>(0);
  start({.simulate = [this, &hours](std::string) { return simulatedForever(&loop_, hours); }});
  const auto browser = simulate("{}");
  EXPECT_EQ(hours.use_count(), 2);
  browser->closed();
  loop_.advance(1s);
  EXPECT_EQ(hours.use_count(), 1);
  loop_.advance(2h);
  EXPECT_EQ(*hours, 0);
}

TEST_F(ConsoleTest, WithoutExplanationsAndSimulationThePageLearnsSo) {
  start();
  EXPECT_EQ(ask("/api/v1/explain?kind=pod&name=a/b")->status, 404);
  const auto feed = ask("/api/v1/feed");
  EXPECT_NE(feed->body.find(R"("explains":false,"simulates":false)"), std::string::npos)
      << feed->body;
}

}  // namespace koord::console
