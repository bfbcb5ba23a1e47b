// A disk that is full and later is not: reads and watches continue, writes are rejected, no
// acknowledged write is lost, and no other write is ever visible.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <semaphore>
#include <set>

#include "apiserver/health.h"
#include "apiserver/testing.h"
#include "base/event_loop.h"
#include "base/random.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// The state that outlives a FakeStorage, like a disk.
struct Disk {
  StoredState state;
  std::function<bool()> isFull = [] { return false; };
  int tries = 0, probes = 0;

  std::set<std::string> keys(const std::string& table) const {
    std::set<std::string> out;
    for (const auto& object : state.objects)
      if (object.table == table) out.insert(object.key);
    return out;
  }
};

class FakeStorage final : public Storage {
 public:
  explicit FakeStorage(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}
  Result<StoredState> load() override { return disk_->state; }
  Result<> apply(std::span<const Change> changes) override {
    ++disk_->tries;
    if (disk_->isFull()) return full();
    for (const auto& change : changes) {
      std::erase_if(disk_->state.objects, [&](const StoredObject& object) {
        return object.table == change.table && object.key == change.key;
      });
      if (change.entry)
        disk_->state.objects.push_back(
            {change.table, change.key, change.version, change.entry->text});
      disk_->state.version = change.version;
    }
    return {};
  }
  Result<> probe() override {
    ++disk_->probes;
    return disk_->isFull() ? full() : Result<>();
  }

 private:
  static Result<> full() {
    return fail(ErrorCode::Io, "/data/cluster.db: cannot be written: database or disk is full");
  }
  std::shared_ptr<Disk> disk_;
};

class StorageFailureTest : public ServerTest {
 protected:
  void SetUp() override {
    options.inlineCommits = true;
    options.openStorage = [disk = disk]() -> Result<std::unique_ptr<Storage>> {
      return std::make_unique<FakeStorage>(disk);
    };
    options.onStorage = [this](const Error* failure) {
      health.push_back(failure ? failure->message : "well");
    };
    ServerTest::SetUp();
  }
  void fill() {
    full = true;
    disk->isFull = [this] { return full; };
  }
  void free() {
    full = false;
    loop.advance(6s);
  }
  std::vector<std::string> pods() {
    std::vector<std::string> out;
    const auto list = get(kPods);
    for (const auto& item : list.body.at("items").get_array())
      out.emplace_back(textAt(item, "metadata", "name"));
    return out;
  }
  std::string version() {
    const auto list = get(kPods);
    return std::string(textAt(list.body, "metadata", "resourceVersion"));
  }

  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::vector<std::string> health;
  bool full = false;
};

TEST_F(StorageFailureTest, writesAre507AndEverythingElseGoesOn) {
  post(kPods, pod("before"));
  auto& log = watch(kPods);
  const auto told = version();
  fill();
  const auto refused = post(kPods, pod("lost"));
  EXPECT_EQ(refused.status, 507);
  EXPECT_EQ(refused.reason(), "InsufficientStorage");
  EXPECT_EQ(refused.body.at("kind"), "Status");
  EXPECT_EQ(refused.body.at("code"), 507);
  EXPECT_EQ(
      refused.message(),
      "the storage accepts no writes: /data/cluster.db: cannot be written: database or disk is "
      "full; reads and watches continue, and writes are accepted again when the storage works");
  EXPECT_THAT(pods(), ElementsAre("before"));
  EXPECT_EQ(version(), told);
  EXPECT_EQ(get(std::string(kPods) + "/lost").status, 404);
  EXPECT_EQ(watch(kPods).lines, std::vector<std::string>{"ADDED before"});
  EXPECT_TRUE(log.ended.empty());
  // Further writes do not reach the disk.
  const int tries = disk->tries;
  EXPECT_EQ(remove(std::string(kPods) + "/before").status, 507);
  EXPECT_EQ(disk->tries, tries);
  EXPECT_EQ(health.size(), 1u);

  free();
  ASSERT_EQ(health.size(), 2u);
  EXPECT_EQ(health[1], "well");
  EXPECT_EQ(post(kPods, pod("after")).status, 201);
  EXPECT_THAT(log.lines, ElementsAre("ADDED before", "ADDED after"));
  EXPECT_THAT(pods(), ElementsAre("after", "before"));
  EXPECT_EQ(disk->keys("pods"), (std::set<std::string>{"default/after", "default/before"}));
}

TEST_F(StorageFailureTest, theStorageIsProbedLessAndLessOften) {
  fill();
  post(kPods, pod("lost"));
  loop.advance(300ms);
  EXPECT_EQ(disk->probes, 1);
  loop.advance(1h);
  EXPECT_GT(disk->probes, 700);
  EXPECT_LT(disk->probes, 730);
  EXPECT_EQ(disk->tries, 2) << "that of the default objects, and the one that failed";
}

TEST_F(StorageFailureTest, whoReadWhatIsTakenBackReadsAgain) {
  post(kPods, pod("kept"));
  fill();
  // All in one turn: the reads see the new pod, which is reverted before they are answered.
  Answer created, listed, got, changed;
  tasks.spawn(collect(server.get(), routed("POST", kPods, pod("lost"), "", ""), &created));
  tasks.spawn(
      collect(server.get(),
              routed("PATCH", std::string(kPods) + "/kept", R"({"metadata":{"labels":{"a":"b"}}})",
                     "application/merge-patch+json", ""),
              &changed));
  tasks.spawn(collect(server.get(), routed("GET", kPods, "", "", ""), &listed));
  tasks.spawn(collect(server.get(), routed("GET", std::string(kPods) + "/lost", "", "", ""), &got));
  auto& log = watch(kPods);
  EXPECT_EQ(created.status, 507);
  EXPECT_EQ(changed.status, 507);
  EXPECT_EQ(got.status, 404);
  ASSERT_EQ(listed.status, 200);
  ASSERT_EQ(listed.body.at("items").get_array().size(), 1u);
  EXPECT_EQ(textAt(listed.body.at("items").get_array()[0], "metadata", "labels", "a"), "");
  EXPECT_THAT(log.lines, ElementsAre("ADDED kept"));
  // The versions of reverted changes are reused, and watchers receive their second use, too.
  free();
  EXPECT_EQ(post(kPods, pod("new")).status, 201);
  EXPECT_THAT(log.lines, ElementsAre("ADDED kept", "ADDED new"));
}

TEST_F(StorageFailureTest, kindsAndQuotasAreAsBefore) {
  post("/api/v1/namespaces/default/resourcequotas",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"2"}}})");
  post(kPods, pod("one"));
  fill();
  EXPECT_EQ(post(kPods, pod("lost")).status, 507);
  full = false;
  loop.advance(6s);
  full = true;
  constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  constexpr const char* kCrd =
      R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
      "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[{"name":"v1","served":true,"storage":true}]}})";
  EXPECT_EQ(post(kCrds, kCrd).status, 507);
  EXPECT_EQ(get("/apis/example.com/v1/gizmos").status, 404);
  free();
  EXPECT_EQ(post(kPods, pod("two")).status, 201) << "the lost one is not charged";
  EXPECT_EQ(post(kPods, pod("three")).status, 403);
  EXPECT_EQ(post(kCrds, kCrd).status, 201);
  EXPECT_EQ(
      post("/apis/example.com/v1/namespaces/default/gizmos", R"({"metadata":{"name":"g"}})").status,
      201);
  // The reverse: the deletion of a kind is reverted.
  fill();
  EXPECT_EQ(remove(std::string(kCrds) + "/gizmos.example.com").status, 507);
  EXPECT_EQ(get("/apis/example.com/v1/namespaces/default/gizmos/g").status, 200);
  free();
  EXPECT_EQ(get("/apis/example.com/v1/namespaces/default/gizmos/g").status, 200);
}

TEST_F(StorageFailureTest, readinessSaysSoAndDoesNotFail) {
  const auto ask = [&](const char* path) {
    return answerHealth(*net::parseTarget(path), server->store().failure()).value();
  };
  EXPECT_EQ(ask("/readyz").text, "ok");
  EXPECT_EQ(ask("/readyz?verbose").text,
            "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]storage-writes ok\nreadyz check passed\n");
  EXPECT_EQ(ask("/readyz/storage-writes").status, 200);
  fill();
  post(kPods, pod("lost"));
  EXPECT_EQ(ask("/readyz").status, 200);
  EXPECT_EQ(ask("/readyz?verbose&exclude=log").text,
            "[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\n[-]storage-writes failed: reason "
            "withheld (reads and watches continue)\nreadyz check passed\n");
  EXPECT_EQ(ask("/readyz/storage-writes").status, 500);
  EXPECT_THAT(ask("/readyz/storage-writes").text, HasSubstr("database or disk is full"));
  EXPECT_EQ(ask("/livez?verbose").text, "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n");
  EXPECT_EQ(ask("/livez/other").status, 404);
  EXPECT_FALSE(answerHealth(*net::parseTarget("/version"), {}));
}

// Writers on a disk that fails now and then: in the end the server, its answers, the watchers and
// the disk agree.
TEST_F(StorageFailureTest, whatIsAcknowledgedIsWhatIsThere) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    logs.clear();
    answers.clear();
    server.reset();
    *disk = {};
    openServer();
    Random random(seed);
    disk->isFull = [&] { return random.below(3) == 0; };
    auto& log = watch(kPods);
    std::set<std::string> acknowledged;
    for (int round = 0; round < 50; ++round) {
      std::list<std::pair<std::string, Answer>> batch;
      for (std::uint64_t i = 0; i < 1 + random.below(4); ++i) {
        const auto name = "p" + std::to_string(random.below(30));
        const bool create = random.below(2) == 0;
        auto& [what, answer] = batch.emplace_back((create ? "+" : "-") + name, Answer{});
        tasks.spawn(collect(server.get(),
                            create ? routed("POST", kPods, pod(name), "", "")
                                   : routed("DELETE", std::string(kPods) + "/" + name,
                                            R"({"gracePeriodSeconds":0})", "", ""),
                            &answer));
      }
      loop.runReady();
      for (const auto& [what, answer] : batch) {
        ASSERT_NE(answer.status, 0);
        if (answer.status >= 300) continue;
        if (what[0] == '+') acknowledged.insert("default/" + what.substr(1));
        if (what[0] == '-') acknowledged.erase("default/" + what.substr(1));
      }
      ASSERT_EQ(disk->keys("pods"), acknowledged) << "seed " << seed << " round " << round;
      loop.advance(std::chrono::milliseconds(random.below(3'000)));
    }
    std::set<std::string> seen, present;
    for (const auto& line : log.lines) {
      if (line.starts_with("ADDED ")) seen.insert("default/" + line.substr(6));
      if (line.starts_with("DELETED ")) seen.erase("default/" + line.substr(8));
    }
    for (const auto& [key, entry] : server->store().table("pods").entries()) present.insert(key);
    EXPECT_EQ(present, acknowledged) << "seed " << seed;
    EXPECT_EQ(seen, acknowledged) << "seed " << seed;
  }
}

// The same with the thread that writes batches, as in a program.
TEST(GroupJournalTest, dropsWhatFollowsAFailureUntilItIsTakenBack) {
  LoopThread thread("storage");
  auto disk = std::make_shared<Disk>();
  std::atomic<bool> full = false;
  disk->isFull = [&] { return full.load(); };
  std::unique_ptr<Journal> journal;
  std::vector<std::string> outcomes;  // loop only
  std::binary_semaphore told{0};
  const auto change = [](std::uint64_t version) {
    return Change{version, "pods", "p" + std::to_string(version), std::make_shared<Entry>()};
  };
  thread.runSync([&] {
    journal = makeGroupJournal(thread.loop(), std::make_unique<FakeStorage>(disk),
                               [&](Result<std::uint64_t> version) {
                                 outcomes.push_back(version ? std::to_string(*version) : "failed");
                                 told.release();
                               });
    journal->append(change(1));
  });
  told.acquire();
  full = true;
  thread.runSync([&] { journal->append(change(2)); });
  told.acquire();
  full = false;
  thread.runSync([&] {
    journal->append(change(3));  // depends on 2
    journal->resume();
    journal->append(change(2));  // reused version
  });
  told.acquire();
  thread.runSync([&] {
    journal->probe([&](Result<> outcome) {
      outcomes.push_back(outcome ? "probed" : "probe failed");
      told.release();
    });
  });
  told.acquire();
  thread.runSync([&] {
    EXPECT_THAT(outcomes, ElementsAre("1", "failed", "2", "probed"));
    journal.reset();
  });
  EXPECT_EQ(disk->keys("pods"), (std::set<std::string>{"p1", "p2"}));
}

// A real file that cannot grow: SQLite's own behaviour.
TEST(SqliteFailureTest, aFileThatCannotGrowIsWrittenAgainWhenItCan) {
  std::string folder = ::testing::TempDir() + "full-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/cluster.db";
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto entry = [](std::string text) {
    auto made = std::make_shared<Entry>();
    made->text = std::move(text);
    return made;
  };
  {
    auto storage = openSqlite(path).value();
    const Change first{1, "pods", "first", entry("{}")};
    ASSERT_TRUE(storage->apply({&first, 1}));
    const auto log = std::filesystem::file_size(path + "-wal");
    rlimit limit{log + 8192, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Change large{2, "pods", "large", entry(std::string(100'000, 'x'))};
    const auto refused = storage->apply({&large, 1});
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("cluster.db: cannot be written: "));
    limit.rlim_cur = log;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_FALSE(storage->probe());
    ::setrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(storage->probe());
    const Change second{2, "pods", "second", entry("{}")};
    EXPECT_TRUE(storage->apply({&second, 1}));
  }
  const auto state = openSqlite(path).value()->load();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->version, 2u);
  ASSERT_EQ(state->objects.size(), 2u);
  EXPECT_EQ(state->objects[0].key, "first");
  EXPECT_EQ(state->objects[1].key, "second");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace koord::apiserver::testing
