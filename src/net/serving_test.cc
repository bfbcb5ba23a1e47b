#include "net/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "net/fake_responder.h"
#include "net/prometheus.h"

namespace koord::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServingTest : public testing::Test {
 protected:
  FakeResponder ask(const std::string& method, const std::string& target, std::string body = "") {
    const auto responder = std::make_shared<FakeResponder>();
    router.handle({.method = method, .target = target, .body = std::move(body)}, responder);
    EXPECT_TRUE(responder->ended) << target;
    return std::move(*responder);
  }
  static Router::Handler saying(const std::string& what) {
    return [what](const RoutedRequest& request, std::shared_ptr<Responder> responder) {
      sendText(*responder, 200, what + ":" + request.rest);
    };
  }

  Router router;
};

TEST_F(ServingTest, TheLongestRouteWinsAndOnlyFoldersTakeWhatIsBelow) {
  router.add("GET", "/a", saying("a"));
  router.add("GET", "/a/", saying("a/"));
  router.add("GET", "/a/b/", saying("a/b/"));
  router.add("GET", "/a/b/exact", saying("exact"));
  EXPECT_EQ(ask("GET", "/a").body, "a:");
  EXPECT_EQ(ask("GET", "/a/").body, "a/:");
  EXPECT_EQ(ask("GET", "/a/x/y?q=1").body, "a/:x/y");
  EXPECT_EQ(ask("GET", "/a/b").body, "a/:b");
  EXPECT_EQ(ask("GET", "/a/b/c%20d").body, "a/b/:c d");
  EXPECT_EQ(ask("GET", "/a/b/exact").body, "exact:");
  EXPECT_EQ(ask("GET", "/a/b/exact/more").body, "a/b/:exact/more");
  EXPECT_EQ(ask("GET", "/").status, 404);
  EXPECT_EQ(ask("GET", "/ab").status, 404);
  router.add("", "/", saying("root"));
  EXPECT_EQ(ask("PUT", "/ab").body, "root:ab");
}

TEST_F(ServingTest, MethodsAreTold) {
  router.add("GET", "/x", saying("get"));
  router.add("PUT", "/x", saying("put"));
  EXPECT_EQ(ask("HEAD", "/x").body, "get:");
  EXPECT_EQ(ask("PUT", "/x").body, "put:");
  const auto refused = ask("DELETE", "/x");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(headerOf(refused.headers, "Allow"), "GET, PUT");
  EXPECT_EQ(ask("GET", "/%zz").status, 400);
}

TEST_F(ServingTest, HealthIsOkOrALinePerCheck) {
  std::string wrong;
  StandardEndpoints endpoints;
  endpoints.healthz.add("leaderElection", [&] { return wrong; });
  addStandardEndpoints(router, std::move(endpoints));
  EXPECT_EQ(ask("GET", "/healthz").body, "ok");
  EXPECT_EQ(ask("GET", "/healthz?verbose").body, "[+]leaderElection ok\nhealthz check passed\n");
  EXPECT_EQ(ask("GET", "/healthz/leaderElection").body, "ok");
  EXPECT_EQ(ask("GET", "/healthz/other").status, 404);

  wrong = "the lease is lost";
  const auto failed = ask("GET", "/healthz");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body, "[-]leaderElection failed: reason withheld\nhealthz check failed\n");
  EXPECT_EQ(ask("GET", "/healthz/ping").status, 404);
  EXPECT_EQ(ask("GET", "/livez/ping").body, "ok");
  const auto one = ask("GET", "/healthz/leaderElection");
  EXPECT_EQ(one.status, 500);
  EXPECT_EQ(one.body, "internal server error: the lease is lost\n");
  EXPECT_EQ(ask("GET", "/healthz?exclude=leaderElection&exclude=typo&verbose").body,
            "[+]leaderElection excluded: ok\nwarn: some health checks cannot be excluded: no "
            "matches for \"typo\"\nhealthz check passed\n");
  EXPECT_THAT(ask("GET", "/metrics/slis").body,
              HasSubstr("kubernetes_healthcheck{name=\"leaderElection\",type=\"healthz\"} 0\n"
                        "kubernetes_healthcheck{name=\"ping\",type=\"livez\"} 1\n"));
  EXPECT_THAT(ask("GET", "/metrics/slis").body,
              HasSubstr("kubernetes_healthchecks_total{name=\"leaderElection\",status=\"error\","
                        "type=\"healthz\"} 2\n"
                        "kubernetes_healthchecks_total{name=\"leaderElection\",status=\"success\","
                        "type=\"healthz\"} "
                        "3\n"));
  EXPECT_EQ(ask("GET", "/livez").body, "ok");
  EXPECT_EQ(ask("GET", "/readyz").body, "ok");
}

TEST_F(ServingTest, MetricsAreTextAndCanBeReset) {
  prometheus::Registry registry;
  counterFamily(registry, "koord_test_total", "[STABLE] A test.").Add({}).Increment(3);
  counterFamily(registry, "koord_hidden_total", "[STABLE] Not shown.").Add({}).Increment(3);
  int resets = 0;
  addStandardEndpoints(router, {.metrics = [&] { return prometheusText(registry); },
                                .resetMetrics = [&] { ++resets; },
                                .build = {"v1.2.3", "", ""},
                                .features = {{"Gate", "BETA", true}},
                                .disabledMetrics = {"koord_hidden_total"}});
  const auto metrics = ask("GET", "/metrics");
  EXPECT_EQ(headerOf(metrics.headers, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, AllOf(HasSubstr("# TYPE koord_test_total counter\n"),
                                  HasSubstr("koord_test_total 3\n")));
  EXPECT_THAT(metrics.body, Not(HasSubstr("hidden_total")));
  for (const char* line :
       {"git_version=\"v1.2.3\",major=\"1\",minor=\"2\",", "disabled_metrics_total 1\n",
        "kubernetes_feature_enabled{name=\"Gate\",stage=\"BETA\"} 1\n",
        "registered_metrics_total{deprecated_version=\"\",stability_level=\"STABLE\"} 1\n"})
    EXPECT_THAT(metrics.body, HasSubstr(line));
  EXPECT_EQ(ask("DELETE", "/metrics").body, "metrics reset\n");
  EXPECT_EQ(resets, 1);
}

TEST_F(ServingTest, ConfigurationAndVersionAreJson) {
  addStandardEndpoints(router,
                       {.configz = [] { return json::value{{"componentconfig", {{"a", 1}}}}; },
                        .build = {"v1.28.3-dirty", "abc", "today"}});
  EXPECT_EQ(ask("GET", "/configz").body, "{\"componentconfig\":{\"a\":1}}\n");
  const auto version = parseJson(ask("GET", "/version").body);
  ASSERT_TRUE(version);
  EXPECT_EQ(textAt(*version, "major"), "1");
  EXPECT_EQ(textAt(*version, "minor"), "28");
  EXPECT_EQ(textAt(*version, "gitVersion"), "v1.28.3-dirty");
  EXPECT_EQ(ask("GET", "/metrics").status, 404);
  EXPECT_EQ(ask("PUT", "/debug/flags/v", "5").status, 404);
}

TEST_F(ServingTest, WhoeverReachesThePortChangesNothing) {
  int resets = 0;
  const int before = log::verbosity();
  addStandardEndpoints(router, {.metrics = [] { return std::string(); },
                                .resetMetrics = [&] { ++resets; },
                                .debugFlags = true});
  const auto statusOf = [&](const char* method, const char* target, const char* remote, bool tls) {
    const auto responder = std::make_shared<FakeResponder>();
    router.handle({.method = method, .target = target, .body = "3", .remote = remote, .tls = tls},
                  responder);
    return responder->status;
  };
  for (const char* remote : {"10.0.0.7:4711", "[fd00::1]:4711", "[::ffff:10.0.0.7]:4711"}) {
    EXPECT_EQ(statusOf("PUT", "/debug/flags/v", remote, false), 403) << remote;
    EXPECT_EQ(statusOf("DELETE", "/metrics", remote, false), 403) << remote;
    EXPECT_EQ(statusOf("GET", "/metrics", remote, false), 200) << remote;
    EXPECT_EQ(statusOf("GET", "/debug/flags/v", remote, false), 200) << remote;
  }
  EXPECT_EQ(resets, 0);
  EXPECT_EQ(log::verbosity(), before);
  EXPECT_EQ(statusOf("DELETE", "/metrics", "10.0.0.7:4711", true), 200);
  for (const char* remote : {"127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix"})
    EXPECT_EQ(statusOf("DELETE", "/metrics", remote, false), 200) << remote;
  EXPECT_EQ(resets, 5);
}

TEST_F(ServingTest, TheVerbosityIsSetByPut) {
  const int before = log::verbosity();
  addStandardEndpoints(router, {.debugFlags = true});
  EXPECT_EQ(ask("PUT", "/debug/flags/v", "7").body,
            "successfully set klog.logging.verbosity to 7\n");
  EXPECT_EQ(log::verbosity(), 7);
  for (const char* bad : {"", "x", "-1", "5x", "99999999999999"}) {
    EXPECT_EQ(ask("PUT", "/debug/flags/v", bad).status, 400) << bad;
  }
  EXPECT_EQ(ask("PUT", "/debug/flags/v", "x").body,
            "strconv.ParseUint: parsing \"x\": invalid syntax\n");
  EXPECT_EQ(ask("PUT", "/debug/flags/v", "99999999999999").body,
            "strconv.ParseUint: parsing \"99999999999999\": value out of range\n");
  EXPECT_EQ(ask("GET", "/debug/flags/v").body, "7\n");
  EXPECT_EQ(ask("POST", "/debug/flags/v", "8").status, 406);
  EXPECT_EQ(log::verbosity(), 7);
  log::setVerbosity(before);
}

TEST(ListenAddressTest, WithoutAHostItIsLoopbackOutsideOfPods) {
  EXPECT_EQ(listenAddress(":8080", false), "127.0.0.1:8080");
  EXPECT_EQ(listenAddress(":8080", true), ":8080");
  EXPECT_EQ(listenAddress("0.0.0.0:8080", false), "0.0.0.0:8080");
  EXPECT_EQ(listenAddress("[::1]:8080", false), "[::1]:8080");
}

}  // namespace
}  // namespace koord::net
