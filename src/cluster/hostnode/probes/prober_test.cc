#include "cluster/hostnode/probes/prober.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using Outcome = ProbeResult::Outcome;

// A network with one server that answers by URL, with bodies in pieces of a KiB.
class FakeTransport final : public net::HttpTransport {
 public:
  std::map<std::string, Result<net::HttpResponse>> answers;
  std::vector<net::HttpRequest> requests;
  std::size_t piecesSent = 0;

  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest request) override {
    requests.push_back(request);
    co_return answerTo(request);
  }
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override {
    requests.push_back(request);
    auto running = std::make_unique<Running>();
    running->sink = std::make_shared<net::StreamSink>(std::move(sink));
    auto reply = answerTo(request);
    executor.post(
        [this, &executor, reply = std::move(reply), sink = std::weak_ptr(running->sink)]() mutable {
          const auto open = sink.lock();
          if (!open) return;
          if (!reply) return open->onClosed(fail(std::move(reply.error())));
          std::string body = std::exchange(reply->body, {});
          open->onHead(*std::move(reply));
          send(executor, sink, std::move(body));
        });
    return running;
  }

 private:
  struct Running final : net::Stream {
    std::shared_ptr<net::StreamSink> sink;
  };
  Result<net::HttpResponse> answerTo(const net::HttpRequest& request) const {
    const auto found = answers.find(request.url);
    if (found == answers.end()) return fail(ErrorCode::Unavailable, "connect: refused");
    return found->second;
  }
  void send(Executor& executor, std::weak_ptr<net::StreamSink> sink, std::string body) {
    executor.post([this, &executor, sink, body = std::move(body)]() mutable {
      const auto open = sink.lock();
      if (!open) return;
      if (body.empty()) return open->onClosed({});
      ++piecesSent;
      open->onChunk(body.substr(0, 1024));
      send(executor, sink, body.substr(std::min<std::size_t>(body.size(), 1024)));
    });
  }
};

net::HttpResponse reply(int status, const std::string& location = "") {
  net::HttpResponse response;
  response.status = status;
  if (!location.empty()) response.headers = {{"Location", location}};
  return response;
}

class ProberTest : public testing::Test {
 protected:
  ProbeResult probe(spec::Probe probe) {
    NetworkProber prober(
        loop, {&http,
               [this](std::string id, std::vector<std::string> command, Duration timeout) {
                 return command_(this, id, command, timeout);
               },
               {}});
    std::optional<ProbeResult> out;
    TaskGroup tasks;
    tasks.spawn(keep(prober.probe({"c1", "127.0.0.1", {}}, std::move(probe)), &out));
    loop.advanceUntil([&] { return out.has_value(); }, 1min);
    EXPECT_TRUE(out);
    return out.value_or(ProbeResult{});
  }
  ProbeResult get(const std::string& path, spec::HttpGetAction action = {}) {
    spec::Probe wanted;
    action.path = path;
    action.port = {8080, {}, false};
    wanted.httpGet = action;
    return probe(wanted);
  }

  VirtualLoop loop;
  FakeTransport http;
  Result<CommandEnd> end = CommandEnd{};
  std::vector<std::string> commands;

 private:
  static Task<void> keep(Task<ProbeResult> task, std::optional<ProbeResult>* out) {
    *out = co_await task;
  }
  static Task<Result<CommandEnd>> command_(ProberTest* self, std::string id,
                                           std::vector<std::string> command, Duration) {
    self->commands.push_back(id + " " + command.at(0));
    co_return self->end;
  }
};

const std::string kHost = "http://127.0.0.1:8080";

TEST_F(ProberTest, AnHttpProbeSucceedsFrom200To399) {
  http.answers[kHost + "/ok"] = reply(204);
  http.answers[kHost + "/cached"] = reply(304);
  http.answers[kHost + "/bad"] = reply(503);
  EXPECT_EQ(get("ok").outcome, Outcome::Success);
  EXPECT_EQ(get("/cached").outcome, Outcome::Success);
  EXPECT_EQ(get("/bad").outcome, Outcome::Failure);
  EXPECT_EQ(get("/bad").output, "HTTP probe failed with statuscode: 503");
  EXPECT_EQ(get("/none").output, "Get \"" + kHost + "/none\": connect: refused");
  http.answers[kHost + "/slow"] = fail(ErrorCode::Timeout, "no answer");
  EXPECT_EQ(get("/slow").output, "Get \"" + kHost + "/slow\": context deadline exceeded");
}

TEST_F(ProberTest, OfALongBodyTheBeginningIsRead) {
  auto endless = reply(200);
  endless.body = std::string(1 << 20, 'x');
  http.answers[kHost + "/long"] = endless;
  EXPECT_EQ(get("/long").outcome, Outcome::Success);
  EXPECT_GE(http.piecesSent, 10u);
  EXPECT_LE(http.piecesSent, 12u) << "who does not end is not listened to";
  endless.status = 302;
  endless.headers = {{"Location", "http://elsewhere.test/"}};
  http.answers[kHost + "/out"] = endless;
  EXPECT_EQ(get("/out").outcome, Outcome::Warning);
}

TEST_F(ProberTest, NoRedirectLeadsOutOfHttp) {
  for (const char* url : {"file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL"}) {
    http.requests.clear();
    http.answers[kHost + "/odd"] = reply(302, url);
    EXPECT_EQ(get("/odd").outcome, Outcome::Warning) << url;
    EXPECT_EQ(http.requests.size(), 1u) << url;
  }
}

TEST_F(ProberTest, HeadersHostAndSchemeAreTheProbes) {
  http.answers["https://[::1]:8080/"] = reply(200);
  spec::HttpGetAction action;
  action.host = "::1";
  action.scheme = "HTTPS";
  action.httpHeaders = {{"Host", "example.test"}, {"user-agent", "me"}};
  EXPECT_EQ(get("", action).outcome, Outcome::Success);
  const auto& headers = http.requests.at(0).headers;
  EXPECT_EQ(net::headerOf(headers, "Host"), "example.test");
  EXPECT_EQ(net::headerOf(headers, "User-Agent"), "me");
  EXPECT_EQ(net::headerOf(headers, "Accept"), "*/*");
  EXPECT_TRUE(http.requests.at(0).tls->insecureSkipVerify);
  EXPECT_EQ(http.requests.at(0).timeout, 1s);
}

TEST_F(ProberTest, RedirectsAreFollowedOnTheSameHostOnly) {
  http.answers[kHost + "/a"] = reply(302, "/b");
  http.answers[kHost + "/b"] = reply(301, "http://127.0.0.1:8080/c");
  http.answers[kHost + "/c"] = reply(500);
  EXPECT_EQ(get("/a").output, "HTTP probe failed with statuscode: 500");
  http.answers[kHost + "/out"] = reply(302, "http://127.0.0.1.example.test/");
  EXPECT_EQ(get("/out").outcome, Outcome::Warning);
  http.answers[kHost + "/loop"] = reply(302, "/loop");
  EXPECT_EQ(get("/loop").output, "Get \"" + kHost + "/loop\": stopped after 10 redirects");
}

TEST_F(ProberTest, ACommandsStatusIsTheResult) {
  spec::Probe wanted;
  wanted.exec = spec::ExecAction{{"check"}};
  EXPECT_EQ(probe(wanted).outcome, Outcome::Success);
  EXPECT_EQ(commands.at(0), "c1 check");
  end = CommandEnd{1, "it is dead\n"};
  EXPECT_EQ(probe(wanted).outcome, Outcome::Failure);
  EXPECT_EQ(probe(wanted).output, "it is dead\n");
  end = fail(ErrorCode::Timeout, "command timed out");
  EXPECT_EQ(probe(wanted).outcome, Outcome::Failure);
  end = fail(ErrorCode::NotFound, "no container");
  EXPECT_EQ(probe(wanted).outcome, Outcome::Error);
}

// A socket on a port of the kernel's choice, listening or only bound.
struct Server {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port = 0;
  explicit Server(bool listening) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    if (listening) ::listen(fd, 1);
  }
  ~Server() { ::close(fd); }
};

TEST_F(ProberTest, ATcpProbeConnects) {
  const Server listening(true);
  const Server ignoresSigterm(false);
  spec::Probe wanted;
  wanted.tcpSocket = spec::TcpSocketAction{{listening.port, {}, false}, "localhost"};
  EXPECT_EQ(probe(wanted).outcome, Outcome::Success);
  wanted.tcpSocket->port.number = ignoresSigterm.port;
  EXPECT_EQ(probe(wanted).outcome, Outcome::Failure);
  EXPECT_EQ(probe(wanted).output, "dial tcp localhost:" + std::to_string(ignoresSigterm.port) +
                                      ": connect: connection refused");
  wanted.tcpSocket->host = "no.such.host";
  EXPECT_EQ(probe(wanted).outcome, Outcome::Failure);
  wanted.tcpSocket->port = {0, "none", true};
  EXPECT_EQ(probe(wanted).outcome, Outcome::Error);
}

TEST_F(ProberTest, AProbeThatSaysNothingIsAnError) {
  EXPECT_EQ(probe({}).output, "missing probe handler");
}

}  // namespace
}  // namespace koord::cluster
