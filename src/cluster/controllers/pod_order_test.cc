#include "cluster/controllers/pod_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const WallTime kNow = *parseTime("2026-01-02T00:00:00Z");

// A pod that has been ready for an hour on a node of its own.
struct Builder {
  api::Pod pod;
  explicit Builder(const std::string& name) {
    pod.metadata.name = pod.metadata.uid = name;
    pod.metadata.creationTimestamp = kNow - 1h;
    pod.spec.nodeName = "node-" + name;
    pod.status.phase = "Running";
    ready(1h);
  }
  Builder& ready(std::optional<Duration> ago) {
    api::PodCondition condition;
    condition.type = "Ready";
    condition.status = ago ? "True" : "False";
    if (ago) condition.lastTransitionTime = kNow - *ago;
    pod.status.conditions.clear();
    pod.status.conditions.push_back(condition);
    return *this;
  }
  Builder& phase(const char* value) {
    pod.status.phase = value;
    return ready(std::nullopt);
  }
  Builder& node(const char* value) {
    pod.spec.nodeName = value;
    return *this;
  }
  Builder& created(Duration ago) {
    pod.metadata.creationTimestamp = kNow - ago;
    return *this;
  }
  Builder& cost(const char* value) {
    pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = value;
    return *this;
  }
  Builder& restarts(int count) {
    api::ContainerStatus status;
    status.restartCount = count;
    pod.status.containerStatuses.push_back(status);
    return *this;
  }
  operator PodPtr() const { return std::make_shared<const api::Pod>(pod); }
};

std::vector<std::string> namesOf(const std::vector<PodPtr>& pods) {
  std::vector<std::string> names;
  for (const auto& pod : pods) names.push_back(pod->metadata.name);
  return names;
}

std::vector<std::string> scaleDown(std::vector<PodPtr> pods) {
  const auto related = pods;
  sortForScaleDown(pods, related, kNow);
  return namesOf(pods);
}

TEST(PodOrderTest, WhoDoesTheLeastGoesFirst) {
  const PodPtr works = Builder("works");
  EXPECT_THAT(scaleDown({works, Builder("unready").ready(std::nullopt),
                         Builder("unknown").phase("Unknown"), Builder("pending").phase("Pending"),
                         Builder("nowhere").phase("Running").node("")}),
              ElementsAre("nowhere", "pending", "unknown", "unready", "works"));
}

TEST(PodOrderTest, AmongPodsThatDoAsMuchTheCostOfDeletionDecides) {
  EXPECT_THAT(scaleDown({Builder("dear").cost("100"), Builder("plain"), Builder("cheap").cost("-5"),
                         Builder("pending").phase("Pending").cost("2147483647")}),
              ElementsAre("pending", "cheap", "plain", "dear"));
  // A text that is not a 32-bit number counts as no cost.
  for (const char* wrong : {"+5", "05", "5x", "", "2147483648", "-"})
    EXPECT_THAT(scaleDown({Builder("b").cost(wrong), Builder("c").cost("1"), Builder("a")}),
                ElementsAre("a", "b", "c"))
        << wrong;
}

TEST(PodOrderTest, ThenWhoSharesItsNodeWithMoreOfTheSame) {
  EXPECT_THAT(scaleDown({Builder("a"), Builder("x").node("n"), Builder("y").node("n")}),
              ElementsAre("x", "y", "a"));
  // Pods of the other sets of its Deployment count, too.
  std::vector<PodPtr> pods = {Builder("a"), Builder("b")};
  sortForScaleDown(pods, {pods[0], pods[1], Builder("old").node("node-b")}, kNow);
  EXPECT_THAT(namesOf(pods), ElementsAre("b", "a"));
}

TEST(PodOrderTest, ThenByMagnitudesOfTimeAndRestarts) {
  EXPECT_THAT(scaleDown({Builder("long"), Builder("short").ready(1min)}),
              ElementsAre("short", "long"));
  EXPECT_THAT(scaleDown({Builder("b").ready(3601s), Builder("a").ready(3600s)}),
              ElementsAre("a", "b"))
      << "about as long: chance";
  EXPECT_THAT(scaleDown({Builder("a"), Builder("b").restarts(3)}), ElementsAre("b", "a"));
  EXPECT_THAT(scaleDown({Builder("a"), Builder("young").created(1min)}), ElementsAre("young", "a"));
}

TEST(PodOrderTest, PodsOfAJobGoByTheirAgeAndAtNoCost) {
  std::vector<PodPtr> pods = {Builder("a").cost("-9"), Builder("b").ready(3599s),
                              Builder("c").phase("Pending")};
  sortForRemoval(pods);
  EXPECT_THAT(namesOf(pods), ElementsAre("c", "b", "a"));
}

}  // namespace
}  // namespace koord::cluster
