#include "cluster/hostnode/probes/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Outcome = ProbeResult::Outcome;

// Answers by the path of an HTTP probe, and records the times of the probes.
class FakeProber final : public Prober {
 public:
  explicit FakeProber(VirtualLoop& loop) : loop_(loop) {}
  std::map<std::string, ProbeResult> answers;
  std::vector<std::pair<std::string, std::int64_t>> asked;  // path, seconds since the beginning
  Duration latency = 1ms;
  bool throws = false;

  Task<ProbeResult> probe(ProbeTarget, spec::Probe probe) override {
    const std::string path = probe.httpGet->path;
    asked.emplace_back(
        path,
        std::chrono::round<std::chrono::seconds>(loop_.steadyNow().time_since_epoch()).count());
    auto pause = sleepFor(loop_, latency);
    co_await pause;
    if (throws) throw std::runtime_error("odd probe");
    co_return answers[path];
  }
  std::vector<std::int64_t> timesOf(const std::string& path) const {
    std::vector<std::int64_t> times;
    for (const auto& [asked, time] : asked)
      if (asked == path) times.push_back(time);
    return times;
  }

 private:
  VirtualLoop& loop_;
};

class ProbesTest : public testing::Test {
 protected:
  ProbesTest() : prober(loop) { restart(); }

  void restart() {
    probes = std::make_unique<Probes>(
        loop, prober, Random(1),
        Probes::Listener{
            [this](const std::string& uid) { changes.push_back(uid); },
            [this](const std::string&, const std::string& container, const char* reason,
                   std::string message) {
              said.push_back(container + " " + reason + ": " + message);
            },
            [this](const std::string&, const std::string& id, ProbeKind kind, const spec::Probe&) {
              failed.push_back(id + " " + std::string(nameOf(kind)));
            }});
  }

  // A pod with one container, which starts now as c1.
  void run(const std::string& probesOfIt) {
    pod = std::make_shared<const HostPod>(
        podOf("u", R"({"containers": [{"name": "main", )" + probesOfIt + "}]}"));
    begin("c1");
  }
  void begin(const std::string& id) {
    running = {{id, "main", loop.wallNow(), {}}};
    probes->set(pod, "127.0.0.1", running);
  }
  static std::string probe(const std::string& kind, const std::string& more) {
    return "\"" + kind + R"(Probe": {"httpGet": {"port": 80, "path": ")" + kind + "\"}" +
           (more.empty() ? "" : ", " + more) + "}";
  }
  void pass(Duration time) {
    for (const auto end = loop.steadyNow() + time; loop.steadyNow() < end;) {
      loop.advance(100ms);
      probes->set(pod, "127.0.0.1", running);  // as the host node does when something changed
    }
  }
  void answer(const std::string& kind, Outcome outcome, std::string output = "") {
    prober.answers[kind] = {outcome, std::move(output)};
  }

  VirtualLoop loop;
  FakeProber prober;
  std::vector<std::string> changes;
  std::vector<std::string> said;
  std::vector<std::string> failed;
  HostPodPtr pod;
  std::vector<Probes::Container> running;
  std::unique_ptr<Probes> probes;
};

TEST_F(ProbesTest, WithoutProbesAContainerIsWellAtOnce) {
  run(R"("image": "i")");
  EXPECT_EQ(probes->healthOf("c1"), (ContainerHealth{true, true}));
  pass(1min);
  EXPECT_THAT(prober.asked, IsEmpty());
}

TEST_F(ProbesTest, ReadinessIsWhatTheProbeSaysAfterTheDelay) {
  run(probe("readiness", R"("initialDelaySeconds": 5, "periodSeconds": 10)"));
  EXPECT_EQ(probes->healthOf("c1"), (ContainerHealth{true, false}));
  pass(4s);
  EXPECT_FALSE(probes->healthOf("c1").ready);
  pass(2s);
  EXPECT_TRUE(probes->healthOf("c1").ready);
  EXPECT_THAT(changes, ElementsAre("u"));
  pass(20s);
  EXPECT_THAT(prober.timesOf("readiness"), ElementsAre(5, 15, 25));
  EXPECT_THAT(changes, ElementsAre("u"));
}

TEST_F(ProbesTest, ThresholdsCountResultsInARow) {
  answer("readiness", Outcome::Success);
  run(probe("readiness", R"("periodSeconds": 1, "successThreshold": 3, "failureThreshold": 2)"));
  pass(1500ms);
  EXPECT_FALSE(probes->healthOf("c1").ready) << "two of three";
  answer("readiness", Outcome::Failure, "no");
  pass(1s);
  answer("readiness", Outcome::Success);
  pass(2s);
  EXPECT_FALSE(probes->healthOf("c1").ready) << "the row was broken";
  pass(1s);
  EXPECT_TRUE(probes->healthOf("c1").ready);
  answer("readiness", Outcome::Failure, "no");
  pass(1s);
  EXPECT_TRUE(probes->healthOf("c1").ready);
  pass(1s);
  EXPECT_FALSE(probes->healthOf("c1").ready);
  EXPECT_EQ(said.back(), "main Unhealthy: Readiness probe failed: no");
  EXPECT_THAT(failed, IsEmpty()) << "nobody is killed for not being ready";
}

TEST_F(ProbesTest, LivenessThatFailsIsToldOnceAndThenProbedNoMore) {
  answer("liveness", Outcome::Failure, "HTTP probe failed with statuscode: 500");
  run(probe("liveness", R"("periodSeconds": 2, "failureThreshold": 3)"));
  pass(30s);
  EXPECT_THAT(prober.timesOf("liveness"), ElementsAre(0, 2, 4));
  EXPECT_THAT(failed, ElementsAre("c1 Liveness"));
  EXPECT_THAT(said, testing::Each("main Unhealthy: Liveness probe failed: HTTP probe failed with "
                                  "statuscode: 500"));
  answer("liveness", Outcome::Success);
  begin("c2");
  pass(3s);
  EXPECT_THAT(failed, ElementsAre("c1 Liveness"));
  EXPECT_GT(prober.timesOf("liveness").size(), 3u) << "the next container is probed anew";
}

TEST_F(ProbesTest, AStartupProbeHoldsTheOthersUp) {
  answer("startup", Outcome::Failure, "not yet");
  run(probe("startup", R"("periodSeconds": 3, "failureThreshold": 10)") + ", " +
      probe("liveness", "") + ", " + probe("readiness", ""));
  pass(8s);
  EXPECT_EQ(probes->healthOf("c1"), (ContainerHealth{false, false}));
  EXPECT_THAT(prober.timesOf("liveness"), IsEmpty());
  EXPECT_THAT(prober.timesOf("readiness"), IsEmpty());
  answer("startup", Outcome::Success);
  pass(2s);
  EXPECT_EQ(probes->healthOf("c1"), (ContainerHealth{true, true}))
      << "readiness is looked at at once";
  pass(30s);
  EXPECT_THAT(prober.timesOf("startup"), ElementsAre(0, 3, 6, 9));
  EXPECT_GT(prober.timesOf("liveness").size(), 2u);
}

TEST_F(ProbesTest, AStartupProbeThatNeverSucceedsFails) {
  answer("startup", Outcome::Failure, "no");
  run(probe("startup", R"("periodSeconds": 1, "failureThreshold": 4)"));
  pass(20s);
  EXPECT_THAT(failed, ElementsAre("c1 Startup"));
  EXPECT_EQ(prober.asked.size(), 4u);
  EXPECT_FALSE(probes->healthOf("c1").started);
}

TEST_F(ProbesTest, AProbeThatCannotBeMadeIsTriedThreeTimesAndSaysNothingOfTheContainer) {
  answer("liveness", Outcome::Error, "no runtime");
  run(probe("liveness", R"("periodSeconds": 5, "failureThreshold": 1)"));
  pass(6s);
  EXPECT_THAT(prober.timesOf("liveness"), ElementsAre(0, 0, 0, 5, 5, 5));
  EXPECT_THAT(failed, IsEmpty());
  EXPECT_THAT(
      said,
      testing::Contains(
          "main Unhealthy: Liveness probe errored and resulted in unknown state: no runtime"));
}

TEST_F(ProbesTest, AProbeThatThrowsIsOneThatCannotBeMade) {
  prober.throws = true;
  run(probe("liveness", R"("periodSeconds": 5, "failureThreshold": 1)"));
  pass(6s);
  EXPECT_THAT(failed, IsEmpty());
  EXPECT_THAT(said, testing::Contains("main Unhealthy: Liveness probe errored and resulted in "
                                      "unknown state: unexpected exception: odd probe"));
  prober.throws = false;
  answer("liveness", Outcome::Failure, "no");
  pass(6s);
  EXPECT_THAT(failed, ElementsAre("c1 Liveness"));
}

TEST_F(ProbesTest, ASlowProbeDoesNotOvertakeItself) {
  prober.latency = 7s;
  run(probe("liveness", R"("periodSeconds": 5, "timeoutSeconds": 8)"));
  pass(20s);
  EXPECT_THAT(prober.timesOf("liveness"), ElementsAre(0, 7, 14));
}

TEST_F(ProbesTest, NobodyIsKilledWhileThePodEnds) {
  run(probe("liveness", R"("periodSeconds": 1, "failureThreshold": 1)") + ", " +
      probe("readiness", R"("periodSeconds": 1, "failureThreshold": 1)"));
  pass(2s);
  probes->stopKilling("u");
  answer("liveness", Outcome::Failure, "gone");
  answer("readiness", Outcome::Failure, "gone");
  pass(5s);
  EXPECT_THAT(failed, IsEmpty());
  EXPECT_FALSE(probes->healthOf("c1").ready);
  probes->forget("u");
  const auto asked = prober.asked.size();
  loop.advance(10s);
  EXPECT_EQ(prober.asked.size(), asked);
}

TEST_F(ProbesTest, AfterARestartOfTheNodeHealthIsWhatItWasUntilAProbeSaysOtherwise) {
  run(probe("startup", "") + ", " +
      probe("readiness", R"("periodSeconds": 10, "failureThreshold": 1)"));
  pass(1s);
  ASSERT_TRUE(probes->healthOf("c1").ready);
  auto known = *pod;
  api::ContainerStatus status;
  status.name = "main";
  status.containerID = "containerd://c1";
  status.started = true;
  status.ready = true;
  known.status.containerStatuses.push_back(status);
  pod = std::make_shared<const HostPod>(known);
  restart();
  answer("readiness", Outcome::Failure, "no");
  const auto startups = prober.timesOf("startup").size();
  probes->set(pod, "127.0.0.1", running);
  EXPECT_EQ(probes->healthOf("c1"), (ContainerHealth{true, true}));
  pass(11s);
  EXPECT_FALSE(probes->healthOf("c1").ready);
  EXPECT_EQ(prober.timesOf("startup").size(), startups) << "it had started";
}

TEST(PortTest, IsANumberOrAName) {
  api::ContainerPort port;
  port.name = "web";
  port.containerPort = 8080;
  const api::List<api::ContainerPort> ports{port};
  EXPECT_EQ(*portOf({80, {}, false}, ports), 80);
  EXPECT_EQ(*portOf({0, "web", true}, ports), 8080);
  EXPECT_EQ(*portOf({0, "81", true}, ports), 81);
  EXPECT_EQ(portOf({0, "x", true}, ports).error().message, "couldn't find port: \"x\"");
  EXPECT_EQ(portOf({70'000, {}, false}, ports).error().message, "invalid port number: 70000");
}

}  // namespace
}  // namespace koord::cluster
