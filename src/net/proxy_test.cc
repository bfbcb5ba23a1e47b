// Tests the HTTP client with servers other than HttpServer: they drop connections, are proxies of
// every kind, compress answers, or speak HTTP/2.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <thread>

#include "net/test_net.h"
#include "net/url.h"

namespace koord::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A connected socket that the test reads and writes by hand.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() { ::close(fd_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  static std::unique_ptr<Wire> connect(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = loopback(port);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return std::make_unique<Wire>(fd);
    ::close(fd);
    return nullptr;
  }
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  // Reads exactly so many bytes; fewer if the other side has closed.
  std::string take(std::size_t size) {
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const auto part = ::recv(fd_, text.data() + got, size - got, 0);
      if (part <= 0) break;
      got += static_cast<std::size_t>(part);
    }
    text.resize(got);
    return text;
  }
  // Reads up to and including the empty line; "" if the other side has closed.
  std::string takeHead() {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      const auto byte = take(1);
      if (byte.empty()) return {};
      head += byte;
    }
    return head;
  }
  // Reads a request with its body.
  std::string takeRequest() {
    std::string head = takeHead();
    const auto at = head.find("Content-Length: ");
    if (at != head.npos) head += take(std::stoul(head.substr(at + 16)));
    return head;
  }
  void give(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Carries bytes both ways until one side closes.
  static void join(Wire& a, Wire& b) {
    std::array<pollfd, 2> ends{pollfd{a.fd_, POLLIN, 0}, pollfd{b.fd_, POLLIN, 0}};
    std::array<char, 4096> part;
    for (;;) {
      if (::poll(ends.data(), ends.size(), -1) <= 0) return;
      for (std::size_t i = 0; i < 2; ++i) {
        if (ends[i].revents == 0) continue;
        const auto size = ::recv(ends[i].fd, part.data(), part.size(), 0);
        if (size <= 0) return;
        (i == 0 ? b : a).give({part.data(), static_cast<std::size_t>(size)});
      }
    }
  }
  void shutDown() { ::shutdown(fd_, SHUT_RDWR); }

 private:
  const int fd_;
};

// Listens and gives each connection to a function, on a thread of its own.
class WireServer {
 public:
  explicit WireServer(std::function<void(Wire&)> serve) : serve_(std::move(serve)) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = Wire::loopback(0);
    socklen_t size = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd_, 16) != 0)
      throw std::runtime_error("cannot listen");
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept(); });
  }
  ~WireServer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    for (auto& wire : wires_) wire.shutDown();
    for (auto& thread : threads_) thread.join();
    ::close(fd_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  void accept() {
    for (;;) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      auto& wire = wires_.emplace_back(fd);
      threads_.emplace_back([this, &wire] {
        serve_(wire);
        wire.shutDown();
      });
    }
  }

  const std::function<void(Wire&)> serve_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::list<Wire> wires_;           // accepting thread, then the destructor
  std::list<std::thread> threads_;  // as wires_
  std::thread thread_;
};

using ProxyTest = NetTest;

TEST_F(ProxyTest, WhatMayHaveBeenCarriedOutIsNotSentAgainUnlessItOnlyReads) {
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "GET"}) {
    std::mutex mutex;
    std::vector<std::string> seen;
    // Answers the first request of a connection and closes after reading the second.
    WireServer server([&](Wire& wire) {
      for (int i = 0; i < 2; ++i) {
        const std::string request = wire.takeRequest();
        if (request.empty()) return;
        {
          std::lock_guard lock(mutex);
          seen.push_back(request.substr(0, request.find(' ')));
        }
        if (i == 0) wire.give("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }
    });
    HttpRequest request;
    request.url = "http://" + server.address() + "/";
    ASSERT_TRUE(fetch(request));
    request.method = method;
    if (request.method != "GET" && request.method != "DELETE") request.body = "{}";
    const auto reply = fetch(request);
    std::lock_guard lock(mutex);
    if (request.method == "GET") {
      EXPECT_TRUE(reply);
      EXPECT_THAT(seen, ElementsAre("GET", "GET", "GET"));
    } else {
      ASSERT_FALSE(reply) << method;
      EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
      EXPECT_THAT(reply.error().message, HasSubstr("was lost"));
      EXPECT_THAT(seen, ElementsAre("GET", method));
    }
  }
}

TEST_F(ProxyTest, CompressedAnswersAreUnpackedOnTheWay) {
  constexpr unsigned char kPacked[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                       0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0xb9,
                                       0x00, 0x00, 0x88, 0x59, 0x0b, 0x18, 0x00, 0x00, 0x00};
  std::string asked;
  WireServer server([&](Wire& wire) {
    asked = wire.takeRequest();
    wire.give("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
              std::to_string(sizeof kPacked) + "\r\n\r\n");
    wire.give({reinterpret_cast<const char*>(kPacked), sizeof kPacked});
  });
  HttpRequest request;
  request.url = "http://" + server.address() + "/";
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "hello hello hello hello\n");
  EXPECT_THAT(asked, HasSubstr("Accept-Encoding: gzip\r\n"));
}

TEST_F(ProxyTest, PlainRequestsGoToAnHttpProxyAsTheyAre) {
  std::string asked;
  WireServer proxy([&](Wire& wire) {
    asked = wire.takeRequest();
    wire.give("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nproxied");
  });
  HttpRequest request;
  request.url = "http://api.example.internal:6443/version";
  request.proxy = "http://" + proxy.address();
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "proxied");
  EXPECT_THAT(asked,
              testing::StartsWith("GET http://api.example.internal:6443/version HTTP/1.1\r\n"));
}

TEST_F(ProxyTest, TlsGoesThroughATunnelOfTheProxyToTheServer) {
  auto& server =
      serve({.tls = TestCertificates::get().serverTls()}, [](ServerRequest request, auto to) {
        to->respond(200, {}, request.target + (request.tls ? " over TLS" : ""));
      });
  std::string asked;
  WireServer proxy([&](Wire& wire) {
    asked = wire.takeHead();
    const auto upstream = Wire::connect(server.port());
    wire.give("HTTP/1.1 200 Connection established\r\n\r\n");
    Wire::join(wire, *upstream);
  });
  HttpRequest request;
  request.url = "https://" + server.address() + "/version";
  request.tls = TestCertificates::get().clientTls();
  request.proxy = "http://user:secret@" + proxy.address();
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "/version over TLS");
  EXPECT_THAT(asked, testing::StartsWith("CONNECT " + server.address() + " HTTP/1.1\r\n"));
  EXPECT_THAT(asked, HasSubstr("Proxy-Authorization: Basic " + base64Encode("user:secret")));
}

TEST_F(ProxyTest, AProxyThatRefusesIsNamed) {
  WireServer proxy([&](Wire& wire) {
    wire.takeHead();
    wire.give("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  HttpRequest request;
  request.url = "https://127.0.0.1:1/version";
  request.proxy = "http://" + proxy.address();
  const auto reply = fetch(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(reply.error().message, HasSubstr("403"));
}

TEST_F(ProxyTest, ASocks5ProxyCarriesTheConnection) {
  auto& server = serve({}, [](ServerRequest, auto to) { to->respond(200, {}, std::string("ok")); });
  WireServer proxy([&](Wire& wire) {
    const std::string hello = wire.take(2);
    if (hello.size() < 2 || hello[0] != 5) return;
    wire.take(static_cast<unsigned char>(hello[1]));
    wire.give(std::string_view("\5\0", 2));
    // Version, CONNECT, reserved, IPv4, address, port.
    const std::string wanted = wire.take(10);
    if (!wanted.starts_with(std::string_view("\5\1\0\1\x7f\0\0\1", 8))) return;
    const auto port = static_cast<std::uint16_t>(static_cast<unsigned char>(wanted[8]) << 8 |
                                                 static_cast<unsigned char>(wanted[9]));
    const auto upstream = Wire::connect(port);
    wire.give(std::string_view("\5\0\0\1\0\0\0\0\0\0", 10));
    Wire::join(wire, *upstream);
  });
  HttpRequest request;
  request.url = "http://" + server.address() + "/";
  request.proxy = "socks5://" + proxy.address();
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "ok");
  EXPECT_EQ(proxy.connections(), 1);
}

// What a ClientHello contains that offers HTTP/2.
constexpr std::string_view kHttp2Offer = "\x02h2";

// A connection's first TLS record; "" if the other side closes before.
std::string takeHello(Wire& wire) {
  std::string hello = wire.take(5);  // type, version, length
  if (hello.size() < 5) return {};
  return hello + wire.take(static_cast<std::size_t>(static_cast<unsigned char>(hello[3])) << 8 |
                           static_cast<unsigned char>(hello[4]));
}

// Passes connections on to a server over HTTP/1.1 and notes who offered HTTP/2.
class OfferedHttp2Test : public NetTest {
 protected:
  HttpRequest request(const WireServer& front) const {
    HttpRequest request;
    request.url = "https://" + front.address() + "/version";
    request.tls = TestCertificates::get().clientTls();
    request.headers = {{"Connection", "close"}};  // the next request has a connection of its own
    return request;
  }
  void pass(Wire& wire, std::uint16_t port) {
    const std::string hello = takeHello(wire);
    if (hello.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      offers_.push_back(hello.find(kHttp2Offer) != hello.npos);
    }
    const auto upstream = Wire::connect(port);
    if (!upstream) return;
    upstream->give(hello);
    Wire::join(wire, *upstream);
  }
  std::vector<bool> offers() {
    const std::lock_guard lock(mutex_);
    return offers_;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> offers_;  // guarded by mutex_
};

TEST_F(OfferedHttp2Test, AServerOfHttp11IsNotOfferedHttp2WhileRequestsRunUntilOneFails) {
  std::shared_ptr<Responder> held;
  Signal arrived;
  auto& server = serve({.tls = TestCertificates::get().serverTls()},
                       [&](ServerRequest request, std::shared_ptr<Responder> to) {
                         if (request.method == "DELETE") return to->abort();
                         if (request.method == "GET")
                           return to->respond(200, {}, std::make_shared<const std::string>("one"));
                         held = std::move(to);
                         arrived.raise();
                       });
  WireServer front([&](Wire& wire) { pass(wire, server.port()); });
  const auto ask = [&](const char* method) {
    auto asked = request(front);
    asked.method = method;
    return fetchLater(std::move(asked));
  };
  EXPECT_EQ(waitFor(ask("GET")).value().body, "one");
  auto running = ask("POST");
  ASSERT_TRUE(arrived.wait());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(waitFor(ask("GET")).value().body, "one");
  EXPECT_EQ(offers(), (std::vector{true, true, false, false}));

  EXPECT_FALSE(waitFor(ask("DELETE")));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(waitFor(ask("GET")).value().body, "one");
  EXPECT_EQ(offers(), (std::vector{true, true, false, false, false, true, false}));
  loop.runSync([&] { held->respond(200, {}, std::make_shared<const std::string>()); });
  EXPECT_TRUE(waitFor(std::move(running)));
}

// A server that speaks only HTTP/2 (nghttpd of Debian's nghttp2-server).
class Http2Test : public NetTest {
 protected:
  void SetUp() override {
    if (::access(kProgram, X_OK) != 0)
      GTEST_SKIP() << kProgram << " (nghttp2-server) is not installed";
    folder_ = testing::TempDir() + "koord-http2-" + randomToken(8);
    std::filesystem::create_directories(folder_);
    const auto& certificates = TestCertificates::get();
    write("key.pem", certificates.server.keyPem);
    write("cert.pem", certificates.server.certPem);
    write("version", "two\n");
    {
      WireServer free([](Wire&) {});  // an unused port
      port_ = static_cast<std::uint16_t>(std::stoi(free.address().substr(10)));
    }
    const std::string port = std::to_string(port_), key = folder_ + "/key.pem",
                      cert = folder_ + "/cert.pem";
    std::array<const char*, 9> argv{kProgram,        "-a",         "127.0.0.1", "-d",
                                    folder_.c_str(), port.c_str(), key.c_str(), cert.c_str(),
                                    nullptr};
    ASSERT_EQ(
        ::posix_spawn(&pid_, kProgram, nullptr, nullptr, const_cast<char**>(argv.data()), environ),
        0);
    const auto end = std::chrono::steady_clock::now() + kGuard;
    while (!Wire::connect(port_) && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  HttpRequest request(const std::string& path) const {
    HttpRequest request;
    request.url = "https://127.0.0.1:" + std::to_string(port_) + path;
    request.tls = TestCertificates::get().clientTls();
    return request;
  }

  static constexpr const char* kProgram = "/usr/sbin/nghttpd";
  std::string folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

TEST_F(Http2Test, RequestsAreMadeOverHttp2WhereTheServerOffersIt) {
  const auto reply = fetch(request("/version"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "two\n");
  EXPECT_EQ(fetch(request("/nothing")).value().status, 404);

  std::vector<std::future<Result<HttpResponse>>> replies;
  for (int i = 0; i < 50; ++i) replies.push_back(fetchLater(request("/version")));
  for (auto& each : replies) EXPECT_EQ(waitFor(std::move(each)).value().body, "two\n");
}

// Our use of kube-apiserver: watches over HTTP/1.1, all other requests over HTTP/2, on one port.
TEST_F(Http2Test, RequestsKeepOffTheConnectionsOfStreamsOverHttp1) {
  std::shared_ptr<Responder> watched;
  auto& streaming =
      serve({.tls = TestCertificates::get().serverTls()}, [&](ServerRequest, auto to) {
        watched = std::move(to);
        watched->begin(200, {});
      });
  WireServer both([&](Wire& wire) {
    const std::string hello = takeHello(wire);
    if (hello.empty()) return;
    const bool offersHttp2 = hello.find(kHttp2Offer) != hello.npos;
    const auto upstream = Wire::connect(offersHttp2 ? port_ : streaming.port());
    upstream->give(hello);
    Wire::join(wire, *upstream);
  });
  auto watch = request("/watch"), version = request("/version");
  watch.url = "https://" + both.address() + "/watch";
  watch.http2 = false;
  watch.timeout = {};
  version.url = "https://" + both.address() + "/version";
  version.timeout = std::chrono::seconds(5);
  Signal begun;
  std::unique_ptr<Stream> stream;
  loop.runSync([&] {
    StreamSink sink;
    sink.onHead = [&](HttpResponse) { begun.raise(); };
    stream = client->stream(loop.loop(), watch, std::move(sink));
  });
  ASSERT_TRUE(begun.wait());
  // The second finds a host that is known to speak HTTP/2, and two connections to it.
  for (int i = 0; i < 3; ++i) {
    const auto reply = fetch(version);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body, "two\n");
  }
  EXPECT_EQ(both.connections(), 2);
  loop.runSync([&] {
    stream.reset();
    watched.reset();
  });
}

TEST_F(Http2Test, WithoutHttp2TheTwoHaveNoLanguageInCommon) {
  auto plain = request("/version");
  plain.http2 = false;
  EXPECT_FALSE(fetch(plain));
}

}  // namespace
}  // namespace koord::net
