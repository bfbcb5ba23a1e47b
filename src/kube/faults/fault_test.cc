// The whole client stack against the embedded server, over a network that loses, delays, repeats
// and refuses, while the server crashes and restarts from its file and clocks jump. Whatever
// happens: no write is lost or applied twice, informers never go back in time, and in the end they
// hold what the server holds.
//
// A few seeds each time; KOORD_FAULT_SEEDS=1000 for more, KOORD_FAULT_SEED=42 for one.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>

#include "api/core.h"
#include "apiserver/http_front.h"
#include "base/log.h"
#include "base/testing/test_folder.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "kube/informer.h"
#include "kube/retry.h"
#include "net/testing/sim_network.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using api::ConfigMap;

const RetryPolicy kPatient{.limit = 24h};

// The server and its file.
class Backend {
 public:
  explicit Backend(VirtualLoop& loop) : loop_(loop), file_(temporaryFile()) {}
  ~Backend() {
    networks_.clear();  // their users are gone
    stop();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
  }

  void start() {
    auto opened = apiserver::Server::open(
        loop_, {.database = file_, .inlineCommits = true, .historyEvents = 32, .seed = ++starts_});
    if (!opened) throw std::runtime_error(opened.error().message);
    server_ = *std::move(opened);
    apiserver::HttpFrontOptions options;
    options.listen = "";
    options.anonymous = true;
    front_ = apiserver::HttpFront::start(*server_, std::move(options)).value();
    for (auto* network : networks_) network->listen(handler());
  }
  // As in a crash: what is under way gets no answer.
  void stop() {
    for (auto* network : networks_) network->listen(nullptr);
    loop_.runReady();
    front_.reset();
    server_.reset();
  }
  bool running() const { return server_ != nullptr; }
  void add(net::SimNetwork& network) {
    networks_.push_back(&network);
    if (running()) network.listen(handler());
  }
  net::HttpServer::Handler handler() {
    return [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
      front_->handle(std::move(request), std::move(responder));
    };
  }

 private:
  static std::string temporaryFile() {
    static int count = 0;
    return fmt::format("{}/fault-{}.db", testMemoryFolder(), ++count);
  }

  VirtualLoop& loop_;
  const std::string file_;
  std::uint64_t starts_ = 0;
  std::vector<net::SimNetwork*> networks_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::HttpFront> front_;
};

// A machine with a connection of its own to the server.
struct Client {
  Client(VirtualLoop& loop, Backend& backend, Random random)
      : network(loop, random.fork()),
        api(network, loop, {.server = "http://server"},
            {.contentTypes = {
                 random.chance(0.5) ? "application/json" : std::string(api::kProtobufType), ""}}) {
    backend.add(network);
  }
  net::SimNetwork network;
  HttpApi api;
};

// An informer that checks the events that it receives.
class Observer {
 public:
  Observer(VirtualLoop& loop, Backend& backend, Random random)
      : client_(loop, backend, random.fork()), informer_(client_.api, loop, {}, random.fork()) {
    informer_.addHandler(
        {[this](const auto& object) { added(*object); },
         [this](const auto& before, const auto& after) { updated(*before, *after); },
         [this](const auto& object) { deleted(*object); }});
    informer_.start();
  }

  Client& client() { return client_; }
  std::map<std::string, std::string> versions() const {
    std::map<std::string, std::string> all;
    for (const auto& object : informer_.objects())
      all[api::keyOf(object->metadata).toString()] = object->metadata.resourceVersion;
    return all;
  }

 private:
  static std::uint64_t versionOf(const ConfigMap& object) {
    return std::stoull(object.metadata.resourceVersion);
  }
  void added(const ConfigMap& object) {
    const auto name = api::keyOf(object.metadata).toString();
    EXPECT_TRUE(known_.emplace(name, versionOf(object)).second) << name << " was added twice";
    // A deleted object does not come back.
    EXPECT_TRUE(uids_.insert(object.metadata.uid).second) << name;
  }
  void updated(const ConfigMap& before, const ConfigMap& after) {
    const auto name = api::keyOf(after.metadata).toString();
    EXPECT_EQ(known_[name], versionOf(before)) << name;
    EXPECT_LT(known_[name], versionOf(after)) << name << " went back in time";
    EXPECT_EQ(before.metadata.uid, after.metadata.uid) << name;
    known_[name] = versionOf(after);
  }
  void deleted(const ConfigMap& object) {
    const auto name = api::keyOf(object.metadata).toString();
    EXPECT_EQ(known_.erase(name), 1u) << name << " was deleted but is not known";
  }

  Client client_;
  std::map<std::string, std::uint64_t> known_;
  std::set<std::string> uids_;
  Informer<ConfigMap> informer_;
};

// Makes, changes and deletes objects, and keeps book of what was acknowledged.
class Writer {
 public:
  Writer(VirtualLoop& loop, Backend& backend, Random random, int number)
      : loop_(loop), client_(loop, backend, random.fork()), random_(random), number_(number) {}

  void start(int steps) { tasks_.spawn(run(steps)); }
  bool done() const { return done_; }
  Client& client() { return client_; }
  const std::map<std::string, std::string>& alive() const { return alive_; }  // name -> uid
  std::string prefix() const { return fmt::format("w{}-", number_); }
  std::string field() const { return fmt::format("writer-{}", number_); }
  const std::string& journal() const { return journal_; }

 private:
  Task<void> run(int steps) {
    for (int step = 0; step < steps; ++step) {
      auto pause = sleepFor(loop_, Duration(random_.below(2'000'000'000)));
      co_await pause;
      const auto kind = random_.below(3);
      if (kind == 0) {
        auto making = make();
        co_await making;
      } else if (kind == 1 && !alive_.empty()) {
        auto removing = remove();
        co_await removing;
      } else {
        auto appending = append(step);
        co_await appending;
      }
    }
    done_ = true;
  }

  Task<void> make() {
    json::value object{{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"namespace", "default"}, {"generateName", prefix()}}}};
    auto creating = createOnce(client_.api, loop_, random_.fork(), ConfigMap::kType,
                               std::move(object), kPatient);
    const auto created = co_await creating;
    EXPECT_TRUE(created) << created.error().message;
    if (created)
      alive_[std::string(textAt(*created, "metadata", "name"))] =
          textAt(*created, "metadata", "uid");
  }

  Task<void> remove() {
    const std::string name = alive_.begin()->first;
    const std::string uid = alive_.begin()->second;
    auto deleting = deleteOnce(client_.api, loop_, random_.fork(), ConfigMap::kType,
                               api::ObjectKey{"default", name}, uid, kPatient);
    const auto deleted = co_await deleting;
    EXPECT_TRUE(deleted) << deleted.error().message;
    alive_.erase(name);
  }

  // Adds a word to a text that only this client writes, in an object that all clients write. A
  // duplicate would show.
  Task<void> append(int step) {
    const std::string word = fmt::format("{},", step);
    Change change = [field = field(),
                     word](const json::value& current) -> std::optional<json::value> {
      const std::string text(textAt(current, "data", field));
      if (text.ends_with("," + word) || text == word) return std::nullopt;
      return json::value{{"data", {{field, text + word}}}};
    };
    auto changing =
        changeObject(client_.api, loop_, random_.fork(), ConfigMap::kType,
                     api::ObjectKey{"default", "shared"}, std::move(change), "", kPatient);
    const auto changed = co_await changing;
    EXPECT_TRUE(changed) << changed.error().message;
    journal_ += word;
  }

  VirtualLoop& loop_;
  Client client_;
  Random random_;
  const int number_;
  std::map<std::string, std::string> alive_;
  std::string journal_;
  bool done_ = false;
  TaskGroup tasks_;
};

class FaultTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { log::setup({.program = "test", .file = "/dev/null"}); }
  static void TearDownTestSuite() { log::setup({.program = "test"}); }

  static net::NetworkFaults someFaults(Random& random) {
    net::NetworkFaults faults;
    const auto sometimes = [&](double worst) {
      return random.chance(0.5) ? random.unit() * worst : 0;
    };
    faults.minDelay = 1ms;
    faults.maxDelay = random.chance(0.3) ? 3s : 50ms;
    faults.refuse = sometimes(0.3);
    faults.loseRequest = sometimes(0.3);
    faults.loseAnswer = sometimes(0.3);
    faults.repeat = sometimes(0.3);
    faults.swallow = random.chance(0.1) ? 1 : sometimes(0.1);
    faults.overload = random.chance(0.1) ? 1 : sometimes(0.3);
    faults.cut = sometimes(0.1);
    return faults;
  }

  static Task<void> prepare(Api* api, bool* done) {
    const json::value shared{{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", {{"namespace", "default"}, {"name", "shared"}}}};
    auto creating = createObject(*api, ConfigMap::kType, api::ObjectKey{"default", ""}, shared);
    const auto created = co_await creating;
    *done = created.has_value();
  }
  static Task<void> readAll(Api* api, std::map<std::string, ConfigMap>* all) {
    auto listing = list<ConfigMap>(*api);
    auto listed = co_await listing;
    for (auto& item : listed->items) (*all)[api::keyOf(item.metadata).toString()] = std::move(item);
  }

  static void run(std::uint64_t seed) {
    SCOPED_TRACE(fmt::format("KOORD_FAULT_SEED={}", seed));
    Random random(seed);
    VirtualLoop loop;
    Backend backend(loop);
    backend.start();
    std::list<Observer> observers;
    std::list<Writer> writers;
    for (int i = 0; i < 2; ++i) observers.emplace_back(loop, backend, random.fork());
    for (int i = 0; i < 3; ++i) writers.emplace_back(loop, backend, random.fork(), i);
    std::vector<net::SimNetwork*> networks;
    for (auto& observer : observers) networks.push_back(&observer.client().network);
    for (auto& writer : writers) networks.push_back(&writer.client().network);

    TaskGroup tasks;
    bool prepared = false;
    tasks.spawn(prepare(&writers.front().client().api, &prepared));
    ASSERT_TRUE(loop.advanceUntil([&] { return prepared; }, 1min));

    for (auto& writer : writers) writer.start(12);
    for (int phase = 0; phase < 12; ++phase) {
      for (auto* network : networks) network->faults = someFaults(random);
      if (random.chance(0.3)) {
        backend.stop();
        loop.advance(Duration(random.below(5'000'000'000)));
        backend.start();
      }
      if (random.chance(0.3)) loop.jumpWallClock(random.chance(0.5) ? 26h : -26h);
      if (random.chance(0.3)) networks[random.below(networks.size())]->breakAll();
      loop.advance(Duration(random.below(20'000'000'000)));
    }

    for (auto* network : networks) network->faults = {};
    const auto allDone = [&] { return std::ranges::all_of(writers, &Writer::done); };
    ASSERT_TRUE(loop.advanceUntil(allDone, 1h));
    loop.advance(15min);

    std::map<std::string, ConfigMap> stored;
    tasks.spawn(readAll(&writers.front().client().api, &stored));
    loop.advance(1s);
    std::map<std::string, std::string> versions, expected{{"default/shared", ""}};
    for (const auto& [key, object] : stored) versions[key] = object.metadata.resourceVersion;
    for (auto& observer : observers) EXPECT_EQ(observer.versions(), versions);
    for (auto& writer : writers) {
      const auto& data = stored["default/shared"].data;
      const auto it = data.find(writer.field());
      EXPECT_EQ(it == data.end() ? "" : it->second, writer.journal());
      for (const auto& [name, uid] : writer.alive()) expected["default/" + name] = "";
    }
    for (auto& [key, version] : versions) version.clear();
    for (const auto& known : {"kube-system/", "kube-public/", "kube-node-lease/"})
      std::erase_if(versions, [&](const auto& entry) { return entry.first.starts_with(known); });
    EXPECT_EQ(versions, expected);
  }
};

TEST_F(FaultTest, NothingIsLostOrDoneTwiceAndInformersAgreeWithTheServer) {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
  };
  if (const auto seed = number("KOORD_FAULT_SEED")) return run(seed);
  const std::uint64_t seeds = std::max<std::uint64_t>(number("KOORD_FAULT_SEEDS"), 6);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) run(seed);
}

}  // namespace
}  // namespace koord::kube
