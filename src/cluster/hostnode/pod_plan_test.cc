#include "cluster/hostnode/pod_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Phase = RuntimeContainer::Phase;

const WallTime kNow = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + 1h;

RuntimeContainer container(std::string name, int attempt, Phase phase, int exitCode = 0,
                           Duration endedAgo = 1s, Duration ranFor = 5s) {
  RuntimeContainer c;
  c.name = std::move(name);
  c.id = c.name + std::to_string(attempt);
  c.attempt = attempt;
  c.phase = phase;
  c.exitCode = exitCode;
  c.finishedAt = kNow - endedAgo;
  c.startedAt = c.finishedAt - ranFor;
  c.reason = exitCode == 0 ? "Completed" : "Error";
  return c;
}

struct Seen {
  HostPod pod;
  std::vector<RuntimeContainer> containers;
  std::map<std::string, api::ContainerStateWaiting> failures;

  PodPlan plan() const {
    return planPod({std::make_shared<const HostPod>(pod), containers, failures, kNow, "127.0.0.1"});
  }
  std::vector<std::string> starts() const {
    std::vector<std::string> names;
    for (const auto& start : plan().starts)
      names.push_back(start.container->name + std::to_string(start.attempt));
    return names;
  }
};

HostPod twoContainers(const std::string& policy) {
  return podOf("u", R"({"restartPolicy": ")" + policy +
                        R"(", "containers": [{"name": "a"}, {"name": "b"}]})");
}
HostPod withInit(const std::string& policy) {
  return podOf("u", R"({"restartPolicy": ")" + policy + R"(",
      "initContainers": [{"name": "i"}, {"name": "side", "restartPolicy": "Always"}, {"name": "j"}],
      "containers": [{"name": "a"}]})");
}

TEST(PodPlanTest, EphemeralContainersRunOnceAndDecideNothing) {
  Seen seen{podOf("u", R"({"containers": [{"name": "a"}],
                           "ephemeralContainers": [{"name": "e"}]})"),
            {container("a", 0, Phase::Running)},
            {}};
  EXPECT_THAT(seen.starts(), ElementsAre("e0"));
  seen.containers.push_back(container("e", 0, Phase::Exited, 3));
  const auto plan = seen.plan();
  EXPECT_THAT(plan.starts, IsEmpty());
  EXPECT_EQ(plan.status.phase, "Running");
  ASSERT_EQ(plan.ephemeralStatuses.size(), 1U);
  EXPECT_EQ(plan.ephemeralStatuses[0].state.terminated->exitCode, 3);
  EXPECT_FALSE(plan.ephemeralStatuses[0].ready);
  seen.containers = {container("a", 0, Phase::Exited, 0), container("e", 0, Phase::Running)};
  seen.pod.spec.restartPolicy = "Never";
  EXPECT_THAT(seen.plan().stops, ElementsAre("e0"));
}

TEST(PodPlanTest, ANewPodStartsAllItsContainersAndIsPending) {
  const Seen seen{twoContainers("Always"), {}, {}};
  EXPECT_THAT(seen.starts(), ElementsAre("a0", "b0"));
  EXPECT_EQ(seen.plan().status.phase, "Pending");
  EXPECT_EQ(seen.plan().status.containerStatuses.at(0).state.waiting->reason, "ContainerCreating");
}

TEST(PodPlanTest, RunningContainersMakeAReadyPod) {
  const Seen seen{twoContainers("Always"),
                  {container("a", 0, Phase::Running), container("b", 2, Phase::Running)},
                  {}};
  const auto plan = seen.plan();
  EXPECT_THAT(plan.starts, IsEmpty());
  EXPECT_EQ(plan.status.phase, "Running");
  EXPECT_EQ(plan.status.containerStatuses.at(1).restartCount, 2);
  EXPECT_EQ(plan.status.containerStatuses.at(1).containerID, "containerd://b2");
  for (const auto& condition : plan.status.conditions)
    EXPECT_EQ(condition.status, "True") << condition.type;
}

TEST(PodPlanTest, TheFirstRestartIsAtOnceAndTheNextWaits) {
  const Seen first{twoContainers("Always"),
                   {container("a", 0, Phase::Exited, 1), container("b", 0, Phase::Running)},
                   {}};
  EXPECT_THAT(first.starts(), ElementsAre("a1"));

  const Seen second{twoContainers("Always"),
                    {container("a", 0, Phase::Exited, 1), container("a", 1, Phase::Exited, 1, 4s),
                     container("b", 0, Phase::Running)},
                    {}};
  const auto plan = second.plan();
  EXPECT_THAT(plan.starts, IsEmpty());
  EXPECT_EQ(plan.wakeAt, kNow - 4s + 10s);
  const auto& status = plan.status.containerStatuses.at(0);
  EXPECT_EQ(status.state.waiting->reason, "CrashLoopBackOff");
  EXPECT_EQ(status.state.waiting->message,
            "back-off 10s restarting failed container=a pod=pod-u_default");
  EXPECT_EQ(status.lastState.terminated->exitCode, 1);
  EXPECT_EQ(plan.status.phase, "Running");
}

TEST(PodPlanTest, ALongRunEndsTheCrashLoop) {
  const Seen seen{
      twoContainers("Always"),
      {container("a", 7, Phase::Exited, 1, 1s, 11min), container("b", 0, Phase::Running)},
      {}};
  EXPECT_THAT(seen.starts(), ElementsAre("a8"));
}

TEST(PodPlanTest, BackoffDoublesUpToFiveMinutes) {
  EXPECT_EQ(crashBackoff(0), 0s);
  EXPECT_EQ(crashBackoff(1), 10s);
  EXPECT_EQ(crashBackoff(3), 40s);
  EXPECT_EQ(crashBackoff(6), 5min);
  EXPECT_EQ(crashBackoff(1'000'000), 5min);
}

struct EndCase {
  const char* name;
  const char* policy;
  int exitA;
  int exitB;
  const char* phase;
  std::vector<std::string> starts;
};
class PodEndTest : public testing::TestWithParam<EndCase> {};
TEST_P(PodEndTest, PhaseAndRestartsFollowThePolicy) {
  const auto& expected = GetParam();
  const Seen seen{twoContainers(expected.policy),
                  {container("a", 0, Phase::Exited, expected.exitA),
                   container("b", 0, Phase::Exited, expected.exitB)},
                  {}};
  EXPECT_EQ(seen.plan().status.phase, expected.phase);
  EXPECT_EQ(seen.starts(), expected.starts);
}
INSTANTIATE_TEST_SUITE_P(
    Policies, PodEndTest,
    testing::Values(EndCase{"NeverAndAllGood", "Never", 0, 0, "Succeeded", {}},
                    EndCase{"NeverAndOneBad", "Never", 0, 3, "Failed", {}},
                    EndCase{"OnFailureAndAllGood", "OnFailure", 0, 0, "Succeeded", {}},
                    EndCase{"OnFailureAndOneBad", "OnFailure", 0, 3, "Running", {"b1"}},
                    EndCase{"AlwaysAndAllGood", "Always", 0, 0, "Running", {"a1", "b1"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PodPlanTest, InitContainersRunOneAfterTheOtherAndSidecarsStay) {
  EXPECT_THAT((Seen{withInit("Always"), {}, {}}).starts(), ElementsAre("i0"));
  EXPECT_THAT((Seen{withInit("Always"), {container("i", 0, Phase::Running)}, {}}).starts(),
              IsEmpty());
  const auto done = container("i", 0, Phase::Exited);
  EXPECT_THAT((Seen{withInit("Always"), {done}, {}}).starts(), ElementsAre("side0"));
  const auto side = container("side", 0, Phase::Running);
  EXPECT_THAT((Seen{withInit("Always"), {done, side}, {}}).starts(), ElementsAre("j0"));
  const auto last = container("j", 0, Phase::Exited);
  EXPECT_THAT((Seen{withInit("Always"), {done, side, last}, {}}).starts(), ElementsAre("a0"));
  EXPECT_EQ((Seen{withInit("Always"), {done, side}, {}}).plan().status.phase, "Pending");
}

TEST(PodPlanTest, AFailedInitContainerFailsAPodThatNeverRestarts) {
  const Seen seen{withInit("Never"), {container("i", 0, Phase::Exited, 1)}, {}};
  EXPECT_EQ(seen.plan().status.phase, "Failed");
  EXPECT_THAT(seen.starts(), IsEmpty());
  EXPECT_THAT((Seen{withInit("OnFailure"), {container("i", 0, Phase::Exited, 1)}, {}}).starts(),
              ElementsAre("i1"));
}

TEST(PodPlanTest, TheSidecarIsStoppedWhenTheRestIsDone) {
  const Seen seen{withInit("Never"),
                  {container("i", 0, Phase::Exited), container("side", 0, Phase::Running),
                   container("j", 0, Phase::Exited), container("a", 0, Phase::Exited)},
                  {}};
  EXPECT_THAT(seen.plan().stops, ElementsAre("side0"));
  EXPECT_EQ(seen.plan().status.phase, "Succeeded");
}

TEST(PodPlanTest, TheDeadlineEndsAPodThatStillRuns) {
  Seen seen{podOf("u", R"({"activeDeadlineSeconds": 60, "containers": [{"name": "a"}]})"),
            {container("a", 0, Phase::Running)},
            {}};
  seen.pod.status.startTime = kNow - 59s;
  EXPECT_EQ(seen.plan().status.phase, "Running");
  EXPECT_EQ(seen.plan().wakeAt, kNow + 1s);
  seen.pod.status.startTime = kNow - 60s;
  EXPECT_EQ(seen.plan().status.phase, "Failed");
  EXPECT_EQ(seen.plan().status.reason, "DeadlineExceeded");
  EXPECT_THAT(seen.plan().stops, ElementsAre("a0"));
}

TEST(PodPlanTest, OnlyTheLastTwoRunsOfAContainerAreKept) {
  const Seen seen{twoContainers("Always"),
                  {container("a", 3, Phase::Exited, 1), container("a", 4, Phase::Exited, 1),
                   container("a", 5, Phase::Running), container("b", 0, Phase::Running)},
                  {}};
  EXPECT_THAT(seen.plan().forget, ElementsAre("a3"));
}

TEST(PodPlanTest, AContainerThatCannotBeMadeSaysWhy) {
  Seen seen{twoContainers("Always"), {container("b", 0, Phase::Running)}, {}};
  seen.failures["a"] = {"CreateContainerConfigError", "command is empty"};
  const api::ContainerState state = seen.plan().status.containerStatuses.at(0).state;
  ASSERT_TRUE(state.waiting);
  EXPECT_EQ(state.waiting->reason, "CreateContainerConfigError");
}

TEST(PodPlanTest, HealthDecidesWhatIsStartedAndReady) {
  Seen seen{withInit("Always"),
            {container("i", 0, Phase::Exited), container("side", 0, Phase::Running),
             container("j", 0, Phase::Exited), container("a", 0, Phase::Running)},
            {}};
  const auto planWith = [&](ContainerHealth side, ContainerHealth main) {
    PodObservation observation{std::make_shared<const HostPod>(seen.pod), seen.containers,
                               seen.failures, kNow, "127.0.0.1"};
    observation.health = [=](const std::string& id) { return id == "side0" ? side : main; };
    return planPod(observation);
  };
  const auto conditionOf = [](const PodPlan& plan, const char* type) {
    const auto found = std::ranges::find(plan.status.conditions, type, &api::PodCondition::type);
    return found->status + " " + found->message;
  };
  auto plan = planWith({}, {true, false});
  EXPECT_TRUE(plan.status.containerStatuses[0].started.value());
  EXPECT_FALSE(plan.status.containerStatuses[0].ready);
  EXPECT_EQ(conditionOf(plan, "Ready"), "False containers with unready status: [a]");
  EXPECT_EQ(plan.status.phase, "Running");
  plan = planWith({true, false}, {false, false});
  EXPECT_FALSE(plan.status.containerStatuses[0].started.value());
  EXPECT_EQ(conditionOf(plan, "ContainersReady"), "False containers with unready status: [side a]");
  EXPECT_EQ(conditionOf(planWith({}, {}), "Ready"), "True ");
}

TEST(PodPlanTest, WhatComesAfterASidecarWaitsUntilThatHasStarted) {
  Seen seen{withInit("Always"),
            {container("i", 0, Phase::Exited), container("side", 0, Phase::Running)},
            {}};
  PodObservation observation{std::make_shared<const HostPod>(seen.pod), seen.containers,
                             seen.failures, kNow, "127.0.0.1"};
  observation.health = [](const std::string&) { return ContainerHealth{false, false}; };
  EXPECT_THAT(planPod(observation).starts, IsEmpty());
  observation.health = [](const std::string&) { return ContainerHealth{true, false}; };
  EXPECT_EQ(planPod(observation).starts.size(), 1u);
}

TEST(PodPlanTest, TheNextContainerWaitsForThePostStartHookOfTheOneBefore) {
  Seen seen{twoContainers("Always"), {container("a", 0, Phase::Running)}, {}};
  PodObservation observation{std::make_shared<const HostPod>(seen.pod), seen.containers,
                             seen.failures, kNow, "127.0.0.1"};
  observation.settingUp = {"a0"};
  EXPECT_THAT(planPod(observation).starts, IsEmpty());
  EXPECT_FALSE(planPod(observation).status.containerStatuses[0].ready);
  observation.settingUp.clear();
  EXPECT_EQ(planPod(observation).starts.size(), 1u);
}

TEST(PodPlanTest, AContainerThatAProbeHadKilledHasFailedHoweverItEnded) {
  Seen seen{twoContainers("OnFailure"),
            {container("a", 0, Phase::Exited, 0), container("b", 0, Phase::Running)},
            {}};
  EXPECT_THAT(seen.starts(), IsEmpty());
  PodObservation observation{std::make_shared<const HostPod>(seen.pod), seen.containers,
                             seen.failures, kNow, "127.0.0.1"};
  observation.unhealthy = {"a0"};
  EXPECT_EQ(planPod(observation).starts.size(), 1u);
}

TEST(PodPlanTest, AReadinessGateKeepsAPodUnready) {
  Seen seen{podOf("u", R"({"readinessGates": [{"conditionType": "example.com/gate"}],
                           "containers": [{"name": "a"}]})"),
            {container("a", 0, Phase::Running)},
            {}};
  const auto ready = [&] {
    const auto plan = seen.plan();
    const auto& conditions = plan.status.conditions;
    return *std::ranges::find(conditions, "Ready", &api::PodCondition::type);
  };
  EXPECT_EQ(ready().status, "False");
  EXPECT_EQ(ready().reason, "ReadinessGatesNotReady");
  EXPECT_EQ(ready().message,
            "corresponding condition of pod readiness gate \"example.com/gate\" does not exist.");
  seen.pod.status.conditions.push_back({.type = "example.com/gate", .status = "False"});
  EXPECT_EQ(ready().message,
            "the status of pod readiness gate \"example.com/gate\" is not \"True\", but False");
  seen.pod.status.conditions.back().status = "True";
  EXPECT_EQ(ready().status, "True");
}

}  // namespace
}  // namespace koord::cluster
