#include "model/pod_requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"

namespace koord::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

api::Pod pod(std::string_view text) {
  auto decoded = api::decodeText<api::Pod>(text);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded.value_or(api::Pod());
}

std::vector<std::pair<std::string, std::string>> texts(const api::ResourceList& list) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [name, amount] : list) result.emplace_back(name, amount.toString());
  return result;
}

TEST(PodRequests, AreTheSumOfContainersOrTheLargestInitContainerPlusOverhead) {
  const auto p = pod(R"({"spec": {
    "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}},
                   {"name": "b", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
    "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}],
    "overhead": {"cpu": "250m"}}})");
  EXPECT_THAT(texts(podRequests(p)), ElementsAre(Pair("cpu", "2250m"), Pair("memory", "1Gi")));
  EXPECT_THAT(texts(podRequests(p, {.excludeOverhead = true})),
              ElementsAre(Pair("cpu", "2"), Pair("memory", "1Gi")));
}

TEST(PodRequests, CountSidecarsBesideTheInitContainersAfterThem) {
  constexpr std::string_view kSidecarA =
      R"({"name": "A", "restartPolicy": "Always", "resources": {"requests": {"cpu": "300m"}}})";
  constexpr std::string_view kInitB = R"({"name": "B", "resources": {"requests": {"cpu": "1"}}})";
  constexpr std::string_view kRest =
      R"({"name": "C", "restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}}],
         "containers": [{"name": "c", "resources": {"requests": {"cpu": "600m"}}}]}})";
  const auto withOrder = [&](std::string_view first, std::string_view second) {
    return texts(
        podRequests(pod(std::string(R"({"spec": {"initContainers": [)") + std::string(first) + "," +
                        std::string(second) + "," + std::string(kRest))));
  };
  EXPECT_THAT(withOrder(kSidecarA, kInitB), ElementsAre(Pair("cpu", "1300m")));
  EXPECT_THAT(withOrder(kInitB, kSidecarA), ElementsAre(Pair("cpu", "1100m")));
}

TEST(PodRequests, TakeAmountsOfTheWholePodForTheNamesItMayHave) {
  const auto p = pod(R"({"spec": {
    "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
                   {"name": "b", "resources": {"requests": {"cpu": "1", "example.com/gpu": "2"}}}],
    "resources": {"requests": {"cpu": "3", "example.com/gpu": "7"}},
    "overhead": {"cpu": "100m"}}})");
  EXPECT_THAT(texts(podRequests(p)), ElementsAre(Pair("cpu", "3100m"), Pair("example.com/gpu", "2"),
                                                 Pair("memory", "1Gi")));
  EXPECT_THAT(
      texts(podRequests(p, {.skipPodLevel = true})),
      ElementsAre(Pair("cpu", "2100m"), Pair("example.com/gpu", "2"), Pair("memory", "1Gi")));
}

TEST(PodRequests, OfARunningContainerAreTheMostOfAskedGrantedAndInForce) {
  const auto resized = [](std::string_view asked, std::string_view conditions) {
    return pod(R"({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": ")" +
               std::string(asked) + R"("}}}]}, "status": {"conditions": [)" +
               std::string(conditions) + R"(], "containerStatuses": [{"name": "a",
               "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "900m"}}}]}})");
  };
  constexpr std::string_view kInfeasible =
      R"({"type": "PodResizePending", "reason": "Infeasible"})";
  constexpr std::string_view kDeferred = R"({"type": "PodResizePending", "reason": "Deferred"})";
  const PodRequestOptions status{.useStatus = true};
  EXPECT_THAT(texts(podRequests(resized("500m", ""), status)), ElementsAre(Pair("cpu", "1")));
  EXPECT_THAT(texts(podRequests(resized("2", ""), status)), ElementsAre(Pair("cpu", "2")));
  EXPECT_THAT(texts(podRequests(resized("2", kDeferred), status)), ElementsAre(Pair("cpu", "2")));
  EXPECT_THAT(texts(podRequests(resized("2", kInfeasible), status)), ElementsAre(Pair("cpu", "1")));
  EXPECT_THAT(texts(podRequests(resized("500m", ""))), ElementsAre(Pair("cpu", "500m")));
  EXPECT_TRUE(isResizeInfeasible(resized("2", kInfeasible)));
  EXPECT_FALSE(isResizeDeferred(resized("2", kInfeasible)));
  EXPECT_TRUE(isResizeDeferred(resized("2", kDeferred)));
}

TEST(PodRequests, UseTheStatusOfSidecarsAndOfThePodButNotOfInitContainers) {
  const auto p = pod(R"({"spec": {
    "initContainers": [
      {"name": "i", "resources": {"requests": {"cpu": "1"}}},
      {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
    "resources": {"requests": {"memory": "1Gi"}}},
    "status": {
      "initContainerStatuses": [
        {"name": "i", "resources": {"requests": {"cpu": "9"}}},
        {"name": "s", "resources": {"requests": {"cpu": "3"}}}],
      "resources": {"requests": {"memory": "2Gi"}}, "allocatedResources": {"memory": "3Gi"}}})");
  EXPECT_THAT(texts(podRequests(p, {.useStatus = true})),
              ElementsAre(Pair("cpu", "3"), Pair("memory", "1Gi")));
  EXPECT_THAT(texts(podRequests(p, {.usePodStatus = true})),
              ElementsAre(Pair("cpu", "1"), Pair("memory", "3Gi")));
}

// A best-effort pod of a kubelet that reports CPU shares, which koordlet set, as a cpu request.
TEST(PodRequests, LeaveOutWhatTheStatusReportsAndTheSpecDoesNotAskFor) {
  constexpr std::string_view kAsked =
      R"("resources": {"requests": {"kubernetes.io/batch-cpu": "1000"}})";
  constexpr std::string_view kReported =
      R"("allocatedResources": {"kubernetes.io/batch-cpu": "1000"},
      "resources": {"requests": {"cpu": "1", "memory": "1Gi", "kubernetes.io/batch-cpu": "1000"},
                    "limits": {"cpu": "1"}})";
  const auto p = pod(fmt::format(
      R"({{"spec": {{
        "initContainers": [{{"name": "s", "restartPolicy": "Always", {0}}}],
        "containers": [{{"name": "c", {0}}}]}},
      "status": {{"initContainerStatuses": [{{"name": "s", {1}}}],
                  "containerStatuses": [{{"name": "c", {1}}}]}}}})",
      kAsked, kReported));
  EXPECT_THAT(texts(podRequests(p, {.useStatus = true})),
              ElementsAre(Pair("kubernetes.io/batch-cpu", "2k")));
  EXPECT_THAT(texts(podLimits(p, {.useStatus = true})), IsEmpty());
  const auto totals = podTotals(p);
  EXPECT_EQ(totals.milliCpu, 0);
  EXPECT_EQ(totals.memory, 0);
  EXPECT_EQ(totals.nonZeroMilliCpu, 200);
}

TEST(PodRequests, OfOneResourceInAResizeDoNotBringInAnother) {
  const auto p = pod(R"({"spec": {"containers": [{"name": "c", "resources": {"requests": {
        "memory": "1Gi"}}}]},
      "status": {"containerStatuses": [{"name": "c", "allocatedResources": {"memory": "2Gi"},
        "resources": {"requests": {"cpu": "3", "memory": "2Gi"}}}]}})");
  EXPECT_THAT(texts(podRequests(p, {.useStatus = true})), ElementsAre(Pair("memory", "2Gi")));
}

TEST(PodRequests, OfTheWholePodHaveTheNamesOfItsSpec) {
  const auto p = pod(R"({"spec": {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "containers": [{"name": "c"}]},
      "status": {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
        "resources": {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi"}}}})");
  EXPECT_THAT(texts(podRequests(p, {.useStatus = true, .usePodStatus = true})),
              ElementsAre(Pair("cpu", "2"), Pair("memory", "0")));
}

TEST(RunningRequest, IsOfContainersAndSidecarsAlone) {
  const auto p = pod(R"({"spec": {
    "containers": [{"name": "a", "resources": {"requests": {"kubernetes.io/batch-cpu": "1000"}}},
                   {"name": "b", "resources": {"requests": {"kubernetes.io/batch-cpu": "-5"}}}],
    "initContainers": [
      {"name": "i", "resources": {"requests": {"kubernetes.io/batch-cpu": "9000"}}},
      {"name": "s", "restartPolicy": "Always",
       "resources": {"requests": {"kubernetes.io/batch-cpu": "500"}}}],
    "overhead": {"kubernetes.io/batch-cpu": "100"}}})");
  EXPECT_EQ(runningRequest(p.spec, "kubernetes.io/batch-cpu"), Quantity::of(1500));
  EXPECT_EQ(podRequests(p).at("kubernetes.io/batch-cpu"), Quantity::of(9100));
}

TEST(PodLimit, IsTheMostAtAnyTimeAndNothingOnceAContainerHasNone) {
  const auto limited = [](std::string_view init, std::string_view sidecar) {
    return pod(fmt::format(
        R"({{"spec": {{"overhead": {{"kubernetes.io/batch-memory": "10"}},
          "initContainers": [
            {{"name": "s", "restartPolicy": "Always", "resources": {{"limits": {{{}}}}}}},
            {{"name": "i", "resources": {{"limits": {{{}}}}}}}],
          "containers": [{{"name": "c", "resources": {{"limits": {{
            "kubernetes.io/batch-memory": "100"}}}}}}]}}}})",
        sidecar, init));
  };
  constexpr std::string_view kName = "kubernetes.io/batch-memory";
  constexpr std::string_view k50 = R"("kubernetes.io/batch-memory": "50")";
  constexpr std::string_view k300 = R"("kubernetes.io/batch-memory": "300")";
  EXPECT_EQ(podLimit(limited(k50, k50).spec, kName), Quantity::of(160));
  EXPECT_EQ(podLimit(limited(k300, k50).spec, kName), Quantity::of(360));
  EXPECT_EQ(podLimit(limited("", k50).spec, kName), std::nullopt);
  EXPECT_EQ(podLimit(limited(k50, "").spec, kName), std::nullopt);
  const auto whole = pod(R"({"spec": {"resources": {"limits": {"memory": "300"}},
      "containers": [{"name": "c"}]}})");
  EXPECT_EQ(podLimit(whole.spec, "memory"), Quantity::of(300));
  EXPECT_EQ(podLimit(whole.spec, "cpu"), std::nullopt);
}

TEST(PodLimits, LeaveOutContainersWithoutLimitAndOverheadWithoutLimit) {
  const auto p = pod(R"({"spec": {
    "containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "0"}}}, {"name": "b"}],
    "overhead": {"cpu": "250m", "memory": "1Gi", "ephemeral-storage": "1Gi"}}})");
  EXPECT_THAT(texts(podLimits(p)), ElementsAre(Pair("cpu", "1250m"), Pair("memory", "0")));
  EXPECT_THAT(texts(podLimits(p, {.excludeOverhead = true})),
              ElementsAre(Pair("cpu", "1"), Pair("memory", "0")));
  EXPECT_THAT(texts(podLimits(pod(R"({"spec": {"containers": [{"name": "a"}]}})"))), IsEmpty());
}

TEST(PodTotals, CountContainersThatAskForNothingInTheNonZeroAmountsOnly) {
  const auto totals = podTotals(pod(R"({"spec": {"containers": [
    {"name": "a", "resources": {"requests": {"cpu": "200m"}}}, {"name": "b"}]}})"));
  EXPECT_EQ(totals.milliCpu, 200);
  EXPECT_EQ(totals.memory, 0);
  EXPECT_EQ(totals.nonZeroMilliCpu, 300);
  EXPECT_EQ(totals.nonZeroMemory, 2 * 200 * 1024 * 1024);
  const auto zero = podTotals(pod(R"({"spec": {"containers": [
    {"name": "a", "resources": {"requests": {"cpu": "0", "memory": "0"}}}]}})"));
  EXPECT_EQ(zero.nonZeroMilliCpu, 0);
  EXPECT_EQ(zero.nonZeroMemory, 0);
}

TEST(PodTotals, GiveNoDefaultForANameThatAPodWithItsOwnAmountsHas) {
  const auto totals =
      podTotals(pod(R"({"spec": {"resources": {"requests": {"cpu": "1"}}, "containers": [
    {"name": "a", "resources": {"requests": {"memory": "1Gi"}}}, {"name": "b"}]}})"));
  EXPECT_EQ(totals.nonZeroMilliCpu, 1000);
  EXPECT_EQ(totals.nonZeroMemory, std::int64_t{1} << 30);
}

TEST(PodTotals, RoundUpAndKeepOnlyResourcesThatAreCounted) {
  const auto totals =
      podTotals(pod(R"({"spec": {"containers": [{"name": "a", "resources": {"requests": {
    "cpu": "100100u", "memory": "1500m", "ephemeral-storage": "1Ki", "storage": "1Gi",
    "kubernetes.io/batch-cpu": "1500", "hugepages-2Mi": "4Mi", "example.com/gpu": "2",
    "requests.example.com/gpu": "2"}}}]}})"));
  EXPECT_EQ(totals.milliCpu, 101);
  EXPECT_EQ(totals.memory, 2);
  EXPECT_EQ(totals.ephemeralStorage, 1024);
  EXPECT_THAT(totals.scalars,
              ElementsAre(Pair("example.com/gpu", 2), Pair("hugepages-2Mi", 4 << 20),
                          Pair("kubernetes.io/batch-cpu", 1500)));
}

}  // namespace
}  // namespace koord::model
