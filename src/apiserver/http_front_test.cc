// Routes, authentication and streams, without sockets.

#include "apiserver/http_front.h"

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class FakeResponder final : public net::Responder {
 public:
  void respond(int code, net::Headers head, Bytes body) override {
    status = code;
    headers = std::move(head);
    text = *body;
    bytes = std::move(body);
    ended = true;
  }
  using Responder::respond;
  void begin(int code, net::Headers head) override {
    status = code;
    headers = std::move(head);
  }
  void write(Bytes chunk) override { text += *chunk; }
  void end() override { ended = true; }
  std::size_t queuedBytes() const override { return queued; }
  void abort() override { aborted = true; }
  void onClosed(Callback fn) override { closed = std::move(fn); }

  int status = 0;
  net::Headers headers;
  std::string text;
  Bytes bytes;  // of a whole answer
  std::size_t queued = 0;
  bool ended = false;
  bool aborted = false;
  Callback closed;
};

class HttpFrontTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    HttpFrontOptions listen;
    listen.listen = "127.0.0.1:0";
    listen.tokens["secret"] = User{"alice", "", {"dev"}};
    listen.watchBacklogBytes = 1000;
    auto started = HttpFront::start(*server, std::move(listen));
    ASSERT_TRUE(started) << started.error().message;
    front = *std::move(started);
  }

  std::shared_ptr<FakeResponder> send(const std::string& method, const std::string& target,
                                      std::string body = "", net::Headers headers = {},
                                      bool authorized = true) {
    net::ServerRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers = std::move(headers);
    if (authorized) request.headers.push_back({"Authorization", "Bearer secret"});
    auto responder = std::make_shared<FakeResponder>();
    front->handle(std::move(request), responder);
    loop.runReady();
    return responder;
  }

  std::unique_ptr<HttpFront> front;
};

TEST_F(HttpFrontTest, whoIsImpersonatedMustBeText) {
  for (const char* header :
       {"Impersonate-User", "Impersonate-Group", "Impersonate-Extra-a", "Impersonate-Uid"}) {
    const auto refused =
        send("GET", "/api/v1/pods", "", {{"Impersonate-User", "u"}, {header, "\xff\xfe"}});
    EXPECT_EQ(refused->status, 400) << header;
    EXPECT_TRUE(parseJson(refused->text)) << header;
  }
  EXPECT_EQ(
      send("GET", "/api/v1/pods", "", {{"Impersonate-User", "u"}, {"Impersonate-Extra-%ff", "x"}})
          ->status,
      400);
  EXPECT_EQ(send("GET", "/api/v1/pods", "", {{"Impersonate-User", "\u00fc"}})->status, 200);
}

TEST_F(HttpFrontTest, everyRequestOfResourcesIsAuditedOnce) {
  std::vector<json::value> events;
  HttpFrontOptions listen;
  listen.listen = "127.0.0.1:0";
  listen.tokens["secret"] = User{"alice", "", {"dev"}};
  listen.audit = [&](const AuditEvent& event) {
    events.push_back(*parseJson(auditText(event, "id")));
  };
  front = *HttpFront::start(*server, std::move(listen));
  send("GET", "/healthz");
  EXPECT_TRUE(events.empty());
  send("GET", "/api/v1/namespaces/default/pods/web", "", {{"User-Agent", "kubectl/v1.32.0"}});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(textAt(events[0], "verb"), "get");
  EXPECT_EQ(textAt(events[0], "user", "username"), "alice");
  EXPECT_EQ(textAt(events[0], "userAgent"), "kubectl/v1.32.0");
  EXPECT_EQ(textAt(events[0], "stage"), "ResponseComplete");
  EXPECT_EQ(textAt(events[0], "objectRef", "name"), "web");
  EXPECT_EQ(events[0].at("responseStatus").at("code"), 404);
  EXPECT_EQ(textAt(events[0], "responseStatus", "reason"), "NotFound");
  send("GET", "/apis", "", {}, false);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].at("responseStatus").at("code"), 401);
  // The audit event of a watch is written when its connection is closed.
  const auto watching = send("GET", "/api/v1/pods?watch=true");
  EXPECT_EQ(events.size(), 2u);
  watching->closed();
  loop.runReady();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(textAt(events[2], "verb"), "watch");
  EXPECT_EQ(events[2].at("responseStatus").at("code"), 200);
}

TEST_F(HttpFrontTest, onlyKnownPeopleGetIn) {
  for (const auto* path : {"/api/v1/pods", "/apis", "/metrics", "/openapi/v2"}) {
    const auto refused = send("GET", path, "", {}, false);
    EXPECT_EQ(refused->status, 401) << path;
    EXPECT_THAT(refused->text, HasSubstr(R"("reason":"Unauthorized")"));
  }
  EXPECT_EQ(send("GET", "/api/v1/pods", "", {{"Authorization", "Bearer wrong"}}, false)->status,
            401);
  for (const auto* path : {"/healthz", "/livez", "/readyz", "/version"})
    EXPECT_EQ(send("GET", path, "", {}, false)->status, 200) << path;
  EXPECT_EQ(send("GET", "/api/v1/pods")->status, 200);
  EXPECT_EQ(send("GET", "/api/v1/pods")->text,
            R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                std::to_string(server->store().version()) + R"("},"items":[]})");
}

TEST_F(HttpFrontTest, pathsLeadToTheirObjects) {
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/pods", pod("web"))->status, 201);
  EXPECT_EQ(send("GET", "/api/v1/namespaces/default/pods/web")->status, 200);
  EXPECT_EQ(send("GET", "/api/v1/namespaces/default")->status, 200);
  EXPECT_EQ(send("GET", "/api/v1/namespaces/default/status")->status, 200);
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/pods/other", pod("other"))->status, 405);
  EXPECT_EQ(send("PUT", "/api/v1/pods")->status, 405);
  EXPECT_EQ(send("PATCH", "/api/v1/namespaces/default/pods", "{}",
                 {{"Content-Type", "application/merge-patch+json"}})
                ->status,
            405);
  EXPECT_EQ(send("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                 R"({"metadata":{"generateName":"x"}})")
                ->status,
            405);
  // Namespaces cannot be deleted as a collection.
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces")->status, 405);
  EXPECT_EQ(send("GET", "/nothing")->status, 404);
  EXPECT_EQ(send("GET", "/apis/nothing/v1")->status, 404);
  EXPECT_EQ(send("BREW", "/api/v1/pods")->status, 405);
}

TEST_F(HttpFrontTest, bodiesMayBeYaml) {
  const auto made =
      send("POST", "/api/v1/namespaces/default/configmaps", "metadata:\n  name: c\ndata: {a: b}\n",
           {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(made->status, 201) << made->text;
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/configmaps", "x",
                 {{"Content-Type", "application/cbor"}})
                ->status,
            415);
  EXPECT_EQ(send("PATCH", "/api/v1/namespaces/default/configmaps/c", "{}",
                 {{"Content-Type", "text/plain"}})
                ->status,
            415);
}

TEST_F(HttpFrontTest, warningsBecomeHeaders) {
  const auto made = send("POST", "/api/v1/namespaces/default/configmaps",
                         R"({"metadata":{"name":"c"},"daata":{}})");
  EXPECT_EQ(net::headerOf(made->headers, "Warning"), R"(299 - "unknown field \"daata\"")");
}

TEST_F(HttpFrontTest, discoveryNamesEveryResource) {
  EXPECT_THAT(send("GET", "/api")->text, HasSubstr(R"("versions":["v1"])"));
  EXPECT_THAT(send("GET", "/apis")->text,
              HasSubstr(R"({"groupVersion":"apps/v1","version":"v1"})"));
  const auto core = parseJson(send("GET", "/api/v1")->text);
  std::set<std::string> names;
  for (const auto& resource : core->at("resources").get_array())
    names.emplace(textAt(resource, "name"));
  for (const auto* name : {"pods", "pods/status", "pods/binding", "pods/eviction", "nodes",
                           "bindings", "namespaces/finalize"})
    EXPECT_TRUE(names.contains(name)) << name;
  const auto aggregated = send(
      "GET", "/apis", "",
      {{"Accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}});
  EXPECT_THAT(aggregated->text,
              HasSubstr(R"("kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2")"));
  EXPECT_THAT(net::headerOf(aggregated->headers, "Content-Type"),
              HasSubstr("as=APIGroupDiscoveryList"));
  const auto other = send("GET", "/apis", "",
                          {{"Accept",
                            "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,"
                            "application/json"}});
  EXPECT_THAT(other->text, HasSubstr(R"("kind":"APIGroupList")"));
}

TEST_F(HttpFrontTest, aWatchIsAStreamOfLines) {
  const auto stream = send("GET", "/api/v1/namespaces/default/pods?watch=1");
  EXPECT_EQ(stream->status, 200);
  EXPECT_FALSE(stream->ended);
  send("POST", "/api/v1/namespaces/default/pods", pod("web"));
  EXPECT_TRUE(stream->text.starts_with(
      R"({"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":")"));
  EXPECT_TRUE(stream->text.ends_with("}\n"));
  stream->closed();
  loop.runReady();
  EXPECT_EQ(server->store().table("pods").watcherCount(), 0u);
}

TEST_F(HttpFrontTest, aWatcherThatDoesNotReadIsCutOff) {
  const auto slow = send("GET", "/api/v1/pods?watch=1");
  const auto quick = send("GET", "/api/v1/pods?watch=1");
  slow->queued = 2000;
  send("POST", "/api/v1/namespaces/default/pods", pod("web"));
  EXPECT_TRUE(slow->aborted);
  EXPECT_FALSE(quick->aborted);
  EXPECT_THAT(quick->text, HasSubstr("ADDED"));
  EXPECT_EQ(slow->text, "");
}

Task<std::optional<std::string>> nextPiece(int* pieces) {
  if (++*pieces > 3) co_return std::nullopt;
  co_return "piece " + std::to_string(*pieces) + "\n";
}

Task<Result<PodLog>> logInPieces(int* pieces, std::string pod, bool follow) {
  PodLog log{"log of " + pod + "\n", {}};
  if (follow) log.more = [pieces] { return nextPiece(pieces); };
  co_return log;
}

TEST_F(HttpFrontTest, aLogThatIsFollowedComesInPiecesAsItsReaderTakesThem) {
  int pieces = 0;
  HttpFrontOptions listen;
  listen.listen = "127.0.0.1:0";
  listen.tokens["secret"] = User{"alice", "", {"dev"}};
  listen.podLogs = [&](std::string, std::string name, api::StringMap query) {
    return logInPieces(&pieces, std::move(name), query.contains("follow"));
  };
  front = *HttpFront::start(*server, std::move(listen));
  send("POST", "/api/v1/namespaces/default/pods", pod("web"));
  const std::string path = "/api/v1/namespaces/default/pods/web/log";
  const auto whole = send("GET", path);
  EXPECT_EQ(whole->text, "log of web\n");
  EXPECT_TRUE(whole->ended);
  const auto followed = send("GET", path + "?follow=true");
  EXPECT_EQ(followed->text, "log of web\npiece 1\npiece 2\npiece 3\n");
  EXPECT_TRUE(followed->ended);

  pieces = 0;
  net::ServerRequest request;
  request.method = "GET";
  request.target = path + "?follow=true";
  request.headers.push_back({"Authorization", "Bearer secret"});
  const auto slow = std::make_shared<FakeResponder>();
  slow->queued = 100 << 20;
  front->handle(std::move(request), slow);
  loop.advance(std::chrono::seconds(10));
  EXPECT_EQ(slow->text, "log of web\n");
  slow->queued = 0;
  loop.advance(std::chrono::seconds(1));
  EXPECT_TRUE(slow->ended);
}

TEST_F(HttpFrontTest, whatIsServedIsDescribedAnewWhenItChanges) {
  const auto bodyOf = [&](const char* path) { return send("GET", path)->bytes; };
  for (const char* path : {"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/apis"}) {
    const auto before = bodyOf(path);
    EXPECT_EQ(bodyOf(path), before) << "the same bytes";
  }
  const auto before = bodyOf("/apis");
  EXPECT_EQ(send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                 R"({"metadata":{"name":"as.b.c"},"spec":{"group":"b.c","scope":"Cluster",
                     "names":{"plural":"as","kind":"A"},
                     "versions":[{"name":"v1","served":true,"storage":true}]}})")
                ->status,
            201);
  EXPECT_NE(bodyOf("/apis"), before);
  EXPECT_THAT(*bodyOf("/apis"), HasSubstr("b.c/v1"));
  EXPECT_EQ(send("GET", "/apis/c.d/v1")->status, 404);
}

TEST_F(HttpFrontTest, openApiDescribesWhatIsServed) {
  const auto v2 = parseJson(send("GET", "/openapi/v2")->text);
  ASSERT_TRUE(v2);
  EXPECT_EQ(textAt(*at(*v2, "definitions", "io.k8s.api.core.v1.Pod", "properties", "spec"), "$ref"),
            "#/definitions/io.k8s.types.PodSpec");
  const auto index = parseJson(send("GET", "/openapi/v3")->text);
  EXPECT_TRUE(textAt(*index, "paths", "apis/apps/v1", "serverRelativeURL")
                  .starts_with("/openapi/v3/apis/apps/v1?hash="));
  const auto v3 = parseJson(send("GET", "/openapi/v3/apis/apps/v1")->text);
  EXPECT_NE(at(*v3, "components", "schemas", "io.k8s.api.apps.v1.Deployment"), nullptr);
  EXPECT_NE(at(*v3, "paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch"),
            nullptr);
}

}  // namespace
}  // namespace koord::apiserver::testing
