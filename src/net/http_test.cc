#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "net/test_net.h"
#include "net/url.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

using Sent = std::shared_ptr<Responder>;

void echo(ServerRequest request, Sent responder) {
  responder->respond(200, {{"Content-Type", "text/plain"}, {"X-Target", request.target}},
                     request.method + " " + request.body);
}

ServerOptions withTls() {
  return {.tls = TestCertificates::get().serverTls()};
}

class HttpTest : public NetTest {
 protected:
  static HttpRequest to(const HttpServer& server, std::string target = "/") {
    HttpRequest request;
    request.url = "http://" + server.address() + target;
    return request;
  }
  static HttpRequest tlsTo(const HttpServer& server, std::string target = "/") {
    HttpRequest request;
    request.url = "https://" + server.address() + target;
    request.tls = TestCertificates::get().clientTls();
    return request;
  }
};

TEST_F(HttpTest, RequestsAndAnswersCarryMethodTargetHeadersAndBody) {
  auto& server = serve(withTls(), [](ServerRequest request, Sent responder) {
    EXPECT_EQ(headerOf(request.headers, "x-asked"), "yes");
    EXPECT_TRUE(request.tls);
    EXPECT_EQ(request.peer, nullptr);
    EXPECT_THAT(request.remote, HasSubstr("127.0.0.1:"));
    echo(std::move(request), std::move(responder));
  });
  auto request = tlsTo(server, "/a/b?c=d%20e");
  request.method = "PATCH";
  request.headers = {{"X-Asked", "yes"}, {"X-Empty", ""}};
  request.body = "hello";
  const auto reply = fetch(std::move(request));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "PATCH hello");
  EXPECT_EQ(headerOf(reply->headers, "X-Target"), "/a/b?c=d%20e");
  EXPECT_FALSE(headerOf(reply->headers, "Date").empty());
}

TEST_F(HttpTest, EveryMethodArrivesWithItsBody) {
  auto& server = serve({}, echo);
  for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    for (const std::string body : {"", "data"}) {
      auto request = to(server);
      request.method = method;
      request.body = body;
      const auto reply = fetch(std::move(request));
      ASSERT_TRUE(reply) << reply.error().message;
      EXPECT_EQ(reply->body, method + " " + body);
    }
  }
}

TEST_F(HttpTest, HeadTellsTheLengthButSendsNoBody) {
  auto& server = serve(
      {}, [](ServerRequest, Sent responder) { responder->respond(200, {}, std::string("12345")); });
  auto request = to(server);
  request.method = "HEAD";
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(headerOf(reply->headers, "Content-Length"), "5");
  EXPECT_EQ(reply->body, "");
  EXPECT_TRUE(fetch(request));  // and the connection is still in step
}

TEST_F(HttpTest, AnyStatusIsAnAnswer) {
  auto& server = serve({}, [](ServerRequest request, Sent responder) {
    responder->respond(std::stoi(request.target.substr(1)), {}, std::string("why"));
  });
  for (const int status : {200, 201, 204, 301, 304, 401, 404, 409, 500, 503}) {
    const auto reply = fetch(to(server, "/" + std::to_string(status)));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, status);
    EXPECT_EQ(reply->body, status == 204 || status == 304 ? "" : "why");
  }
}

TEST_F(HttpTest, ABodyOfMegabytesGoesBothWays) {
  for (const bool tls : {false, true}) {
    auto options = tls ? withTls() : ServerOptions{};
    options.maxBodyBytes = 32 << 20;
    auto& server = serve(options, [](ServerRequest request, Sent responder) {
      responder->respond(200, {}, std::move(request.body));
    });
    auto request = tls ? tlsTo(server) : to(server);
    request.method = "POST";
    request.body.resize(20 << 20);
    for (std::size_t i = 0; i < request.body.size(); ++i) {
      request.body[i] = static_cast<char>(i * 31 >> 7);
    }
    const auto sent = request.body;
    const auto reply = fetch(std::move(request));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(reply->body == sent);
  }
}

TEST_F(HttpTest, ConnectionsAreReusedByRequestsOneAfterTheOther) {
  std::set<std::string> remotes;
  auto& server = serve(withTls(), [&](ServerRequest request, Sent responder) {
    remotes.insert(request.remote);
    responder->respond(200, {}, std::string("ok"));
  });
  const auto request = tlsTo(server);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(fetch(request));
  loop.runSync([&] { EXPECT_EQ(remotes.size(), 1u); });
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(HttpTest, ManyConcurrentRequestsGetTheirOwnAnswers) {
  auto options = withTls();
  options.threads = 2;
  auto& server = serve(options, echo);
  std::vector<std::future<Result<HttpResponse>>> replies;
  for (int i = 0; i < 300; ++i) {
    auto request = tlsTo(server);
    request.method = "POST";
    request.body = std::to_string(i);
    replies.push_back(fetchLater(std::move(request)));
  }
  for (int i = 0; i < 300; ++i) {
    const auto reply = waitFor(std::move(replies[static_cast<std::size_t>(i)]));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body, "POST " + std::to_string(i));
  }
}

TEST_F(HttpTest, ConcurrentRequestsDoNotWaitForEachOther) {
  std::vector<Sent> waiting;
  auto& server = serve(withTls(), [&](ServerRequest, Sent responder) {
    waiting.push_back(std::move(responder));
    if (waiting.size() < 3) return;
    for (std::size_t i = 3; i-- > 0;) waiting[i]->respond(200, {}, std::to_string(i));
    waiting.clear();
  });
  std::vector<std::future<Result<HttpResponse>>> replies;
  for (int i = 0; i < 3; ++i) replies.push_back(fetchLater(tlsTo(server)));
  std::set<std::string> bodies;
  for (auto& reply : replies) bodies.insert(waitFor(std::move(reply)).value().body);
  EXPECT_EQ(bodies, (std::set<std::string>{"0", "1", "2"}));
}

TEST_F(HttpTest, AClientCertificateTellsTheHandlerWhoItIs) {
  auto& server = serve(withTls(), [](ServerRequest request, Sent responder) {
    if (!request.peer) return responder->respond(401, {}, std::string("who?"));
    std::string who = request.peer->commonName;
    for (const auto& group : request.peer->organizations) who += "," + group;
    responder->respond(200, {}, who);
  });
  auto request = tlsTo(server);
  EXPECT_EQ(fetch(request).value().status, 401);
  request.tls = TestCertificates::get().clientTls(true);
  EXPECT_EQ(fetch(request).value().body, "alice,dev,ops");
}

TEST_F(HttpTest, AClientCertificateThatIsNoGoodReachesTheHandlerAsAProblem) {
  auto& server = serve(withTls(), [](ServerRequest request, Sent responder) {
    responder->respond(request.peer ? 200 : 401, {}, request.peerProblem);
  });
  const auto& certificates = TestCertificates::get();
  const WallTime now = std::chrono::system_clock::now();
  const Validity past{now - std::chrono::hours(48), now - std::chrono::hours(24)};
  const Validity valid{now - std::chrono::hours(1), now + std::chrono::hours(1)};
  const struct {
    CertKey shown;
    const char* problem;
  } cases[] = {
      {TestCertificates::make("other-ca").client, "unable to get local issuer certificate"},
      {issueClientCert(certificates.authority, {"alice", {}, past}).value(), "has expired"},
      {issueServerCert(certificates.authority, {"alice", {"localhost"}, valid}).value(),
       "certificate purpose"},
  };
  for (const auto& test : cases) {
    auto request = tlsTo(server);
    TlsConfig tls{.caPem = certificates.authority.certPem,
                  .certPem = test.shown.certPem,
                  .keyPem = test.shown.keyPem};
    request.tls = std::make_shared<TlsConfig>(tls);
    const auto reply = fetch(request);
    ASSERT_TRUE(reply) << test.problem << ": " << reply.error().message;
    EXPECT_EQ(reply->status, 401) << test.problem;
    EXPECT_THAT(reply->body, HasSubstr(test.problem));
  }
}

TEST_F(HttpTest, AServerThatIsNotTrustedFailsWithTheReason) {
  auto& server = serve(withTls(), echo);
  auto request = tlsTo(server);
  request.tls = TestCertificates::make("other-ca").clientTls();
  auto reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(reply.error().message, AllOf(HasSubstr("connect to https://127.0.0.1:"),
                                           HasSubstr("the server's certificate is not accepted: "),
                                           HasSubstr("unable to get local issuer certificate")));

  TlsConfig tls = *TestCertificates::get().clientTls();
  tls.serverName = "elsewhere.test";
  request.tls = std::make_shared<TlsConfig>(tls);
  reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("matches target host name 'elsewhere.test'"));

  tls = {.insecureSkipVerify = true};
  request.tls = std::make_shared<TlsConfig>(tls);
  EXPECT_TRUE(fetch(request));
}

TEST_F(HttpTest, TheServerNameCanDifferFromTheAddress) {
  auto& server = serve(withTls(), [](ServerRequest request, Sent responder) {
    responder->respond(200, {}, std::string(headerOf(request.headers, "Host")) + request.target);
  });
  auto request = tlsTo(server, "/x?y=z");
  TlsConfig tls = *request.tls;
  tls.serverName = "localhost";
  request.tls = std::make_shared<TlsConfig>(tls);
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, server.address() + "/x?y=z");
}

TEST_F(HttpTest, SettingsThatCannotBeUsedAreInvalid) {
  auto& server = serve(withTls(), echo);
  auto request = tlsTo(server);
  request.tls = std::make_shared<TlsConfig>(TlsConfig{.caPem = "nonsense"});
  auto reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Invalid) << reply.error().message;
  EXPECT_THAT(reply.error().message, HasSubstr("certificate authority data"));

  TlsConfig tls = *TestCertificates::get().clientTls(true);
  tls.keyPem = TestCertificates::get().server.keyPem;
  request.tls = std::make_shared<TlsConfig>(tls);
  reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Invalid) << reply.error().message;
  EXPECT_THAT(reply.error().message, HasSubstr("client certificate or key"));
}

TEST_F(HttpTest, NewServerCertificatesAreUsedForNewConnections) {
  auto& server = serve(withTls(), echo);
  ASSERT_TRUE(fetch(tlsTo(server)));
  const auto others = TestCertificates::make("other-ca");
  EXPECT_FALSE(server.setTls({others.server.certPem, others.client.keyPem, ""}));
  ASSERT_TRUE(server.setTls(*others.serverTls()));
  auto request = tlsTo(server);
  EXPECT_TRUE(fetch(request));  // on the old connection
  request.tls = others.clientTls();
  EXPECT_TRUE(fetch(request));
}

TEST_F(HttpTest, ErrorsSayWhatCouldNotBeReachedAndWhy) {
  auto& server = serve({}, echo);
  const auto address = server.address();
  auto request = to(server);
  stop(server);
  auto reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(reply.error().message, "connect to http://" + address + ": connection refused");

  request.url = "http://no-such-host.invalid/";
  reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(reply.error().message,
              HasSubstr("connect to http://no-such-host.invalid:80: the host name cannot be"));

  request.url = "127.0.0.1:80";
  EXPECT_EQ(fetch(request).error().code, ErrorCode::BadRequest);
  request.url = "http://" + address;
  request.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(fetch(request).error().code, ErrorCode::BadRequest);
}

TEST_F(HttpTest, ARequestWithoutAnswerTimesOut) {
  std::vector<Sent> kept;
  auto& server = serve({}, [&](ServerRequest, Sent responder) { kept.push_back(responder); });
  auto request = to(server);
  request.timeout = 50ms;
  const auto reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Timeout);
  EXPECT_THAT(reply.error().message, HasSubstr("no complete response within 50ms"));
  loop.runSync([&] { kept.clear(); });
}

TEST_F(HttpTest, AnAnswerThatIsTooLongIsRefused) {
  auto& server = serve({}, [](ServerRequest, Sent responder) {
    responder->respond(200, {}, std::string(1000, 'x'));
  });
  auto request = to(server);
  request.maxResponseBytes = 999;
  EXPECT_EQ(fetch(request).error().code, ErrorCode::RequestEntityTooLarge);
  request.maxResponseBytes = 1000;
  EXPECT_TRUE(fetch(request));
}

TEST_F(HttpTest, DestroyingTheTaskCancelsTheRequest) {
  Signal arrived, closed;
  Sent kept;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    kept = responder;
    kept->begin(200, {});  // from here on the server watches for a disconnect
    kept->onClosed([&] { closed.raise(); });
    arrived.raise();
  });
  fetchLater(to(server));
  ASSERT_TRUE(arrived.wait());
  loop.runSync([&] { group = std::make_unique<TaskGroup>(); });
  EXPECT_TRUE(closed.wait());
  loop.runSync([&] { kept.reset(); });
}

TEST_F(HttpTest, DestroyingTheClientEndsFetchesAsCancelled) {
  Signal arrived;
  std::vector<Sent> kept;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    kept.push_back(responder);
    arrived.raise();
  });
  auto reply = fetchLater(to(server));
  ASSERT_TRUE(arrived.wait());
  loop.runSync([&] { client.reset(); });
  EXPECT_EQ(waitFor(std::move(reply)).error().code, ErrorCode::Cancelled);
  loop.runSync([&] { kept.clear(); });
}

TEST_F(HttpTest, UnixSocketsWorkLikeTcp) {
  const auto path = testing::TempDir() + "koord-net-test-" + randomToken(8) + ".sock";
  auto& server = serve({.listen = "unix:" + path}, [](ServerRequest request, Sent responder) {
    responder->respond(200, {}, request.remote + request.target);
  });
  EXPECT_EQ(server.address(), "unix:" + path);
  EXPECT_EQ(server.port(), 0);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  HttpRequest request;
  request.url = "http://localhost/x";
  request.unixSocket = path;
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "unix/x");
  stop(server);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(fetch(request).error().message, HasSubstr("connect to unix:" + path));
}

TEST_F(HttpTest, AHandlerThatForgetsToAnswerBecomesAnError) {
  auto& server = serve({}, [](ServerRequest, Sent) {});
  const auto reply = fetch(to(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 500);
}

}  // namespace
}  // namespace koord::net
