#include "kube/http_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/virtual_loop.h"
#include "kube/credentials.h"
#include "kube/request_lane.h"
#include "net/test_net.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using net::headerOf;
using net::Responder;
using net::ServerRequest;
using net::Signal;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr api::ResourceType kPods{"", "v1", "pods", "Pod", true};
constexpr api::ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

// Tokens of the test's making; a refused one is followed by the next.
class CountingTokens final : public CredentialSource {
 public:
  Task<Result<Credentials>> credentials(Executor&) override {
    Credentials given{"token-" + std::to_string(refusals), nullptr};
    co_return given;
  }
  void refused() override { ++refusals; }
  std::atomic<int> refusals = 0;
};

class HttpApiTest : public net::NetTest {
 protected:
  ~HttpApiTest() override {
    loop.runSync([this] {
      watch.reset();
      api.reset();
    });
  }

  void connect(net::HttpServer::Handler handler, ClientConfig config = {},
               HttpApiOptions options = {}) {
    const auto& certificates = net::TestCertificates::get();
    auto& server = serve({.tls = certificates.serverTls()}, std::move(handler));
    config.server = "https://" + server.address();
    if (!config.tls) config.tls = certificates.clientTls();
    loop.runSync([&] {
      api = std::make_unique<HttpApi>(*client, loop.loop(), std::move(config), std::move(options));
    });
  }
  Result<std::string> call(Request request) {
    return waitFor(spawn<Result<std::string>>([&] { return api->call(std::move(request)); }));
  }

  struct Watched {
    std::vector<std::string> events;
    Error end{ErrorCode::Unknown, "not closed"};
    Signal event, closed;
    WatchSink sink() {
      return {[this](std::string_view line) {
                events.emplace_back(line);
                event.raise();
              },
              [this](Error error) {
                end = std::move(error);
                closed.raise();
              }};
    }
  };
  void startWatch(WatchSink sink) {
    loop.runSync([&] { watch = api->watch(makeRequest(Verb::Watch, kPods), std::move(sink)); });
  }

  std::unique_ptr<HttpApi> api;
  std::unique_ptr<Watch> watch;
};

Responder::Bytes bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(HttpApiPathTest, PathsFollowTheApiConventions) {
  auto request = makeRequest(Verb::Get, kPods, {"ns", "p"});
  EXPECT_EQ(pathOf(request), "/api/v1/namespaces/ns/pods/p");
  request.subresource = "status";
  request.query = {{"fieldManager", "a b"}, {"dryRun", "All"}};
  EXPECT_EQ(pathOf(request), "/api/v1/namespaces/ns/pods/p/status?dryRun=All&fieldManager=a%20b");
  EXPECT_EQ(pathOf(makeRequest(Verb::List, kLeases)), "/apis/coordination.k8s.io/v1/leases");
  request = makeRequest(Verb::Watch, kLeases, {"ns", ""});
  request.query = {{"labelSelector", "a=b,c in (d)"}};
  EXPECT_EQ(pathOf(request),
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases?labelSelector="
            "a%3Db%2Cc%20in%20%28d%29&watch=true");
}

TEST(HttpApiRateLimitTest, RequestsBeyondTheBurstWaitForTheirTurn) {
  SteadyTime now{1h};
  RateLimit limit(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.reserve(now), 0ms);
  EXPECT_EQ(limit.reserve(now), 100ms);
  EXPECT_EQ(limit.reserve(now), 200ms);
  now += 250ms;
  EXPECT_EQ(limit.reserve(now), 50ms);
  now += 1h;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.reserve(now), 0ms);
  EXPECT_EQ(limit.reserve(now), 100ms);

  RateLimit off(0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(off.reserve(now), 0ms);
}

TEST_F(HttpApiTest, LeasesAndEventsDoNotWaitBehindOtherRequests) {
  const auto metrics = std::make_shared<Metrics>();
  connect([](ServerRequest,
             std::shared_ptr<Responder> responder) { responder->respond(200, {}, bytes("{}")); },
          {}, {.qps = 1, .burst = 1, .metrics = metrics});
  for (const char* resource : {"pods", "leases", "events"})
    EXPECT_TRUE(call(makeRequest(Verb::Get, {"", "v1", resource, "", true}, {"ns", "x"})));
  EXPECT_THAT(metrics->text({}),
              ContainsRegex("rest_client_rate_limiter_duration_seconds_sum\\{[^}]*\\} 0\n"));
}

TEST(RequestLaneTest, NoMoreThanItsPlacesAreTakenAndTheyGoToWhoeverWaitsLongest) {
  VirtualLoop loop;
  RequestLane lane(loop, RateLimit(0, 0), 2);
  std::vector<int> order;
  const auto visit = [](VirtualLoop& loop, RequestLane& lane, std::vector<int>& order,
                        int n) -> Task<void> {
    RequestLane::Place place(lane);
    co_await place;
    order.push_back(n);
    auto stay = sleepFor(loop, 1s);
    co_await stay;
  };
  auto gone = std::make_unique<TaskGroup>();
  TaskGroup tasks;
  tasks.spawn(visit(loop, lane, order, 1));
  tasks.spawn(visit(loop, lane, order, 2));
  gone->spawn(visit(loop, lane, order, 3));
  tasks.spawn(visit(loop, lane, order, 4));
  gone->spawn(visit(loop, lane, order, 5));
  tasks.spawn(visit(loop, lane, order, 6));
  EXPECT_THAT(order, ElementsAre(1, 2));
  gone.reset();  // those that give up leave no gap
  loop.advance(1s);
  EXPECT_THAT(order, ElementsAre(1, 2, 4, 6));
  loop.advance(1s);
  EXPECT_EQ(tasks.size(), 0u);
}

TEST_F(HttpApiTest, VerbsBecomeMethodsBodiesAndContentTypes) {
  connect([](ServerRequest request, std::shared_ptr<Responder> responder) {
    responder->respond(201, {},
                       request.method + " " + request.target + " " +
                           std::string(headerOf(request.headers, "Content-Type")) + " " +
                           request.body);
  });
  auto request = makeRequest(Verb::Create, kPods, {"ns", ""});
  request.body = "{}";
  EXPECT_EQ(call(request).value(), "POST /api/v1/namespaces/ns/pods application/json {}");
  request = makeRequest(Verb::Update, kPods, {"ns", "p"});
  request.body = "{}";
  EXPECT_EQ(call(request).value(), "PUT /api/v1/namespaces/ns/pods/p application/json {}");
  request.verb = Verb::Patch;
  const std::pair<PatchType, const char*> types[] = {
      {PatchType::Merge, "application/merge-patch+json"},
      {PatchType::Json, "application/json-patch+json"},
      {PatchType::Strategic, "application/strategic-merge-patch+json"},
      {PatchType::Apply, "application/apply-patch+yaml"}};
  for (const auto& [type, name] : types) {
    request.patchType = type;
    EXPECT_EQ(call(request).value(),
              std::string("PATCH /api/v1/namespaces/ns/pods/p ") + name + " {}");
  }
  request = makeRequest(Verb::Delete, kPods, {"ns", "p"});
  EXPECT_EQ(call(request).value(), "DELETE /api/v1/namespaces/ns/pods/p  ");
  request = makeRequest(Verb::DeleteCollection, kPods, {"ns", ""});
  EXPECT_EQ(call(request).value(), "DELETE /api/v1/namespaces/ns/pods  ");
}

TEST_F(HttpApiTest, NamesThatWouldLeadElsewhereAreNotSent) {
  std::atomic<int> asked = 0;
  connect([&](ServerRequest, std::shared_ptr<Responder> responder) {
    ++asked;
    responder->respond(200, {}, bytes("{}"));
  });
  for (const api::ObjectKey& key : std::vector<api::ObjectKey>{
           {"ns", ".."}, {"ns", "."}, {"..", "p"}, {"ns", "a/b"}, {"ns", "a%2Fb"}}) {
    const auto refused = call(makeRequest(Verb::Delete, kPods, key));
    ASSERT_FALSE(refused) << key.toString();
    EXPECT_EQ(refused.error().code, ErrorCode::BadRequest);
    EXPECT_THAT(refused.error().message, HasSubstr("may not"));
  }
  Watched watched;
  loop.runSync(
      [&] { watch = api->watch(makeRequest(Verb::Watch, kPods, {"..", ""}), watched.sink()); });
  watched.closed.wait();
  EXPECT_EQ(watched.end.code, ErrorCode::BadRequest);
  EXPECT_EQ(asked, 0);
}

TEST_F(HttpApiTest, HeadersSayWhoAsksAndAsWhom) {
  net::Headers seen;
  ClientConfig config{.basicUser = "me", .basicPassword = "pw"};
  config.impersonate = {"alice", "7", {"dev", "ops"}, {{"scopes/x", "view"}}};
  connect(
      [&](ServerRequest request, std::shared_ptr<Responder> responder) {
        seen = request.headers;
        responder->respond(200, {}, std::string());
      },
      config, {.userAgent = "koord-test/1"});
  ASSERT_TRUE(call(makeRequest(Verb::Get, kPods)));
  EXPECT_EQ(headerOf(seen, "User-Agent"), "koord-test/1");
  EXPECT_EQ(headerOf(seen, "Accept"), "application/json");
  EXPECT_EQ(headerOf(seen, "Authorization"), "Basic " + net::base64Encode("me:pw"));
  EXPECT_EQ(headerOf(seen, "Impersonate-User"), "alice");
  EXPECT_EQ(headerOf(seen, "Impersonate-Uid"), "7");
  EXPECT_EQ(headerOf(seen, "Impersonate-Extra-scopes%2Fx"), "view");
  EXPECT_EQ(std::ranges::count(seen, "Impersonate-Group", &net::Header::name), 2);
}

TEST_F(HttpApiTest, AStatusObjectBecomesTheError) {
  std::string body;
  int status = 0;
  net::Headers headers;
  connect([&](ServerRequest, std::shared_ptr<Responder> responder) {
    responder->respond(status, headers, body);
  });
  const auto failure = [&](int code, std::string text) {
    loop.runSync([&] {
      status = code;
      body = std::move(text);
    });
    auto reply = call(makeRequest(Verb::Get, kPods, {"ns", "p"}));
    EXPECT_FALSE(reply);
    return reply ? Error{} : reply.error();
  };
  auto error = failure(404, R"({"kind":"Status","status":"Failure","message":"pods \"p\" not found",
                                "reason":"NotFound","code":404})");
  EXPECT_EQ(error.code, ErrorCode::NotFound);
  EXPECT_EQ(error.message, "pods \"p\" not found");
  error = failure(409, R"({"kind":"Status","message":"exists","reason":"AlreadyExists"})");
  EXPECT_EQ(error.code, ErrorCode::AlreadyExists);
  error = failure(410, R"({"kind":"Status","message":"too old","reason":"Expired"})");
  EXPECT_EQ(error.code, ErrorCode::Gone);
  error = failure(429, R"({"kind":"Status","message":"budget","reason":"TooManyRequests",
                           "details":{"retryAfterSeconds":7}})");
  EXPECT_EQ(error.code, ErrorCode::TooManyRequests);
  EXPECT_EQ(error.retryAfter, 7s);
  error = failure(502, "<html>bad gateway</html>\n");
  EXPECT_EQ(error.code, ErrorCode::Internal);
  EXPECT_THAT(error.message, AllOf(HasSubstr("GET https://127.0.0.1:"),
                                   HasSubstr("/pods/p: HTTP "
                                             "status 502: <html>bad gateway</html>")));
}

TEST_F(HttpApiTest, ABusyServerIsAskedAgainWhenItSaysSo) {
  int calls = 0;
  connect(
      [&](ServerRequest request, std::shared_ptr<Responder> responder) {
        ++calls;
        const bool later = calls == 1 || request.target.ends_with("/always");
        responder->respond(later ? 429 : 200, {{later ? "Retry-After" : "X", "1"}},
                           std::string("done"));
      },
      {}, {.retries429 = 1});
  EXPECT_EQ(call(makeRequest(Verb::Get, kPods)).value(), "done");
  loop.runSync([&] {
    EXPECT_EQ(calls, 2);
    calls = 1;
  });
  const auto reply = call(makeRequest(Verb::Get, kPods, {"ns", "always"}));
  EXPECT_EQ(reply.error().code, ErrorCode::TooManyRequests);
  EXPECT_EQ(reply.error().retryAfter, 1s);
  loop.runSync([&] { EXPECT_EQ(calls, 3); });
}

TEST_F(HttpApiTest, AForbiddenEvictionIsNotRepeated) {
  int calls = 0;
  connect([&](ServerRequest, std::shared_ptr<Responder> responder) {
    ++calls;
    responder->respond(429, {{"Retry-After", "1"}}, std::string("budget"));
  });
  auto request = makeRequest(Verb::Create, kPods, {"ns", "p"});
  request.subresource = "eviction";
  EXPECT_EQ(call(request).error().code, ErrorCode::TooManyRequests);
  loop.runSync([&] { EXPECT_EQ(calls, 1); });
}

TEST_F(HttpApiTest, ARefusedTokenIsReplacedOnce) {
  std::vector<std::string> tokens;
  const auto source = std::make_shared<CountingTokens>();
  ClientConfig config;
  config.credentials = source;
  std::string good = "Bearer token-1";
  connect(
      [&](ServerRequest request, std::shared_ptr<Responder> responder) {
        tokens.emplace_back(headerOf(request.headers, "Authorization"));
        responder->respond(tokens.back() == good ? 200 : 401, {}, std::string());
      },
      config);
  EXPECT_TRUE(call(makeRequest(Verb::Get, kPods)));
  EXPECT_TRUE(call(makeRequest(Verb::Get, kPods)));
  loop.runSync([&] {
    EXPECT_THAT(tokens, ElementsAre("Bearer token-0", "Bearer token-1", "Bearer token-1"));
    good = "never";
  });
  EXPECT_EQ(call(makeRequest(Verb::Get, kPods)).error().code, ErrorCode::Unauthorized);
  loop.runSync([&] { EXPECT_EQ(tokens.size(), 5u); });
}

TEST_F(HttpApiTest, ACertificateFromTheCredentialsIsShown) {
  class Certificate final : public CredentialSource {
   public:
    Task<Result<Credentials>> credentials(Executor&) override {
      Credentials given{"", net::TestCertificates::get().clientTls(true)};
      co_return given;
    }
    void refused() override {}
  };
  ClientConfig config;
  config.credentials = std::make_shared<Certificate>();
  connect(
      [](ServerRequest request, std::shared_ptr<Responder> responder) {
        responder->respond(200, {}, request.peer ? request.peer->commonName : "nobody");
      },
      config);
  EXPECT_EQ(call(makeRequest(Verb::Get, kPods)).value(), "alice");
}

TEST_F(HttpApiTest, WatchEventsAreLinesHoweverTheyArrive) {
  std::shared_ptr<Responder> watcher;
  Signal begun;
  connect([&](ServerRequest request, std::shared_ptr<Responder> responder) {
    EXPECT_EQ(request.target, "/api/v1/pods?watch=true");
    watcher = std::move(responder);
    watcher->begin(200, {});
    begun.raise();
  });
  Watched watched;
  startWatch(watched.sink());
  ASSERT_TRUE(begun.wait());
  const std::string large(300'000, 'x');
  loop.runSync([&] { watcher->write(bytes("{\"a\":1}\n{\"b\":2}\n{\"c\"")); });
  ASSERT_TRUE(watched.event.wait(2));
  loop.runSync([&] {
    watcher->write(bytes(":3}\n\n"));
    watcher->write(bytes(large + "\n"));
    watcher->end();
    watcher.reset();
  });
  ASSERT_TRUE(watched.closed.wait());
  EXPECT_THAT(watched.events, ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}", large));
  EXPECT_EQ(watched.end.code, ErrorCode::Unknown);
  EXPECT_EQ(watched.end.message, "");
}

TEST_F(HttpApiTest, AWatchThatIsRefusedOrCutSaysWhy) {
  connect([](ServerRequest, std::shared_ptr<Responder> responder) {
    responder->respond(410, {},
                       std::string(R"({"kind":"Status","reason":"Expired","message":"old"})"));
  });
  Watched refused;
  startWatch(refused.sink());
  ASSERT_TRUE(refused.closed.wait());
  EXPECT_EQ(refused.end.code, ErrorCode::Gone);
  EXPECT_EQ(refused.end.message, "old");

  connect([](ServerRequest, std::shared_ptr<Responder> responder) {
    responder->begin(200, {});
    responder->write(bytes("{\"half"));
    responder->end();
  });
  Watched cut;
  startWatch(cut.sink());
  ASSERT_TRUE(cut.closed.wait());
  EXPECT_EQ(cut.end.code, ErrorCode::Unavailable);
  EXPECT_THAT(cut.events, testing::IsEmpty());
}

TEST_F(HttpApiTest, AWatchMayBeDestroyedByItsOwnCallbacks) {
  connect([](ServerRequest, std::shared_ptr<Responder> responder) {
    responder->begin(200, {});
    responder->write(bytes("1\n2\n3\n"));
    responder->onClosed([responder] {});
  });
  Signal first;
  int events = 0;
  startWatch({[&](std::string_view) {
                ++events;
                watch.reset();
                first.raise();
              },
              [](const Error&) { ADD_FAILURE() << "closed after the end"; }});
  ASSERT_TRUE(first.wait());
  loop.runSync([&] { EXPECT_EQ(events, 1); });

  connect([](ServerRequest, std::shared_ptr<Responder> responder) {
    responder->respond(500, {}, std::string("no"));
  });
  Signal closed;
  startWatch({[](std::string_view) {},
              [&](const Error&) {
                watch.reset();
                closed.raise();
              }});
  EXPECT_TRUE(closed.wait());
}

TEST_F(HttpApiTest, CredentialsThatCannotBeHadEndCallsAndWatches) {
  class Broken final : public CredentialSource {
   public:
    Task<Result<Credentials>> credentials(Executor&) override {
      co_return fail(ErrorCode::Unauthorized, "no luck");
    }
    void refused() override {}
  };
  ClientConfig config;
  config.credentials = std::make_shared<Broken>();
  connect([](ServerRequest, std::shared_ptr<Responder>) { ADD_FAILURE(); }, config);
  EXPECT_EQ(call(makeRequest(Verb::Get, kPods)).error().message, "no luck");
  Watched watched;
  startWatch(watched.sink());
  ASSERT_TRUE(watched.closed.wait());
  EXPECT_EQ(watched.end.message, "no luck");
}

// Certificates that end while both sides run: what replaces them is used without a restart.
class CertificateRotationTest : public HttpApiTest {
 protected:
  CertificateRotationTest() { std::filesystem::create_directories(folder); }
  ~CertificateRotationTest() override { std::filesystem::remove_all(folder); }

  static net::Validity valid(bool now) {
    const WallTime time = std::chrono::system_clock::now();
    return {time - 48h, now ? time + 24h : time - 24h};
  }
  net::ServerTls serverTls(bool now) const {
    const auto made =
        net::issueServerCert(certs.authority, {"server", {"127.0.0.1"}, valid(now)}).value();
    return {made.certPem, made.keyPem, certs.authority.certPem};
  }
  void writeClient(bool now) const {
    const auto made = net::issueClientCert(certs.authority, {"alice", {"dev"}, valid(now)}).value();
    std::ofstream(folder + "/tls.key") << made.keyPem;
    std::ofstream(folder + "/tls.crt") << made.certPem;
  }
  Result<std::string> get() { return call(makeRequest(Verb::Get, kPods, {"ns", "p"})); }

  const net::TestCertificates& certs = net::TestCertificates::get();
  const std::string folder = testing::TempDir() + "koord-rotation-" + net::randomToken(8);
};

TEST_F(CertificateRotationTest, AnExpiredServerCertificateIsRefusedUntilItIsReplaced) {
  connect([](ServerRequest, auto to) { to->respond(200, {}, std::string("{}")); });
  ASSERT_TRUE(get());
  ASSERT_TRUE(servers.back()->setTls(serverTls(false)));
  // A new client, as connections that are open stay so.
  loop.runSync([&] { client = std::make_unique<net::HttpClient>(); });
  auto& server = *servers.back();
  ClientConfig config{.server = "https://" + server.address(), .tls = certs.clientTls()};
  loop.runSync([&] { api = std::make_unique<HttpApi>(*client, loop.loop(), config); });
  const auto refused = get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("certificate has expired"));
  ASSERT_TRUE(server.setTls(serverTls(true)));
  EXPECT_TRUE(get());
}

TEST_F(CertificateRotationTest, AnExpiredClientCertificateIsReplacedByWhatIsInItsFile) {
  writeClient(false);
  ClientConfig config{.tls = certs.clientTls()};
  config.credentials =
      credentialsFromFiles({.cert = folder + "/tls.crt", .key = folder + "/tls.key"}, config.tls)
          .value();
  connect(
      [](ServerRequest request, auto to) {
        to->respond(request.peer ? 200 : 401, {},
                    request.peer ? request.peer->commonName : request.peerProblem);
      },
      config);
  const auto refused = get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unauthorized);
  writeClient(true);
  EXPECT_EQ(get().value(), "alice");
}

}  // namespace
}  // namespace koord::kube
