// Two replicas of koord-descheduler on one cluster: the leader dies at any of its writes, loses the
// lease or is terminated, and the other continues from there.

#include "descheduler/app/plugin_table.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/migration/world_test.h"
#include "kube/leader_election.h"

namespace koord::descheduler {
namespace {

constexpr const char* kConfiguration = R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 10s
profiles:
- name: koord-descheduler
  pluginConfig:
  - name: MigrationController
    args: {landing: {enabled: false}}
)";

PreparedConfiguration preparedFor(const Registry& registry) {
  std::vector<std::string> errors;
  auto prepared = prepare(readConfiguration(kConfiguration, errors), registry, errors);
  EXPECT_THAT(errors, ::testing::IsEmpty());
  return prepared;
}

// A cluster with a namespace for the lease and pods to move.
struct LeaderWorld : MigrationWorld {
  LeaderWorld() {
    api.install(KOORD_DEPLOY "/manifests/00-namespace.yaml");
    workload("web", 4);
  }
};

// A process: it deschedules while it holds the lease, and ends when it loses it.
class Replica {
 public:
  Replica(apiserver::EmbeddedCluster& cluster, VirtualLoop& loop, const std::string& name,
          std::uint64_t seed)
      : api(cluster),
        registry_(pluginTable()),
        descheduler_(std::in_place, api, loop, Random(seed),
                     Descheduler::Options{preparedFor(registry_)}, registry_, metrics_) {
    kube::LeaderElectionOptions options =
        kube::electionOptions(descheduler_->prepared().configuration.leaderElection);
    options.identity = name;
    elector_.emplace(
        api, loop, options, Random(seed + 1),
        [this] {
          leads = true;
          descheduler_->start();
        },
        [this] { lost = true; });
    elector_->start();
  }
  void kill() {
    leads = false;
    elector_.reset();
    descheduler_.reset();
  }
  // Ends it as by SIGTERM.
  void end(VirtualLoop& loop) {
    bool ended = false;
    descheduler_->stop([&] { elector_->release([&] { ended = true; }); });
    EXPECT_TRUE(loop.advanceUntil([&] { return ended; }, 5s));
    kill();
  }

  CrashingApi api;
  bool leads = false;
  bool lost = false;  // the lease

 private:
  Registry registry_;
  Metrics metrics_;
  std::optional<Descheduler> descheduler_;
  std::optional<kube::LeaderElector> elector_;
};

// "" = the job succeeded and its pod was evicted once, in spite of the leader change.
std::string wrongAfter(MigrationWorld& w) {
  if (w.job("j").status.phase != "Succeeded") return w.stateOf("j");
  if (w.evictionsOf("web-0") != 1) return fmt::format("{} evictions", w.evictionsOf("web-0"));
  for (const auto& room : w.list(api::Reservation::kType))
    if (textAt(room, "status", "phase") != "Succeeded") return "a Reservation is left over";
  return "";
}

TEST(LeaderChangeTest, whoeverDiesAtAnyWriteTheOtherGoesOnFromThere) {
  int deaths = 0;
  for (const bool afterwards : {false, true}) {
    for (int at = 1; at < 60; ++at) {
      LeaderWorld w;
      Replica first(w.api, w.loop, "first", 1);
      w.run(1s);
      ASSERT_TRUE(first.leads);
      first.api.writes = 0;
      first.api.crashAt = at;
      first.api.afterwards = afterwards;
      Replica second(w.api, w.loop, "second", 11);
      w.move("j", "web-0");
      for (int i = 0; i < 100 && !first.api.dead; ++i) w.run(200ms);
      if (!first.api.dead) break;
      ++deaths;
      first.kill();
      EXPECT_FALSE(second.leads) << "the lease has not run out yet";
      w.run(90s);
      EXPECT_TRUE(second.leads);
      EXPECT_EQ(wrongAfter(w), "") << "write " << at << (afterwards ? " after" : " before");
      second.kill();
    }
  }
  EXPECT_GE(deaths, 20);
}

TEST(LeaderChangeTest, whoEndsInGoodOrderGivesTheLeaseBack) {
  LeaderWorld w;
  Replica first(w.api, w.loop, "first", 1);
  w.run(1s);
  Replica second(w.api, w.loop, "second", 11);
  w.move("j", "web-0");
  w.run(1s);
  first.end(w.loop);
  w.run(5s);
  EXPECT_TRUE(second.leads) << "it need not wait until the lease runs out";
  w.run(30s);
  EXPECT_EQ(wrongAfter(w), "");
  second.kill();
}

TEST(LeaderChangeTest, whoCannotRenewTheLeaseStopsBeforeAnotherBegins) {
  LeaderWorld w;
  Replica first(w.api, w.loop, "first", 1);
  w.run(1s);
  Replica second(w.api, w.loop, "second", 11);
  w.run(3s);
  first.api.dead = true;  // it has no network
  w.move("j", "web-0");
  for (int i = 0; i < 150 && !first.lost && !second.leads; ++i) w.run(200ms);
  EXPECT_TRUE(first.lost);
  EXPECT_FALSE(second.leads);
  first.kill();
  w.run(60s);
  EXPECT_TRUE(second.leads);
  EXPECT_EQ(wrongAfter(w), "");
  second.kill();
}

TEST(LeaderChangeTest, aStandbyWritesNothingButItsWishToLead) {
  LeaderWorld w;
  Replica first(w.api, w.loop, "first", 1);
  w.run(1s);
  Replica second(w.api, w.loop, "second", 11);
  w.move("j", "web-0");
  w.run(60s);
  EXPECT_FALSE(second.leads);
  EXPECT_THAT(second.api.log, ::testing::IsEmpty());
  EXPECT_EQ(wrongAfter(w), "");
  first.kill();
  second.kill();
}

}  // namespace
}  // namespace koord::descheduler
