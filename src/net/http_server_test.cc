// Tests the server with a client that writes HTTP by hand, to send what a correct client does not.

#include "net/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "net/answering.h"
#include "net/test_net.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Sent = std::shared_ptr<Responder>;

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval guard{std::chrono::seconds(kGuard).count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("connect");
    }
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void finishSending() { ::shutdown(fd_, SHUT_WR); }
  // Reads until the text so far ends with `end`, or the server closes.
  std::string readTo(std::string_view end) {
    std::string text;
    char c = 0;
    while (!text.ends_with(end) && ::recv(fd_, &c, 1, 0) == 1) text += c;
    return text;
  }
  std::string readAll() {
    std::string text;
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(fd_, part, sizeof(part), 0)) > 0;) {
      text.append(part, static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int fd_;
};

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class HttpServerTest : public NetTest {
 protected:
  static void echo(ServerRequest request, Sent responder) {
    responder->respond(200, {}, "<" + request.target + request.body + ">");
  }
};

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  std::vector<std::pair<std::string, Sent>> waiting;
  Signal arrived;
  auto& server = serve({}, [&](ServerRequest request, Sent responder) {
    waiting.emplace_back(request.target + request.body, std::move(responder));
    arrived.raise();
  });
  RawClient client(server.port());
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  }
  client.send(requests);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(arrived.wait(i + 1));
    loop.runSync([&] {
      ASSERT_EQ(waiting.size(), 1u) << "the next request waits for the answer to this one";
      waiting[0].second->respond(200, {}, "<" + waiting[0].first + ">");
      waiting.clear();
    });
    EXPECT_THAT(client.readTo(">"), EndsWith("\r\n\r\n</" + std::to_string(i) + "abc>"));
  }
}

TEST_F(HttpServerTest, RequestsMayArriveByteByByte) {
  auto& server = serve({}, echo);
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    for (const char c : std::string_view("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                         "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")) {
      client.send({&c, 1});
    }
    EXPECT_THAT(client.readTo(">"), EndsWith("</xabc>"));
  }
}

TEST_F(HttpServerTest, AfterAnUpgradeTheConnectionBelongsToTheHandler) {
  std::shared_ptr<Responder> kept;
  Signal gone;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    kept = responder;
    responder->onClosed([&] { gone.raise(); });
    responder->upgrade({{"Upgrade", "echo"}}, [&](std::string bytes) {
      kept->consumed(bytes.size());
      const bool last = bytes.ends_with("!");
      kept->write(std::make_shared<const std::string>(std::move(bytes)));
      if (last) kept->end();
    });
  });
  RawClient client(server.port());
  // The client need not wait for the answer.
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ");
  EXPECT_THAT(
      client.readTo("early "),
      AllOf(StartsWith("HTTP/1.1 101 Switching Protocols\r\n"), HasSubstr("Upgrade: echo\r\n"),
            Not(HasSubstr("Content-Length")), EndsWith("\r\n\r\nearly ")));
  const std::string big(3 << 20, 'x');  // more than the server reads ahead
  std::thread sender([&] { client.send(big + "!"); });
  EXPECT_EQ(client.readAll(), big + "!");
  sender.join();
  {
    RawClient vanishing(server.port());
    vanishing.send("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: echo\r\n\r\nx");
    vanishing.readTo("x");
  }
  EXPECT_TRUE(gone.wait());
  loop.runSync([&] { kept.reset(); });
}

TEST_F(HttpServerTest, AnUpgradedClientIsReadNoFasterThanItsBytesAreConsumed) {
  std::shared_ptr<Responder> kept;
  std::size_t got = 0;
  Signal first;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    kept = responder;
    responder->upgrade({{"Upgrade", "sink"}}, [&](std::string bytes) {
      got += bytes.size();
      first.raise();
    });
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: sink\r\n\r\n");
  client.readTo("\r\n\r\n");
  const std::string big(32 << 20, 'x');
  std::thread sender([&] { client.send(big); });
  ASSERT_TRUE(first.wait(64));  // pieces of 16 KiB: a megabyte
  loop.runSync([&] {
    EXPECT_LE(got, std::size_t{2} << 20);
    kept->abort();
    kept.reset();
  });
  sender.join();
}

Task<void> throwLater(Executor* executor) {
  auto pause = sleepFor(*executor, 1ms);
  co_await pause;
  throw std::out_of_range("odd");
}

TEST_F(HttpServerTest, AHandlerThatThrowsCostsOneAnswerAndNotTheServer) {
  TaskGroup tasks;
  auto& server = serve({}, [&](ServerRequest request, Sent responder) {
    if (request.target == "/now") throw std::out_of_range("odd");
    if (request.target == "/late")
      return tasks.spawn(runHandler("GET /late", responder, throwLater(&loop.loop())));
    if (request.target == "/amid") {
      responder->begin(200, {});
      responder->write(std::make_shared<const std::string>("a part"));
      return tasks.spawn(runHandler("GET /amid", responder, throwLater(&loop.loop())));
    }
    echo(std::move(request), std::move(responder));
  });
  RawClient client(server.port());
  for (const std::string path : {"/now", "/late"}) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(client.readTo("has more\n"), StartsWith("HTTP/1.1 500 "));
  }
  client.send("GET /fine HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.readTo(">"), EndsWith("</fine>"));
  client.send("GET /amid HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.readAll(), Not(HasSubstr("\r\n0\r\n"))) << "the answer must not look whole";
  // The client may see the end before the task has ended, which `tasks` must outlive.
  loop.runSync([] {});
}

TEST_F(HttpServerTest, ABodyOverTheLimitIs413WhetherAnnouncedOrNot) {
  auto& server = serve({.maxBodyBytes = 10}, echo);
  RawClient announced(server.port());
  announced.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901");
  announced.finishSending();
  EXPECT_THAT(announced.readAll(),
              AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("Connection: close"),
                    HasSubstr("larger than 10 bytes")));
  RawClient chunked(server.port());
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  chunked.send("6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n");
  chunked.finishSending();
  EXPECT_THAT(chunked.readAll(), StartsWith("HTTP/1.1 413 "));
  RawClient fitting(server.port());
  fitting.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n1234567890");
  EXPECT_THAT(fitting.readTo(">"), EndsWith("</1234567890>"));
}

TEST_F(HttpServerTest, AClientThatSendsAHugeBodyStillReadsThe413) {
  auto& server = serve({}, echo);
  HttpRequest request;
  request.method = "POST";
  request.url = "http://" + server.address();
  request.body.resize(30 << 20);
  const auto plain = fetch(request);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->status, 413);

  auto& secure = serve({.tls = TestCertificates::get().serverTls()}, echo);
  request.url = "https://" + secure.address();
  request.tls = TestCertificates::get().clientTls();
  const auto tls = fetch(request);
  ASSERT_TRUE(tls) << tls.error().message;
  EXPECT_EQ(tls->status, 413);
}

TEST_F(HttpServerTest, HeadersOverTheLimitAre431) {
  auto& server = serve({.maxHeaderBytes = 1000}, echo);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(1000, 'x') + "\r\n\r\n");
  client.finishSending();
  EXPECT_THAT(client.readAll(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, WhatIsNotHttpIs400) {
  auto& server = serve({}, echo);
  for (const std::string_view text :
       {"hello\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\x01z\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX y: a\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}) {
    RawClient client(server.port());
    client.send(text);
    client.finishSending();
    const auto reply = client.readAll();
    EXPECT_THAT(reply, AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("not a valid HTTP request")))
        << text;
  }
}

TEST_F(HttpServerTest, ExpectContinueIsAnsweredBeforeTheBody) {
  auto& server = serve({}, echo);
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client.readTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("ok");
    EXPECT_THAT(client.readTo(">"), AllOf(StartsWith("HTTP/1.1 200 OK"), EndsWith("</ok>")));
  }
  RawClient greedy(server.port());
  greedy.send(
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n");
  greedy.finishSending();
  EXPECT_THAT(greedy.readAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, ConnectionHeadersAreObeyed) {
  auto& server = serve({}, echo);
  RawClient closing(server.port());
  closing.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  const auto closed = closing.readAll();
  EXPECT_THAT(closed, AllOf(HasSubstr("Connection: close\r\n"), EndsWith("</a>")));

  RawClient old(server.port());
  old.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.readAll(), EndsWith("</a>"));

  RawClient oldAlive(server.port());
  for (int i = 0; i < 2; ++i) {
    oldAlive.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(oldAlive.readTo(">"), HasSubstr("Connection: keep-alive\r\n"));
  }
}

TEST_F(HttpServerTest, AStreamToAnOldClientEndsWithTheConnection) {
  auto& server = serve({}, [](ServerRequest, Sent responder) {
    responder->begin(200, {});
    responder->write(std::make_shared<const std::string>("one"));
    responder->write(std::make_shared<const std::string>("two"));
    responder->end();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.readAll(), AllOf(EndsWith("\r\n\r\nonetwo"), Not(HasSubstr("chunked"))));
}

TEST_F(HttpServerTest, AClientThatOnlyClosesItsSideGetsItsAnswer) {
  std::vector<Sent> waiting;
  Signal arrived;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    waiting.push_back(std::move(responder));
    arrived.raise();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.finishSending();
  ASSERT_TRUE(arrived.wait());
  loop.runSync([&] {
    waiting[0]->respond(200, {}, std::string("late"));
    waiting.clear();
  });
  EXPECT_THAT(client.readAll(), EndsWith("\r\n\r\nlate"));
}

TEST_F(HttpServerTest, HandlersCannotBreakTheFraming) {
  auto& server = serve({}, [](ServerRequest, Sent responder) {
    responder->respond(200,
                       {{"Content-Length", "99"}, {"X", "a\r\nInjected: b"}, {"Date", "never"}},
                       std::string("ok>"));
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto reply = client.readTo(">");
  EXPECT_THAT(reply, AllOf(HasSubstr("Content-Length: 3\r\n"), HasSubstr("X: a\r\n"),
                           Not(HasSubstr("Injected")), Not(HasSubstr("99"))));
  EXPECT_EQ(count(reply, "Date:"), 1u);
}

TEST_F(HttpServerTest, IdleAndHalfSentRequestsAreDropped) {
  auto& server = serve({.headerTimeout = 20ms, .idleTimeout = 20ms, .bodyTimeout = 20ms}, echo);
  RawClient idle(server.port());
  EXPECT_EQ(idle.readAll(), "");
  RawClient half(server.port());
  half.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12");
  EXPECT_EQ(half.readAll(), "");
}

TEST_F(HttpServerTest, AReaderThatTakesNothingIsDropped) {
  Signal lost;
  std::vector<Sent> kept;
  auto& server = serve({.writeTimeout = 50ms}, [&](ServerRequest, Sent responder) {
    responder->onClosed([&] { lost.raise(); });
    responder->begin(200, {});
    responder->write(std::make_shared<const std::string>(64 << 20, 'x'));
    EXPECT_GT(responder->queuedBytes(), 60u << 20);
    kept.push_back(std::move(responder));
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(lost.wait());
  loop.runSync([&] {
    EXPECT_EQ(kept[0]->queuedBytes(), 0u);
    kept.clear();
  });
}

TEST_F(HttpServerTest, ConnectionsOverTheLimitWaitUntilOneIsNotBusy) {
  std::vector<Sent> waiting;
  Signal arrived;
  auto& server = serve({.maxConnections = 1}, [&](ServerRequest request, Sent responder) {
    if (request.target == "/2") return echo(std::move(request), std::move(responder));
    waiting.push_back(std::move(responder));
    arrived.raise();
  });
  RawClient first(server.port());
  first.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(arrived.wait());
  RawClient second(server.port());
  second.send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(server.connections(), 1u);
  loop.runSync([&] {
    waiting[0]->respond(200, {}, std::string("</1>"));
    waiting.clear();
  });
  // The first one is idle now and is closed for the new one.
  EXPECT_THAT(first.readAll(), EndsWith("</1>"));
  EXPECT_THAT(second.readTo(">"), EndsWith("</2>"));
}

TEST_F(HttpServerTest, HalfOpenConnectionsDoNotKeepOthersOut) {
  for (const bool tls : {false, true}) {
    ServerOptions options{.maxConnections = 8};
    if (tls) options.tls = TestCertificates::get().serverTls();
    auto& server = serve(options, echo);
    std::vector<std::unique_ptr<RawClient>> halfOpen;
    for (int i = 0; i < 50; ++i) {
      halfOpen.push_back(std::make_unique<RawClient>(server.port()));
      if (!tls) halfOpen.back()->send("GET / HT");
    }
    HttpRequest request;
    request.url = (tls ? "https://" : "http://") + server.address() + "/x";
    request.tls = TestCertificates::get().clientTls(tls);
    const auto answer = fetch(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "</x>");
    EXPECT_LE(server.connections(), 8u);
  }
}

TEST_F(HttpServerTest, OneClientHasItsOwnLimit) {
  const auto path = testing::TempDir() + "koord-net-test-" + randomToken(8) + ".sock";
  auto& server = serve({.listen = "unix:" + path, .maxConnectionsPerClient = 2}, echo);
  std::vector<int> sockets;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  for (int i = 0; i < 4; ++i) {
    sockets.push_back(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(sockets.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  // The oldest two were closed, because they had sent nothing.
  char c = 0;
  EXPECT_EQ(::recv(sockets[0], &c, 1, 0), 0);
  EXPECT_EQ(::recv(sockets[1], &c, 1, 0), 0);
  EXPECT_LE(server.connections(), 2u);
  for (const int socket : sockets) ::close(socket);
}

TEST_F(HttpServerTest, ShutdownLetsAnswersUnderWayComplete) {
  std::vector<Sent> waiting;
  Signal arrived;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    waiting.push_back(std::move(responder));
    arrived.raise();
  });
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(arrived.wait());
  auto stopped = spawn<bool>([&] { return shutDown(server, 60s); });
  EXPECT_EQ(idle.readAll(), "");
  loop.runSync([&] {
    waiting[0]->respond(200, {}, std::string("done"));
    waiting.clear();
  });
  EXPECT_THAT(busy.readAll(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("done")));
  idle.finishSending();
  busy.finishSending();
  EXPECT_TRUE(waitFor(std::move(stopped)));
  EXPECT_THROW(RawClient(server.port()), std::runtime_error);
}

TEST_F(HttpServerTest, ShutdownDropsWhatIsNotDoneInTime) {
  std::vector<Sent> waiting;
  Signal arrived, lost;
  auto& server = serve({}, [&](ServerRequest, Sent responder) {
    responder->onClosed([&] { lost.raise(); });
    waiting.push_back(std::move(responder));
    arrived.raise();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(arrived.wait());
  auto stopped = spawn<bool>([&] { return shutDown(server, 10ms); });
  EXPECT_TRUE(waitFor(std::move(stopped)));
  EXPECT_TRUE(lost.wait());
  EXPECT_EQ(client.readAll(), "");
  loop.runSync([&] { waiting.clear(); });
}

Error startError(LoopThread& loop, ServerOptions options) {
  auto server = HttpServer::start(loop.loop(), std::move(options), [](ServerRequest, Sent) {});
  EXPECT_FALSE(server);
  return server ? Error{} : server.error();
}

TEST_F(HttpServerTest, AnAddressInUseIsNamed) {
  auto& server = serve({}, echo);
  const auto error = startError(loop, {.listen = server.address()});
  EXPECT_THAT(error.message,
              StartsWith("listen on " + server.address() + ": address already in use"));

  const auto path = testing::TempDir() + "koord-net-test-" + randomToken(8) + ".sock";
  serve({.listen = "unix:" + path}, echo);
  EXPECT_THAT(startError(loop, {.listen = "unix:" + path}).message, HasSubstr("already in use"));
}

TEST_F(HttpServerTest, ASocketFileThatWasLeftBehindIsReplaced) {
  const auto path = testing::TempDir() + "koord-net-test-" + randomToken(8) + ".sock";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  ASSERT_TRUE(std::filesystem::exists(path));
  auto& server = serve({.listen = "unix:" + path}, echo);
  EXPECT_EQ(server.address(), "unix:" + path);
}

TEST_F(HttpServerTest, AddressesThatCannotBeListenedOnSayWhy) {
  for (const std::string address :
       {"", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"}) {
    const auto error = startError(loop, {.listen = address});
    EXPECT_THAT(error.message, HasSubstr("must be ADDRESS:PORT")) << address;
    EXPECT_EQ(error.code, ErrorCode::Invalid);
  }
  EXPECT_THAT(startError(loop, {.listen = "::1:80"}).message, HasSubstr("goes in brackets"));
  EXPECT_THAT(startError(loop, {.listen = "host.invalid:80"}).message,
              HasSubstr("not an IP address"));
  EXPECT_THAT(startError(loop, {.listen = "unix:/no/such/dir/x.sock"}).message,
              HasSubstr("No such file or directory"));
  EXPECT_THAT(startError(loop, {.listen = "unix:" + std::string(200, 'x')}).message,
              HasSubstr("the path must have"));
}

TEST_F(HttpServerTest, CertificatesThatCannotBeUsedSayWhy) {
  auto tls = *TestCertificates::get().serverTls();
  tls.clientCaPem = "nonsense";
  EXPECT_THAT(
      startError(loop, {.listen = "127.0.0.1:0", .tls = std::make_shared<ServerTls>(tls)}).message,
      HasSubstr("client CA: certificate 1 cannot be read"));
  tls = {"nonsense", tls.keyPem, ""};
  EXPECT_THAT(
      startError(loop, {.listen = "127.0.0.1:0", .tls = std::make_shared<ServerTls>(tls)}).message,
      HasSubstr("not a PEM certificate"));
}

TEST_F(HttpServerTest, EveryAddressIsServedWhenNoneIsNamed) {
  auto& server = serve({.listen = ":0"}, echo);
  EXPECT_EQ(server.address(), ":" + std::to_string(server.port()));
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.readTo(">"), EndsWith("</>"));
}

}  // namespace
}  // namespace koord::net
