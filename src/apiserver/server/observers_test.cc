#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

TEST_F(ServerTest, anObserverHearsOfChangesAtOnceAndMayMakeFurtherOnes) {
  std::vector<std::string> seen;
  auto& store = server->store();
  auto& maps = store.table("configmaps");
  const auto resource = server->registry().findByTable("configmaps");
  store.observe(maps, [&](const Event& event) {
    seen.push_back((event.now ? "+" : "-") +
                   std::string((event.now ? event.now : event.before)->name()));
    if (!event.now || event.now->name() != "first") return;
    const auto second = *parseJson(R"({"metadata":{"namespace":"default","name":"second"}})");
    store.put(maps, draftOf(second, *resource), second);
  });
  auto& log = watch("/api/v1/namespaces/default/configmaps");
  post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"first"}})");
  EXPECT_EQ(seen, (std::vector<std::string>{"+first", "+second"}));
  // Watchers receive the changes in the order in which they were made.
  EXPECT_EQ(log.lines, (std::vector<std::string>{"ADDED first", "ADDED second"}));
  remove("/api/v1/namespaces/default/configmaps/first");
  EXPECT_EQ(seen.back(), "-first");
}

TEST(StoreTest, LargeObjectsThatChangeOftenDoNotFillTheMemoryWithTheirPast) {
  VirtualLoop loop;
  Store store(loop, {.historyEvents = 1000, .historyBytes = 100'000});
  auto& maps = store.table("configmaps");
  const std::uint64_t begun = store.version();
  for (int i = 0; i < 200; ++i) {
    store.put(maps, {"a/m", {}, {}},
              json::object{{"metadata", json::object{}}, {"data", std::string(10'000, 'x')}});
    loop.runReady();
  }
  EXPECT_GT(maps.oldestVersion(), begun + 180);
  EXPECT_LT(maps.oldestVersion(), store.version());
}

struct Silent final : Watcher {
  void onEvent(const Event&) override {}
};

TEST(StoreTest, WatchersThatHaveGoneLeaveNothingBehindWhereNothingHappens) {
  VirtualLoop loop;
  Store store(loop, {});
  auto& maps = store.table("configmaps");
  for (int i = 0; i < 1000; ++i) {
    Silent watcher;
    store.subscribe(maps, watcher, store.version());
    store.unsubscribe(maps, watcher);
  }
  EXPECT_EQ(maps.watcherCount(), 0u);
}

}  // namespace
}  // namespace koord::apiserver::testing
