// Lists that are sets and maps in rules of custom resources. Rows with "objs" are those of
// apiextensions' validation_test.go (listMaps), the others those of apiserver's values_test.go.

#include "apiserver/rules/list_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/registry/crd.h"
#include "apiserver/rules/custom_rules.h"

namespace koord::apiserver {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kPairs = R"({"type":"array","items":{"type":"array",
  "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
    "properties":{"k":{"type":"string","maxLength":9},"v":{"type":"string","maxLength":9}}},
  "maxItems":9},"maxItems":9})";
constexpr std::string_view kPairsData = R"([
  [{"k":"a","v":"1"},{"k":"b","v":"2"}],[{"k":"b","v":"2"},{"k":"a","v":"1"}],
  [{"k":"b","v":"3"},{"k":"a","v":"1"}],[{"k":"c","v":"4"}],[]])";
constexpr std::string_view kOddKeys = R"({"type":"array","items":{"type":"array",
  "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k!","k."],"items":{"type":"object",
    "properties":{"k!":{"type":"string","maxLength":9},"k.":{"type":"string","maxLength":9}}},
  "maxItems":9},"maxItems":9})";
constexpr std::string_view kOddKeysData = R"([
  [{"k!":"a","k.":"1"},{"k!":"b","k.":"2"}],[{"k!":"b","k.":"2"},{"k!":"a","k.":"1"}],
  [{"k!":"b","k.":"2"},{"k!":"c","k.":"1"}],[{"k!":"b","k.":"2"},{"k!":"a","k.":"3"}]])";
constexpr std::string_view kSets = R"({"type":"array","items":{"type":"array",
  "x-kubernetes-list-type":"set","items":{"type":"integer"},"maxItems":9},"maxItems":9})";
constexpr std::string_view kSetsData = "[[1,2,3],[3,2,1],[4,5],[1,2,3,4,5],[1,2]]";
constexpr std::string_view kAtomics = R"({"type":"array","items":{"type":"array",
  "items":{"type":"integer"},"maxItems":9},"maxItems":9})";
// A set below an object: the object compares field by field.
constexpr std::string_view kObjects = R"({"type":"array","items":{"type":"object","properties":{
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"},"maxItems":9},
  "real":{"type":"number"}}},"maxItems":9})";
constexpr std::string_view kObjectsData =
    R"([{"set":[1,2],"real":1},{"set":[2,1],"real":1.0},{"set":[2,3],"real":1}])";

// "" if the rule holds.
std::string ruleResult(std::string_view schema, std::string_view data, std::string_view rule) {
  json::value root = *parseJson(R"({"type":"object","properties":{}})");
  root.get_object()["properties"].get_object()["objs"] = *parseJson(schema);
  root.get_object()["x-kubernetes-validations"] = json::array{json::object{{"rule", rule}}};
  api::SchemaSet set;
  const auto compiled = compileSchema(set, root);
  if (!compiled) return compiled.error().message;
  const auto rules = CustomRules::compile(**compiled);
  if (!rules->problems().empty()) return rules->problems().front();
  const auto errors = rules->check(json::object{{"objs", *parseJson(data)}}, nullptr);
  return errors.empty() ? "" : errors.front();
}

TEST(ListKind, DecidesHowListsCompareAndJoin) {
  const struct {
    std::string_view schema, data;
    const char* rule;
  } rows[] = {
      {kPairs, kPairsData, "self.objs[0] == self.objs[1]"},
      {kPairs, kPairsData, "self.objs[0] != self.objs[2]"},
      {kPairs, kPairsData, "self.objs[0] + self.objs[2] == self.objs[2]"},
      {kPairs, kPairsData, "self.objs[2] + self.objs[0] == self.objs[0]"},
      {kPairs, kPairsData, "self.objs[0] == [self.objs[0][0], self.objs[0][1]]"},
      {kPairs, kPairsData, "self.objs[0] == [self.objs[0][1], self.objs[0][0]]"},
      // The left operand decides.
      {kPairs, kPairsData, "[self.objs[0][1], self.objs[0][0]] != self.objs[0]"},
      {kPairs, kPairsData, "self.objs[2] + [self.objs[0][0], self.objs[0][1]] == self.objs[0]"},
      {kPairs, kPairsData, "size(self.objs[0] + [self.objs[3][0]]) == 3"},
      {kPairs, kPairsData, "(self.objs[0] + self.objs[3])[2].v == '4'"},
      {kPairs, kPairsData, "self.objs[0] + self.objs[3] == self.objs[3] + self.objs[1]"},
      {kPairs, kPairsData, "self.objs[4] + self.objs[0] == self.objs[1]"},
      {kPairs, kPairsData, "self.objs[4] == [] && self.objs[0] != self.objs[3]"},
      {kPairs, kPairsData, "self.objs[0] in [self.objs[1]]"},
      {kOddKeys, kOddKeysData, "self.objs[0] == self.objs[1]"},
      {kOddKeys, kOddKeysData, "self.objs[0][0].k__dot__ == '1'"},
      {kOddKeys, kOddKeysData, "self.objs[0] != self.objs[2]"},
      {kOddKeys, kOddKeysData, "self.objs[0] != self.objs[3]"},
      {kSets, kSetsData, "self.objs[0] == self.objs[1]"},
      {kSets, kSetsData, "self.objs[0] != self.objs[2]"},
      {kSets, kSetsData, "self.objs[0] + self.objs[1] == self.objs[0]"},
      {kSets, kSetsData, "self.objs[0] + self.objs[2] == self.objs[3]"},
      {kSets, kSetsData, "self.objs[2] + self.objs[0] == self.objs[3]"},
      {kSets, kSetsData, "(self.objs[0] + [4, 4])[3] == 4 && size(self.objs[0] + [4, 4]) == 4"},
      {kSets, kSetsData, "self.objs[4] == [2, 1] && !([2, 1] == self.objs[4])"},
      {kSets, kSetsData, "self.objs[4] != [1, 1]"},
      {kSets, kSetsData, "[9] + self.objs[4] == [9, 1, 2]"},
      {kSets, kSetsData, "[1].filter(x, false) + self.objs[0] != self.objs[1]"},
      {kAtomics, kSetsData, "self.objs[0] != self.objs[1]"},
      {kAtomics, kSetsData, "size(self.objs[0] + self.objs[1]) == 6"},
      {kObjects, kObjectsData, "self.objs[0] == self.objs[1] && self.objs[0] != self.objs[2]"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(ruleResult(row.schema, row.data, row.rule), "") << row.rule;
}

TEST(ListKind, DoesNotChangeTypes) {
  EXPECT_THAT(ruleResult(kPairs, kPairsData, "self.objs[0] == {'k': 'a', 'v': '1'}"),
              HasSubstr("no matching overload for '_==_'"));
}

}  // namespace
}  // namespace koord::apiserver
