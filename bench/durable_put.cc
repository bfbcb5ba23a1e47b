#include "durable_put.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "apiserver/store/store.h"
#include "base/event_loop.h"
#include "base/run_program.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace koord::bench {
namespace {

using apiserver::Store;
using namespace std::chrono_literals;

// A folder that goes with it.
struct Folder {
  std::filesystem::path path;

  Folder() {
    char name[] = "/tmp/koord-bench-XXXXXX";
    if (mkdtemp(name)) path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

// What the writers of one run share.
struct Run {
  int next = 0;
  int count = 0;
  int active = 0;
  int failures = 0;
  std::promise<void> done;
};

Task<void> putSome(Executor& executor, Store& store, const json::value& object, Run& run) {
  auto& table = store.table("puts");
  while (run.next < run.count) {
    store.put(table, {fmt::format("default/key-{}", run.next++), {}, {}}, object);
    auto [durable, completer] = Future<bool>::make(executor);
    store.whenDurable(store.version(), [completer](bool kept) { completer.complete(kept); });
    if (!co_await durable) ++run.failures;
  }
  if (--run.active == 0) run.done.set_value();
}

Task<void> putSomeInEtcd(net::HttpClient& client, Executor& executor, std::string url,
                         std::string value, Run& run) {
  while (run.next < run.count) {
    net::HttpRequest request;
    request.method = "POST";
    request.url = url;
    const auto key = net::base64Encode(fmt::format("default/key-{}", run.next++));
    request.body = fmt::format(R"({{"key":"{}","value":"{}"}})", key, value);
    auto fetching = client.fetch(executor, std::move(request));
    const auto reply = co_await fetching;
    if (!reply || reply->status != 200) ++run.failures;
  }
  if (--run.active == 0) run.done.set_value();
}

int freePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

// An etcd of our own on a free port, in a folder that goes with it.
class Etcd {
 public:
  Etcd() : client_(freePort()), peer_(freePort()) {
    const auto clientUrl = fmt::format("http://127.0.0.1:{}", client_);
    const auto peerUrl = fmt::format("http://127.0.0.1:{}", peer_);
    thread_ = std::thread([this, clientUrl, peerUrl] {
      outcome_.set_value(runProgram(
          {.argv = {"etcd", "--data-dir", (folder_.path / "data").string(), "--listen-client-urls",
                    clientUrl, "--advertise-client-urls", clientUrl, "--listen-peer-urls", peerUrl,
                    "--initial-advertise-peer-urls", peerUrl, "--initial-cluster",
                    "default=" + peerUrl, "--log-level", "error"},
           .limit = 10min},
          interrupt_));
    });
  }
  ~Etcd() {
    interrupt_.raise();
    thread_.join();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/v3/kv/put", client_); }
  bool ended() { return result_.wait_for(0s) == std::future_status::ready; }

 private:
  Folder folder_;
  int client_, peer_;
  Interrupt interrupt_;
  std::promise<Result<ProgramOutput>> outcome_;
  std::future<Result<ProgramOutput>> result_ = outcome_.get_future();
  std::thread thread_;
};

Numbers rates(const Numbers& params, double seconds) {
  return {{"putsPerSecond", params.at("puts") / seconds}};
}

}  // namespace

Numbers putMany(const Numbers& params) {
  Folder folder;
  LoopThread thread("store");
  std::unique_ptr<Store> store;
  TaskGroup tasks;
  Run run;
  run.count = static_cast<int>(params.at("puts"));
  run.active = static_cast<int>(params.at("inFlight"));
  const json::value object =
      json::object{{"metadata", json::object{{"resourceVersion", ""}}},
                   {"value", std::string(static_cast<std::size_t>(params.at("bytes")), 'x')}};
  thread.runSync([&] {
    store = std::make_unique<Store>(thread.loop(), Store::Options{});
    store->setJournal(apiserver::makeGroupJournal(
        thread.loop(), apiserver::openSqlite(folder.path / "puts.db").value(),
        [&](Result<std::uint64_t> version) { store->durable(std::move(version)); }));
  });
  const Stopwatch watch;
  thread.loop().post([&] {
    for (int i = run.active; i > 0; --i) tasks.spawn(putSome(thread.loop(), *store, object, run));
  });
  run.done.get_future().wait();
  const double seconds = watch.seconds();
  thread.runSync([&] { store.reset(); });
  return rates(params, seconds);
}

Numbers putManyInEtcd(const Numbers& params) {
  Etcd etcd;
  LoopThread thread("etcd-client");
  net::HttpClient client;
  TaskGroup tasks;
  const auto value =
      net::base64Encode(std::string(static_cast<std::size_t>(params.at("bytes")), 'x'));
  const auto put = [&](int count, int inFlight) {
    Run run;
    run.count = count;
    run.active = inFlight;
    thread.loop().post([&] {
      for (int i = inFlight; i > 0; --i)
        tasks.spawn(putSomeInEtcd(client, thread.loop(), etcd.url(), value, run));
    });
    run.done.get_future().wait();
    return run.failures == 0;
  };
  while (!etcd.ended() && !put(1, 1)) std::this_thread::sleep_for(100ms);
  if (etcd.ended()) return {};
  const Stopwatch watch;
  const bool good =
      put(static_cast<int>(params.at("puts")), static_cast<int>(params.at("inFlight")));
  return good ? rates(params, watch.seconds()) : Numbers{};
}

}  // namespace koord::bench
