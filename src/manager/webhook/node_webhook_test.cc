#include "manager/webhook/node_webhook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace koord::manager {
namespace {

using testing::HasSubstr;

json::value nodeWith(std::string_view cpu, std::string_view annotations) {
  return parseJson(fmt::format(
                       R"({{"metadata":{{"name":"n","annotations":{}}},"status":{{"allocatable":{{
      "cpu":"{}","memory":"10Gi","pods":"110"}}}}}})",
                       annotations, cpu))
      .value();
}
constexpr const char* kRatio =
    R"({"node.koordinator.sh/resource-amplification-ratio":"{\"cpu\":1.50,\"memory\":1.00}"})";
constexpr const char* kAmplifiedNode =
    R"({"node.koordinator.sh/resource-amplification-ratio":"{\"cpu\":1.50,\"memory\":1.00}",
        "node.koordinator.sh/raw-allocatable":"{\"cpu\":\"10\",\"memory\":\"10Gi\"}"})";

std::string cpuOf(const json::value& node) {
  return std::string(textAt(node, "status", "allocatable", "cpu"));
}
std::string rawOf(const json::value& node) {
  return std::string(
      textAt(node, "metadata", "annotations", "node.koordinator.sh/raw-allocatable"));
}

TEST(Amplification, ANodeOffersItsRatioOfWhatItHas) {
  json::value node = nodeWith("10", kRatio);
  ASSERT_TRUE(amplify(nodeWith("10", "{}"), node));
  EXPECT_EQ(cpuOf(node), "15");
  EXPECT_EQ(textAt(node, "status", "allocatable", "memory"), "10Gi");
  EXPECT_EQ(rawOf(node), R"({"cpu":"10","memory":"10Gi"})");
}

TEST(Amplification, WritingTheAmplifiedAmountsBackChangesNothing) {
  json::value node = nodeWith("15", kAmplifiedNode);
  const json::value before = node;
  ASSERT_TRUE(amplify(before, node));
  EXPECT_EQ(node, before);
}

TEST(Amplification, AKubeletThatFindsOtherAmountsIsBelieved) {
  json::value node = nodeWith("12", kAmplifiedNode);
  ASSERT_TRUE(amplify(nodeWith("15", kAmplifiedNode), node));
  EXPECT_EQ(cpuOf(node), "18");
  EXPECT_EQ(rawOf(node), R"({"cpu":"12","memory":"10Gi"})");
}

TEST(Amplification, WithoutARatioWhatWasKeptIsForgotten) {
  json::value node =
      nodeWith("15", R"({"node.koordinator.sh/raw-allocatable":"{\"cpu\":\"10\"}"})");
  ASSERT_TRUE(amplify(node, node));
  EXPECT_EQ(rawOf(node), "");
  EXPECT_EQ(cpuOf(node), "15") << "the kubelet writes its own again";
}

TEST(Amplification, WhatCannotBeReadIsNamed) {
  json::value node = nodeWith("10", R"({"node.koordinator.sh/resource-amplification-ratio":"x"})");
  EXPECT_THAT(amplify(node, node).error().message, HasSubstr("resource-amplification-ratio"));
  node = nodeWith("10", R"({"node.koordinator.sh/resource-amplification-ratio":"{\"cpu\":2}",
                            "node.koordinator.sh/raw-allocatable":"[]"})");
  EXPECT_THAT(amplify(node, node).error().message, HasSubstr("raw-allocatable"));
}

}  // namespace
}  // namespace koord::manager
