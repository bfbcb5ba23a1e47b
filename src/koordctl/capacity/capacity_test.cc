#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/yaml.h"
#include "koordctl/capacity/capacity_question.h"
#include "koordctl/capacity/capacity_text.h"
#include "koordctl/simulate/snapshot_simulation.h"

namespace koord::koordctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CapacityQuestion, requests_become_a_pod_whose_extended_resources_have_limits) {
  const CapacityQuestion question{.requests = "cpu=4,memory=8Gi,koordinator.sh/gpu-core=50",
                                  .priorityClass = "koord-prod",
                                  .qos = "LS"};
  const auto specs = capacitySpecs(question, "team", {});
  ASSERT_TRUE(specs) << specs.error().message;
  ASSERT_EQ(specs->size(), 1u);
  const json::value& pod = memberOf(specs->front(), "objects").get_array().at(0);
  EXPECT_EQ(textAt(pod, "metadata", "namespace"), "team");
  EXPECT_EQ(textAt(pod, "metadata", "labels", "koordinator.sh/qosClass"), "LS");
  EXPECT_EQ(textAt(pod, "spec", "priorityClassName"), "koord-prod");
  const json::value& resources =
      memberOf(at(pod, "spec", "containers")->get_array().at(0), "resources");
  EXPECT_EQ(toJson(memberOf(resources, "limits")), R"({"koordinator.sh/gpu-core":"50"})");
  EXPECT_EQ(textAt(resources, "requests", "cpu"), "4");
  EXPECT_EQ(toJson(memberOf(specs->front(), "fill")), R"({"pools":""})");
}

// Standard input, and a pipe, can be read once.
TEST(CapacityQuestion, all_pods_count_in_each_asked_quota_and_files_are_read_once) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  constexpr std::string_view kPod = "{apiVersion: v1, kind: Pod, metadata: {name: p}}";
  ASSERT_EQ(::write(pipe[1], kPod.data(), kPod.size()), std::ssize(kPod));
  ::close(pipe[1]);
  const auto specs =
      capacitySpecs({.files = {fmt::format("/dev/fd/{}", pipe[0])}}, "team", {"blue", "red"});
  ::close(pipe[0]);
  ASSERT_TRUE(specs) << specs.error().message;
  std::vector<std::string_view> quotas;
  for (const json::object& spec : *specs)
    for (const json::value& pod : memberOf(spec, "objects").get_array())
      quotas.push_back(textAt(pod, "metadata", "labels", "quota.scheduling.koordinator.sh/name"));
  EXPECT_THAT(quotas, ElementsAre("blue", "red"));
}

TEST(CapacityQuestion, wrong_amounts_and_flags_are_named) {
  EXPECT_EQ(capacitySpecs({.requests = "cpu"}, "n", {}).error().message,
            "--requests \"cpu\": expected amounts as cpu=8,memory=32Gi");
  EXPECT_EQ(capacitySpecs({.requests = "cpu=-1"}, "n", {}).error().message,
            "--requests \"cpu=-1\": expected amounts as cpu=8,memory=32Gi");
  EXPECT_EQ(problemOf(CapacityQuestion{}), "one of --filename and --requests");
  EXPECT_EQ(problemOf(CapacityQuestion{.files = {"f"}, .requests = "cpu=1"}),
            "one of --filename and --requests");
  EXPECT_EQ(problemOf(CapacityQuestion{.requests = "cpu=1", .nodesFor = true}),
            "--nodes-for: needs one of --shape and --like");
  EXPECT_EQ(problemOf(CapacityQuestion{.requests = "cpu=1", .like = "a"}),
            "--shape and --like: need --nodes-for");
  EXPECT_EQ(problemOf(CapacityQuestion{.requests = "cpu=1", .nodesFor = true, .like = "a"}), "");
}

json::value resultWith(std::string_view status) {
  return json::object{{"status", *parseYaml(status)}};
}

TEST(CapacityText, shows_pools_and_what_stays_free) {
  const json::value result = resultWith(R"(
complete: true
fill:
  copies: 5
  podsPerCopy: 1
  pods: 5
  of: Deployment default/web
  full: true
  message: "0/2 nodes are available: 2 Insufficient cpu."
  pools:
    label: zone
    list:
    - name: east
      nodes: 2
      pods: 5
      allocatable: {cpu: "8", memory: 16Gi, example.com/none: "0"}
      before: {cpu: "6", memory: 12Gi, example.com/none: "0"}
      after: {cpu: 1500m, memory: 10Gi, example.com/none: "0"}
      unusable: [{plugin: NodeResourcesFit, reasons: [Insufficient cpu], nodes: 2, free: {cpu: 1500m, memory: 10Gi}}]
)");
  EXPECT_EQ(capacityText(result), R"(5 more pods of Deployment default/web fit

Pools by label zone

  POOL  NODES  PODS  CPU FREE  THEN  MEMORY FREE  THEN
  east  2      5     6         1.5   12Gi         10Gi

What stays free

  POOL  NODES  CPU  MEMORY  WHY NO FURTHER POD FITS
  east  2      1.5  10Gi    NodeResourcesFit: Insufficient cpu

Rejected 0/2 nodes are available: 2 Insufficient cpu.
)");
  EXPECT_TRUE(hasCapacity(result));
}

TEST(CapacityText, tells_none_from_at_least_none) {
  const json::value none = resultWith("fill: {copies: 0, podsPerCopy: 3, full: true}");
  EXPECT_EQ(capacityText(none), "no more copies of 3 pods fit\n");
  EXPECT_FALSE(hasCapacity(none));
  EXPECT_EQ(capacityText(resultWith("fill: {copies: 1, podsPerCopy: 3, full: false}")),
            "at least 1 more copy of 3 pods fits\n");
}

TEST(CapacityText, a_quota_that_the_scheduler_lacks_is_known_if_quotas_are_shown) {
  const json::value result = resultWith("quotas: [{name: blue}]");
  EXPECT_TRUE(hasQuota(result, "blue"));
  EXPECT_FALSE(hasQuota(result, "red"));
  EXPECT_FALSE(hasQuota(resultWith("quotas: []"), "red"));
  EXPECT_TRUE(hasQuota(resultWith("{}"), "red"));
}

TEST(CapacityText, a_number_of_nodes_has_its_bound_and_the_use) {
  const json::value result = resultWith(R"(
complete: true
nodesFor:
  pods: 8
  count: 8
  tooFew: 7
  lowerBound: 6
  placed: 7
  pending: 1
  message: 7 Insufficient cpu
  resources: [{name: cpu, requested: "24", perNode: "4", nodes: 6, use: 75.0}]
)");
  EXPECT_EQ(capacityText(result), R"(8 nodes for 8 pods; 7 are too few
no scheduler needs less than 6

  RESOURCE  REQUESTED  PER NODE  NODES AT LEAST  USE
  cpu       24         4         6               75 %

Rejected on 7 nodes, 1 of 8 pods: 7 Insufficient cpu
)");
  EXPECT_TRUE(hasCapacity(result));
  EXPECT_THAT(capacityText(resultWith("{complete: true, nodesFor: {pods: 2, tooFew: 2}}")),
              HasSubstr("no number of nodes is known to be enough for 2 pods; 2 are too few"));
  EXPECT_THAT(capacityText(resultWith("{complete: false, nodesFor: {pods: 9, tooFew: 2}}")),
              HasSubstr("more than 2 nodes for 9 pods"));
}

TEST(CapacityText, amounts_have_four_digits) {
  const std::pair<const char*, const char*> cases[] = {
      {"1400Ki", "1.367Mi"}, {"12500m", "12.5"}, {"9999", "9999"},
      {"123456", "123.5k"},  {"0", "0"},         {"", ""}};
  for (const auto& [quantity, amount] : cases) EXPECT_EQ(shortAmount(quantity), amount);
}

TEST(Capacity, nodes_are_counted_without_a_cluster) {
  auto specs = capacitySpecs({.requests = "cpu=3", .nodesFor = true, .shape = "cpu=4,memory=8Gi"},
                             "default", {"a", "b"});
  ASSERT_TRUE(specs) << specs.error().message;
  const auto answers = simulateOnNothing(*std::move(specs));
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 2u);
  for (const SimulationAnswer& answer : *answers)
    EXPECT_THAT(capacityText(answer.result), HasSubstr("1 node for 1 pod; 0 are too few"));
}

}  // namespace
}  // namespace koord::koordctl
