#pragma once

// For tests over real loopback sockets: an event loop, servers and a client on it, certificates,
// and blocking calls. These have a limit only so that a broken test fails instead of hanging.

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "base/event_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/tls.h"

namespace koord::net {

inline constexpr std::chrono::seconds kGuard{60};

// A condition that one thread raises and another waits for.
class Signal {
 public:
  void raise() {
    // Notifies under the lock: the waiter may destroy this object as soon as it has seen the
    // change.
    std::lock_guard lock(mutex_);
    ++raised_;
    changed_.notify_all();
  }
  // Returns true if it was raised at least `times` times.
  bool wait(int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kGuard, [&] { return raised_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int raised_ = 0;
};

// One authority and what it issued, made once per test program.
struct TestCertificates {
  CertKey authority;
  CertKey server;  // for 127.0.0.1 and localhost
  CertKey client;  // user "alice" of groups "dev" and "ops"

  static const TestCertificates& get() {
    static const TestCertificates certificates = make("test-ca");
    return certificates;
  }
  static TestCertificates make(const std::string& name) {
    const WallTime now = std::chrono::system_clock::now();
    const Validity validity{now - std::chrono::hours(1), now + std::chrono::hours(24)};
    TestCertificates made;
    made.authority = makeAuthority(name, validity).value();
    made.server =
        issueServerCert(made.authority, {"server", {"127.0.0.1", "localhost"}, validity}).value();
    made.client = issueClientCert(made.authority, {"alice", {"dev", "ops"}, validity}).value();
    return made;
  }

  std::shared_ptr<ServerTls> serverTls() const {
    return std::make_shared<ServerTls>(ServerTls{server.certPem, server.keyPem, authority.certPem});
  }
  std::shared_ptr<TlsConfig> clientTls(bool withCertificate = false) const {
    TlsConfig tls{.caPem = authority.certPem};
    if (withCertificate) {
      tls.certPem = client.certPem;
      tls.keyPem = client.keyPem;
    }
    return std::make_shared<TlsConfig>(std::move(tls));
  }
};

class NetTest : public testing::Test {
 protected:
  ~NetTest() override {
    loop.runSync([this] {
      group.reset();
      servers.clear();
      client.reset();
    });
  }

  HttpServer& serve(ServerOptions options, HttpServer::Handler handler) {
    if (options.listen.empty()) options.listen = "127.0.0.1:0";
    HttpServer* started = nullptr;
    loop.runSync([&] {
      auto server = HttpServer::start(loop.loop(), std::move(options), std::move(handler));
      if (!server) throw std::runtime_error(server.error().message);
      started = server->get();
      servers.push_back(std::move(*server));
    });
    return *started;
  }
  void stop(HttpServer& server) {
    loop.runSync(
        [&] { std::erase_if(servers, [&](const auto& owned) { return owned.get() == &server; }); });
  }

  // Runs the task on the loop; the future gets what it returns.
  template <class T>
  std::future<T> spawn(std::move_only_function<Task<T>()> make) {
    auto promise = std::make_shared<std::promise<T>>();
    auto future = promise->get_future();
    loop.runSync([&] { group->spawn(deliver<T>(make(), promise)); });
    return future;
  }
  template <class T>
  T waitFor(std::future<T> future) {
    if (future.wait_for(kGuard) != std::future_status::ready) {
      throw std::runtime_error("timed out");
    }
    return future.get();
  }

  std::future<Result<HttpResponse>> fetchLater(HttpRequest request) {
    return spawn<Result<HttpResponse>>(
        [&] { return client->fetch(loop.loop(), std::move(request)); });
  }
  Result<HttpResponse> fetch(HttpRequest request) {
    return waitFor(fetchLater(std::move(request)));
  }

  // HttpServer::shutdown as a task with a result to wait for.
  static Task<bool> shutDown(HttpServer& server, Duration grace) {
    Task<void> stopping = server.shutdown(grace);
    co_await stopping;
    co_return true;
  }

  LoopThread loop{"net-test"};
  std::unique_ptr<TaskGroup> group = std::make_unique<TaskGroup>();
  std::vector<std::unique_ptr<HttpServer>> servers;
  std::unique_ptr<HttpClient> client = std::make_unique<HttpClient>();

 private:
  template <class T>
  static Task<void> deliver(Task<T> task, std::shared_ptr<std::promise<T>> promise) {
    T value = co_await task;
    promise->set_value(std::move(value));
  }
};

}  // namespace koord::net
