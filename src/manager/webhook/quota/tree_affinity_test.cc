#include "manager/webhook/quota/tree_affinity.h"

#include <gtest/gtest.h>

namespace koord::manager {
namespace {

api::LabelSelector pool(std::string name) {
  api::LabelSelector selector;
  selector.matchLabels["pool"] = std::move(name);
  return selector;
}

TEST(TreeAffinity, APodWithoutRequirementsGetsThoseOfTheTree) {
  json::value pod = parseJson(R"({"spec":{}})").value();
  api::LabelSelector selector = pool("a");
  selector.matchExpressions.push_back({"gpu", "Exists", {}});
  requireNodes({selector}, pod);
  EXPECT_EQ(
      toJson(pod),
      R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["a"]},{"key":"gpu","operator":"Exists"}]}]}}}}})");
}

TEST(TreeAffinity, EveryTermIsCombinedWithEveryProfile) {
  json::value pod = parseJson(R"({"spec":{"affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"x","operator":"Exists"}]},{"matchFields":[]}]}}}}})")
                        .value();
  requireNodes({pool("a"), pool("b")}, pod);
  const auto& terms = at(pod, "spec", "affinity", "nodeAffinity",
                         "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
                          ->get_array();
  ASSERT_EQ(terms.size(), 4u);
  EXPECT_EQ(
      toJson(terms[1]),
      R"({"matchExpressions":[{"key":"x","operator":"Exists"},{"key":"pool","operator":"In","values":["b"]}]})");
  const json::value before = pod;
  requireNodes({}, pod);
  EXPECT_EQ(pod, before);
}

}  // namespace
}  // namespace koord::manager
