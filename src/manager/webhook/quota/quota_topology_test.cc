#include "manager/webhook/quota/quota_topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"

namespace koord::manager {
namespace {

using testing::HasSubstr;

// name, then the labels below quota.scheduling.koordinator.sh, min and max.
api::ElasticQuota quotaOf(std::string_view name, std::string_view labels, std::string_view min,
                          std::string_view max, std::string_view annotations = "{}") {
  json::object full, notes;
  const json::value labelMap = parseJson(labels).value();
  const json::value noteMap = parseJson(annotations).value();
  for (const auto& label : labelMap.get_object())
    full["quota.scheduling.koordinator.sh/" + std::string(label.key())] = label.value();
  for (const auto& note : noteMap.get_object())
    notes["quota.scheduling.koordinator.sh/" + std::string(note.key())] = note.value();
  json::value document = json::object{
      {"metadata",
       json::object{
           {"namespace", "q"}, {"labels", std::move(full)}, {"annotations", std::move(notes)}}},
      {"spec", json::object{{"min", parseJson(min).value()}, {"max", parseJson(max).value()}}}};
  document.as_object()["metadata"].as_object()["name"] = json::string(name.data(), name.size());
  return api::decode<api::ElasticQuota>(document).value();
}

constexpr const char* kMax = R"({"cpu":"120","memory":"180"})";
constexpr const char* kBelowP = R"({"parent":"P"})";

class QuotaTopologyTest : public testing::Test {
 protected:
  QuotaTopologyTest() {
    topology_.put(quotaOf("P", R"({"is-parent":"true"})", R"({"cpu":"96","memory":"160"})", kMax));
    topology_.put(quotaOf("A", kBelowP, R"({"cpu":"50","memory":"80"})", kMax));
  }
  std::string add(const api::ElasticQuota& quota) const {
    const auto result = topology_.checkAdd(quota, rules_);
    return result ? "ok" : result.error().message;
  }
  std::string update(const api::ElasticQuota& quota, bool hasPods = false) const {
    const auto result = topology_.checkUpdate(quota, rules_, hasPods);
    return result ? "ok" : result.error().message;
  }
  std::string remove(std::string_view name, std::vector<std::string> pods = {}) const {
    const auto result = topology_.checkDelete(name, pods);
    return result ? "ok" : result.error().message;
  }

  QuotaTopology topology_;
  QuotaRules rules_;
};

TEST_F(QuotaTopologyTest, TheMinOfSiblingsTogetherIsWithinTheirParents) {
  EXPECT_EQ(add(quotaOf("B", kBelowP, R"({"cpu":"47","memory":"80"})", kMax)),
            "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: P");
  EXPECT_EQ(add(quotaOf("B", kBelowP, R"({"cpu":"46","memory":"80"})", kMax)), "ok");
  EXPECT_EQ(
      add(quotaOf("B", R"({"parent":"P","allow-force-update":"true"})", R"({"cpu":"90"})", kMax)),
      "ok");
  topology_.put(quotaOf("B", kBelowP, R"({"cpu":"46","memory":"80"})", kMax));
  const std::string less = R"({"cpu":"90","memory":"160"})";
  EXPECT_EQ(update(quotaOf("P", R"({"is-parent":"true"})", less, kMax)),
            "checkMinQuotaSum all children's MinQuota > current MinQuota, current: P");
  EXPECT_EQ(update(quotaOf("P", R"({"is-parent":"true","allow-force-update":"true"})", less, kMax)),
            "ok");
  EXPECT_EQ(update(quotaOf("A", kBelowP, R"({"cpu":"50","memory":"70"})", kMax)), "ok")
      << "its own min is not counted twice";
}

TEST_F(QuotaTopologyTest, ANamespaceThatTwoQuotasListIsTheOthersWhenOneDropsIt) {
  const char* lists = R"({"namespaces":"[\"x\"]"})";
  topology_.put(quotaOf("B", "{}", "{}", kMax, lists));
  topology_.put(quotaOf("C", "{}", "{}", kMax, lists));
  EXPECT_EQ(topology_.ofNamespace("x")->name, "B") << "the first by name, as the scheduler has it";
  topology_.put(quotaOf("B", "{}", "{}", kMax));
  EXPECT_EQ(topology_.ofNamespace("x")->name, "C");
  EXPECT_EQ(add(quotaOf("D", "{}", "{}", kMax, lists)),
            "AddQuota quota D's annotation namespace x is already bound to quota C");
  topology_.remove(quotaOf("C", "{}", "{}", kMax));
  EXPECT_EQ(topology_.ofNamespace("x"), nullptr);
}

TEST_F(QuotaTopologyTest, OfQuotasWithOneNameTheOldestCountsAndTheOtherTakesItsPlace) {
  auto first = quotaOf("B", kBelowP, R"({"cpu":"40"})", kMax);
  auto second = quotaOf("B", kBelowP, R"({"cpu":"10"})", kMax);
  first.metadata.creationTimestamp = WallTime(std::chrono::seconds(100));
  second.metadata.creationTimestamp = WallTime(std::chrono::seconds(200));
  second.metadata.namespace_ = "other";
  topology_.put(second);
  topology_.put(first);
  topology_.put(second);
  const auto eight = quotaOf("C", kBelowP, R"({"cpu":"8"})", kMax);
  EXPECT_EQ(add(eight), "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: P");
  topology_.remove(first);
  EXPECT_EQ(add(eight), "ok");
  ASSERT_TRUE(topology_.find("B"));
  EXPECT_EQ(topology_.find("B")->namespace_, "other");
}

TEST_F(QuotaTopologyTest, ParentAndChildrenSpeakOfTheSameResources) {
  EXPECT_EQ(add(quotaOf("C", kBelowP, "{}", R"({"cpu":"120"})")),
            "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey "
            "failed: P's max keys are not the same with C's");
  EXPECT_EQ(update(quotaOf("P", R"({"is-parent":"true"})", R"({"cpu":"96"})", R"({"cpu":"120"})")),
            "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey "
            "failed: A's max keys are not the same with P's");
  rules_.keysMayDiffer = true;
  EXPECT_EQ(add(quotaOf("C", kBelowP, "{}", R"({"cpu":"120"})")), "ok");
  EXPECT_THAT(add(quotaOf("C", kBelowP, "{}", R"({"gpu":"1"})")),
              HasSubstr("C's max keys are not all included in P's"));
}

TEST_F(QuotaTopologyTest, AParentMustBeThereAndBeOne) {
  EXPECT_EQ(add(quotaOf("X", R"({"parent":"A"})", "{}", kMax)),
            "X has parentName A but the parentQuotaInfo's IsParent is false");
  EXPECT_EQ(add(quotaOf("X", R"({"parent":"none"})", "{}", kMax)),
            "X has parentName none but not find parentInfo in quotaInfoMap");
  EXPECT_EQ(add(quotaOf("P", "{}", "{}", kMax)), "AddQuota quota already exist:P");
  EXPECT_EQ(update(quotaOf("P", "{}", R"({"cpu":"96","memory":"160"})", kMax)),
            "quota has children, isParent is forbidden to modify as false, quotaName:P");
  const auto parent = quotaOf("A", R"({"parent":"P","is-parent":"true"})", "{}", kMax);
  EXPECT_EQ(update(parent, true),
            "quota has bound pods, isParent is forbidden to modify as true, quotaName: A");
  EXPECT_EQ(update(parent), "ok");
}

TEST_F(QuotaTopologyTest, NobodyIsBelowItself) {
  topology_.put(quotaOf("A", R"({"parent":"P","is-parent":"true"})", "{}", kMax));
  EXPECT_THAT(update(quotaOf("P", R"({"is-parent":"true","parent":"A"})", "{}", kMax)),
              HasSubstr("a quota cannot be below itself: P -> A -> P"));
  EXPECT_THAT(update(quotaOf("P", R"({"is-parent":"true","parent":"P"})", "{}", kMax)),
              HasSubstr("P -> P"));
  // An existing cycle is not an error of a quota below it.
  topology_.put(quotaOf("P", R"({"is-parent":"true","parent":"A"})", "{}", kMax));
  EXPECT_EQ(add(quotaOf("Z", kBelowP, "{}", kMax)), "ok");
}

TEST_F(QuotaTopologyTest, ATreeHasOneIdFromTopToBottom) {
  EXPECT_EQ(add(quotaOf("B", R"({"parent":"P","tree-id":"t"})", "{}", kMax)),
            "B tree id is different from parent P, [t] vs []");
  EXPECT_EQ(update(quotaOf("A", R"({"parent":"P","tree-id":"t"})", "{}", kMax)),
            "A tree id changed [] vs [t]");
  topology_.put(quotaOf("lost", R"({"parent":"N","tree-id":"t"})", "{}", kMax));
  EXPECT_EQ(add(quotaOf("N", R"({"is-parent":"true","tree-id":"u"})", "{}", kMax)),
            "N tree id is different from child lost, [u] vs [t]");
}

TEST_F(QuotaTopologyTest, AQuotaThatContradictsItselfIsRefused) {
  EXPECT_EQ(add(quotaOf("x", "{}", "{}", R"({"cpu":"-1"})")),
            "x quota.Spec.Max's value < 0, in dimensions :[cpu]");
  EXPECT_EQ(add(quotaOf("x", "{}", R"({"cpu":"-1"})", kMax)),
            "x quota.Spec.Min's value < 0, in dimensions :[cpu]");
  EXPECT_EQ(add(quotaOf("x", "{}", R"({"cpu":"121"})", kMax)),
            "resourceKey cpu of quota x min 121 > max 120");
  EXPECT_EQ(add(quotaOf("x", "{}", R"({"gpu":"1"})", kMax)),
            "resourceKey gpu of quota x is included in min, which is not included in max");
  EXPECT_EQ(add(quotaOf("x", "{}", "{}", kMax, R"({"shared-weight":"{\"cpu\":\"-2\"}"})")),
            "x quota.Annotation[quota.scheduling.koordinator.sh/shared-weight]'s value < 0, in "
            "dimension :[cpu]");
  EXPECT_THAT(add(quotaOf("x", "{}", "{}", kMax, R"({"shared-weight":"heavy"})")),
              HasSubstr("metadata.annotations[quota.scheduling.koordinator.sh/shared-weight]"));
  auto strict = quotaOf("A", kBelowP, "{}", R"({"cpu":"1","memory":"180"})",
                        R"({"max-strict-check-resource-keys":"[\"cpu\",\"gpu\"]"})");
  strict.status.used = {{"cpu", Quantity::of(2)}};
  EXPECT_EQ(update(strict), "resourceKey cpu of quota A max 1 < used 2");
  strict.status.used = {{"gpu", Quantity::of(2)}};
  EXPECT_THAT(update(strict), HasSubstr("resourceKey gpu of quota A is included in used"));
}

TEST_F(QuotaTopologyTest, ANamespaceBelongsToOneQuota) {
  const char* team = R"({"namespaces":"[\"team\"]"})";
  topology_.put(quotaOf("A", kBelowP, "{}", kMax, team));
  EXPECT_EQ(add(quotaOf("B", "{}", "{}", kMax, team)),
            "AddQuota quota B's annotation namespace team is already bound to quota A");
  EXPECT_EQ(update(quotaOf("A", kBelowP, "{}", kMax, team)), "ok");
  EXPECT_THAT(
      update(quotaOf("P", R"({"is-parent":"true"})", R"({"cpu":"96","memory":"160"})", kMax, team)),
      HasSubstr("namespace team is already bound to quota A"));
  topology_.put(quotaOf("A", kBelowP, "{}", kMax));
  EXPECT_EQ(add(quotaOf("B", "{}", "{}", kMax, team)), "ok");
  EXPECT_EQ(topology_.ofNamespace("team"), nullptr);
}

TEST_F(QuotaTopologyTest, QuotasInUseAreNotDeleted) {
  EXPECT_EQ(remove("P"), "delete quota failed, quota P has 1 child quotas");
  EXPECT_EQ(remove("A", {"a", "b"}), "delete quota failed, quota A has 2 child pods: a, b");
  EXPECT_EQ(remove("A", {"a", "b", "c"}),
            "delete quota failed, quota A has 3 child pods: a, b, ...");
  EXPECT_EQ(remove("A"), "ok");
  EXPECT_EQ(remove("none"), "not found quota:none");
  EXPECT_EQ(remove("koordinator-default-quota"),
            "can not delete quotaGroup :koordinator-default-quota");
  topology_.remove(quotaOf("A", kBelowP, "{}", kMax));
  EXPECT_EQ(remove("P"), "ok");
}

TEST_F(QuotaTopologyTest, MoreMinNeedsRoomThatIsGuaranteedSomewhereAbove) {
  rules_.guaranteeUsage = true;
  const char* tree = R"({"is-parent":"true","is-root":"true","tree-id":"t"})";
  const char* leaf = R"({"parent":"R","tree-id":"t"})";
  topology_.put(quotaOf("R", tree, R"({"cpu":"60"})", R"({"cpu":"100"})",
                        R"({"guaranteed":"{\"cpu\":60}"})"));
  topology_.put(quotaOf("one", leaf, R"({"cpu":"10"})", R"({"cpu":"100"})",
                        R"({"guaranteed":"{\"cpu\":40}"})"));
  EXPECT_EQ(add(quotaOf("two", leaf, R"({"cpu":"20"})", R"({"cpu":"100"})")), "ok");
  EXPECT_EQ(add(quotaOf("two", leaf, R"({"cpu":"21"})", R"({"cpu":"100"})")),
            "tree root quota R can't guarantee for min two");
}

TEST_F(QuotaTopologyTest, WhatTheTreeIsNotMadeOfMayChange) {
  auto before = quotaOf("A", kBelowP, "{}", kMax);
  auto after = quotaOf("A", R"({"parent":"P","else":"x"})", "{}", kMax, R"({"runtime":"{}"})");
  EXPECT_TRUE(sameQuota(before, after));
  EXPECT_FALSE(sameQuota(before, quotaOf("A", kBelowP, R"({"cpu":"1"})", kMax)));
  EXPECT_EQ(update(quotaOf("koordinator-system-quota", "{}", "{}", kMax)),
            "invalid quota koordinator-system-quota");
}

TEST_F(QuotaTopologyTest, TheSummaryIsReadable) {
  EXPECT_EQ(
      toJson(topology_.summary()),
      R"({"quotaInfoMap":{"A":{"name":"A","parentName":"P","isParent":false,"allowLentResource":true,"max":{"cpu":"120","memory":"180"},"min":{"cpu":"50","memory":"80"}},"P":{"name":"P","parentName":"koordinator-root-quota","isParent":true,"allowLentResource":true,"max":{"cpu":"120","memory":"180"},"min":{"cpu":"96","memory":"160"}}},"quotaHierarchyInfo":{"A":[],"P":["A"],"koordinator-root-quota":["P"]}})");
}

}  // namespace
}  // namespace koord::manager
