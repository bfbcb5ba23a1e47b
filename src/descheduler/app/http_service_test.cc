#include "descheduler/app/http_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/embedded_cluster.h"
#include "base/log.h"
#include "descheduler/app/plugin_table.h"
#include "net/fake_responder.h"

namespace koord::descheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The endpoints of a process that deschedules an embedded cluster.
struct Served {
  explicit Served(const std::string& configuration = "") {
    for (const char* crd : {"podmigrationjobs", "reservations"})
      cluster.install(std::string(KOORD_DEPLOY "/crds/scheduling.koordinator.sh_") + crd + ".yaml");
    std::vector<std::string> errors;
    auto prepared = prepare(readConfiguration("apiVersion: descheduler/v1alpha2\n"
                                              "kind: DeschedulerConfiguration\n" +
                                                  configuration,
                                              errors),
                            registry, errors);
    EXPECT_THAT(errors, ::testing::IsEmpty());
    flags.version = "v1.2.3";
    flags.disabledMetrics = {"koord_descheduler_cycle_duration_seconds"};
    descheduler.emplace(cluster, loop, Random(1), Descheduler::Options{std::move(prepared)},
                        registry, metrics);
    service.emplace(
        *descheduler, metrics, loop,
        HttpService::State{
            .unhealthy = [this] { return unhealthy; },
            .clientMetrics =
                [] { return "# HELP rest_client x\n# TYPE rest_client counter\nrest_client 7\n"; },
            .flags = &flags});
    descheduler->start();
    loop.advance(1s);
  }
  ~Served() {
    service.reset();
    descheduler.reset();
    loop.runReady();
  }
  struct Answer {
    int status;
    std::string body;
  };
  Answer ask(std::string method, std::string target, std::string body = "") {
    auto responder = std::make_shared<net::FakeResponder>();
    service->handler()(
        {.method = std::move(method), .target = std::move(target), .body = std::move(body)},
        responder);
    return {responder->status, responder->body};
  }
  std::string get(std::string target) { return ask("GET", std::move(target)).body; }
  int statusOf(std::string target) { return ask("GET", std::move(target)).status; }

  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster{loop};
  Registry registry = pluginTable();
  Metrics metrics;
  Flags flags;
  std::optional<Descheduler> descheduler;
  std::optional<HttpService> service;
  std::string unhealthy;
};

TEST(DeschedulerHttpTest, healthIsThatOfTheLease) {
  Served s;
  EXPECT_EQ(s.get("/healthz"), "ok");
  EXPECT_EQ(s.get("/healthz?verbose"), "[+]leaderElection ok\nhealthz check passed\n");
  EXPECT_EQ(s.get("/healthz/leaderElection"), "ok");
  s.unhealthy = "failed election to renew leadership on lease koord-descheduler";
  EXPECT_EQ(s.statusOf("/healthz"), 500);
  EXPECT_EQ(s.statusOf("/readyz"), 500);
  EXPECT_THAT(s.get("/healthz/leaderElection"), HasSubstr(s.unhealthy));
  EXPECT_EQ(s.statusOf("/healthz?exclude=leaderElection"), 200);
  EXPECT_EQ(s.get("/livez"), "ok") << "the process answers";
}

TEST(DeschedulerHttpTest, withoutElectionHealthIsThatItAnswers) {
  Served s("leaderElection: {leaderElect: false}\n");
  EXPECT_EQ(s.get("/healthz?verbose"), "[+]ping ok\nhealthz check passed\n");
}

TEST(DeschedulerHttpTest, metricsAreThoseOfTheWorkAndOfTheClient) {
  Served s;
  s.metrics.podEvicted("success", "LowNodeLoad", "shop", "n1");
  s.metrics.limited("node");
  const std::string text = s.get("/metrics");
  EXPECT_THAT(text, HasSubstr("descheduler_pods_evicted{namespace=\"shop\",node=\"n1\",result="
                              "\"success\",strategy=\"LowNodeLoad\"} 1"));
  EXPECT_THAT(text, HasSubstr("koord_descheduler_evictions_limited_total{limit=\"node\"} 1"));
  EXPECT_THAT(text, HasSubstr("koord_descheduler_migration_jobs{phase=\"Running\"} 0"));
  EXPECT_THAT(text, HasSubstr("koord_descheduler_arbitration_queue_length 0"));
  EXPECT_THAT(text, HasSubstr("rest_client 7"));
  EXPECT_THAT(text, Not(HasSubstr("koord_descheduler_cycle_duration_seconds_bucket")));
}

TEST(DeschedulerHttpTest, theConfigurationInForceIsShown) {
  Served s("deschedulingInterval: 1m\n");
  EXPECT_THAT(s.get("/configz"), AllOf(StartsWith(R"({"componentconfig":{)"),
                                       HasSubstr(R"("deschedulingInterval":"1m0s")"),
                                       HasSubstr(R"("defaultJobMode":"ReservationFirst")")));
}

TEST(DeschedulerHttpTest, theLastDecisionsAreShown) {
  Served s;
  EXPECT_EQ(s.get("/debug/evictions"), "{\"evictions\":[]}\n");
}

TEST(DeschedulerHttpTest, profilingAndVerbosityAreOnlyThereWhereTheyAreSwitchedOn) {
  Served s;
  const int before = log::verbosity();
  EXPECT_EQ(s.ask("PUT", "/debug/flags/v", "3").status, 200);
  EXPECT_EQ(log::verbosity(), 3);
  EXPECT_NE(s.ask("PUT", "/debug/flags/v", "many").status, 200);
  log::setVerbosity(before);
  EXPECT_EQ(s.statusOf("/debug/pprof/cmdline"), 200);
  Served quiet("enableProfiling: false\n");
  EXPECT_EQ(quiet.statusOf("/debug/pprof/cmdline"), 404);
  EXPECT_EQ(quiet.ask("PUT", "/debug/flags/v", "3").status, 404);
}

TEST(DeschedulerHttpTest, whatIsNotThereIsNotFoundAndMethodsAreChecked) {
  Served s;
  EXPECT_EQ(s.statusOf("/nothing"), 404);
  EXPECT_EQ(s.ask("POST", "/configz").status, 405);
  EXPECT_EQ(s.ask("DELETE", "/debug/evictions").status, 405);
}

}  // namespace
}  // namespace koord::descheduler
