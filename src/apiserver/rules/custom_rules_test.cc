#include "apiserver/rules/custom_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/registry/crd.h"
#include "apiserver/rules/field_name.h"
#include "apiserver/rules/rule_tree.h"

namespace koord::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A schema, kept alive with its rules.
struct Compiled {
  explicit Compiled(std::string_view schema) {
    rules = CustomRules::compile(**compileSchema(set, *parseJson(schema)));
  }
  std::vector<std::string> check(std::string_view object, std::string_view before = "") const {
    const json::value now = *parseJson(object);
    if (before.empty()) return rules->check(now, nullptr);
    const json::value old = *parseJson(before);
    return rules->check(now, &old);
  }
  api::SchemaSet set;
  std::shared_ptr<const CustomRules> rules;
};

std::string withRule(std::string_view rule, std::string_view more = "") {
  return fmt::format(
      R"json({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
        "replicas":{{"type":"integer"}},"max":{{"type":"integer"}},
        "name":{{"type":"string","maxLength":20}},"x-y":{{"type":"string"}},
        "port":{{"x-kubernetes-int-or-string":true}},
        "list":{{"type":"array","maxItems":10,"items":{{"type":"integer"}}}},
        "map":{{"type":"object","maxProperties":10,"additionalProperties":{{"type":"string"}}}},
        "byName":{{"type":"array","maxItems":10,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
          "items":{{"type":"object","properties":{{"name":{{"type":"string"}},"size":{{"type":"integer"}}}}}}}}}},
        "x-kubernetes-validations":[{{"rule":"{}"{}}}]}}}}}})json",
      rule, more);
}

TEST(CustomRules, ASchemaWithoutRulesHasNone) {
  EXPECT_EQ(Compiled(R"({"type":"object"})").rules, nullptr);
}

TEST(CustomRules, AnObjectIsCheckedByEveryRule) {
  const struct {
    const char *rule, *spec;
    const char* error;  // "" = none
  } rows[] = {
      {"self.replicas <= self.max", R"({"replicas":2,"max":3})", ""},
      {"self.replicas <= self.max", R"({"replicas":4,"max":3})",
       "spec: Invalid value: failed rule: self.replicas <= self.max"},
      {"self.replicas <= self.max", R"({"replicas":4})",
       "spec: Invalid value: \"object\": no such key: max evaluating rule: self.replicas <= "
       "self.max"},
      {"!has(self.max) || self.replicas <= self.max", R"({"replicas":4})", ""},
      {"self.x__dash__y == 'a'", R"({"x-y":"a"})", ""},
      {"self.list.all(x, x > 0)", R"({"list":[1,2]})", ""},
      {"self.list.all(x, x > 0)", R"({"list":[1,0]})",
       "spec: Invalid value: failed rule: self.list.all(x, x > 0)"},
      {"self.map['a'] == 'b'", R"({"map":{"a":"b"}})", ""},
      {"type(self.port) == string && self.port.endsWith('%')", R"({"port":"5%"})", ""},
      {"self.port < 10", R"({"port":5})", ""},
      {"quantity(self.name).isGreaterThan(quantity('1Gi'))", R"({"name":"2Gi"})", ""},
      {"self.byName.exists(x, x.name == 'a' && x.size == 1)",
       R"({"byName":[{"name":"a","size":1}]})", ""},
  };
  for (const auto& row : rows) {
    const Compiled compiled(withRule(row.rule));
    ASSERT_THAT(compiled.rules->problems(), IsEmpty()) << row.rule;
    const auto errors = compiled.check(fmt::format(R"({{"spec":{}}})", row.spec));
    if (*row.error) {
      EXPECT_THAT(errors, ElementsAre(row.error)) << row.rule;
    } else {
      EXPECT_THAT(errors, IsEmpty()) << row.rule << " " << row.spec;
    }
  }
}

TEST(CustomRules, ARuleSaysWhatIsWrongAndWhere) {
  const struct {
    const char *more, *error;
  } rows[] = {
      {R"(,"message":" too many ")", "spec: Invalid value: too many"},
      {R"(,"messageExpression":"'too many for ' + self.name")",
       "spec: Invalid value: too many for a"},
      {R"(,"message":"too many","messageExpression":"''")", "spec: Invalid value: too many"},
      {R"(,"reason":"FieldValueForbidden","fieldPath":".replicas","message":"no")",
       "spec.replicas: Forbidden: no"},
      {R"(,"reason":"FieldValueRequired","message":"no")", "spec: Required value: no"},
  };
  for (const auto& row : rows) {
    const Compiled compiled(withRule("self.replicas <= self.max", row.more));
    ASSERT_THAT(compiled.rules->problems(), IsEmpty()) << row.more;
    EXPECT_THAT(compiled.check(R"({"spec":{"replicas":4,"max":3,"name":"a"}})"),
                ElementsAre(row.error));
  }
}

TEST(CustomRules, ARuleAboutAChangeNeedsAnOldValue) {
  const Compiled compiled(withRule("self.replicas >= oldSelf.replicas"));
  EXPECT_THAT(compiled.check(R"({"spec":{"replicas":1}})"), IsEmpty());
  EXPECT_THAT(compiled.check(R"({"spec":{"replicas":3}})", R"({"spec":{"replicas":2}})"),
              IsEmpty());
  EXPECT_THAT(compiled.check(R"({"spec":{"replicas":1}})", R"({"spec":{"replicas":2}})"),
              ElementsAre("spec: Invalid value: failed rule: self.replicas >= oldSelf.replicas"));
  const Compiled optional(
      withRule("oldSelf.hasValue() || self.replicas == 1", R"(,"optionalOldSelf":true)"));
  EXPECT_THAT(optional.check(R"({"spec":{"replicas":1}})"), IsEmpty());
  EXPECT_THAT(optional.check(R"({"spec":{"replicas":2}})"), ::testing::SizeIs(1));
  EXPECT_THAT(optional.check(R"({"spec":{"replicas":2}})", R"({"spec":{}})"), IsEmpty());
}

TEST(CustomRules, WhatDidNotChangeIsNotRefused) {
  const Compiled compiled(withRule("self.replicas < 3"));
  const char* const old = R"({"spec":{"replicas":5},"other":1})";
  EXPECT_THAT(compiled.check(R"({"spec":{"replicas":5},"other":2})", old), IsEmpty());
  EXPECT_THAT(compiled.check(R"({"spec":{"replicas":6},"other":1})", old), ::testing::SizeIs(1));
}

TEST(CustomRules, ElementsOfAListOfTypeMapCorrespondByTheirKeys) {
  const Compiled compiled(
      R"json({"type":"object","properties":{"l":{"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
        "items":{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"}},
        "x-kubernetes-validations":[{"rule":"self.size >= oldSelf.size"}]}}}})json");
  ASSERT_THAT(compiled.rules->problems(), IsEmpty());
  EXPECT_THAT(compiled.check(R"({"l":[{"name":"b","size":1},{"name":"a","size":2}]})",
                             R"({"l":[{"name":"a","size":3}]})"),
              ElementsAre("l[1]: Invalid value: failed rule: self.size >= oldSelf.size"));
}

TEST(CustomRules, WhatIsWrongWithARuleIsSaidWithItsPath) {
  const struct {
    const char *rule, *more, *problem;
  } rows[] = {
      {"", "", "[0].rule: Required value: rule is not specified"},
      {"self.replica > 0", "", "undefined field 'replica'"},
      {"self.replicas", "", "cel expression must evaluate to a bool"},
      {"self.replicas > 'a'", "",
       "found no matching overload for '_>_' applied to '(int, string)'"},
      {"true", R"(,"reason":"Odd")", "[0].reason: Unsupported value: \"Odd\""},
      {"true", R"(,"fieldPath":".none")",
       "[0].fieldPath: Invalid value: \".none\": must be a valid path"},
      {"true", R"(,"message":"a\nb")",
       "[0].message: Invalid value: \"a\\nb\": must not contain line breaks"},
      {"true", R"(,"messageExpression":"1")", "messageExpression must evaluate to a string"},
      {"true", R"(,"optionalOldSelf":true)", "may not be set if oldSelf is not used in rule"},
  };
  for (const auto& row : rows) {
    const Compiled compiled(withRule(row.rule, row.more));
    EXPECT_THAT(
        compiled.rules->problems(),
        ElementsAre(::testing::AllOf(
            ::testing::StartsWith("openAPIV3Schema.properties[spec].x-kubernetes-validations[0]."),
            HasSubstr(row.problem))))
        << row.rule << row.more;
  }
}

// The figures are those of Kubernetes for the same schemas.
TEST(CustomRules, EstimatesAreThoseOfKubernetes) {
  const std::string schema =
      R"json({"type":"object","properties":{
        "a":{"type":"array","items":{"type":"integer"}},"b":{"type":"array","items":{"type":"integer"}},
        "i":{"type":"integer"},"s":{"type":"string"},"bytes":{"type":"string","format":"byte"},
        "t":{"type":"string","format":"date-time"},
        "e":{"type":"string","enum":["Pending","Available","Bound","Released","Failed"]}},
        "x-kubernetes-validations":[{"rule":"RULE"}]})json";
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"1 in self.a", 1572865},
      {"self.b[0] in self.a", 1572868},
      {"!(0 in self.a)", 1572866},
      {"self.a + self.b == [1, 2, 3, 1, 2, 3]", 16},
      {"has(self.a) && has(self.b)", 2},
      {"self.a.all(k, size(self.a) > 0)", 11010044},
      {"self.a.exists_one(k, self.a == [2])", 23592949},
      {"size(self.a.filter(k, size(self.a) > 1)) == 1", 26738686},
      {"string(self.i) == self.s", 314578},
      {"bytes(self.s) == self.bytes", 629150},
      {"timestamp(self.s) == self.t", 6},
      {"self.e == 'Pending'", 3},
      {"self.e in ['Pending', 'Available']", 14},
  };
  for (const auto& [rule, cost] : rows) {
    std::string text = schema;
    text.replace(text.find("RULE"), 4, rule);
    api::SchemaSet set;
    DeclaredTypes types;
    std::vector<std::string> problems;
    const auto tree = compileRules(**compileSchema(set, *parseJson(text)), types, problems);
    ASSERT_TRUE(tree->rules[0].program) << rule << ": " << tree->rules[0].error;
    EXPECT_EQ(tree->rules[0].program->estimateCost().max, cost) << rule;
  }
}

TEST(CustomRules, AnExpensiveRuleIsRefusedBeforeItRuns) {
  const Compiled compiled(
      R"json({"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},
        "x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, x == y))"}]})json");
  EXPECT_THAT(compiled.rules->problems(),
              ::testing::Contains(HasSubstr("estimated rule cost exceeds budget by factor of more "
                                            "than 100x")));
}

TEST(CustomRules, AnEvaluationEndsAtItsCostLimit) {
  const Compiled compiled(
      R"json({"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}},
        "x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, x + y > 0))"}]})json");
  json::array many(2000, json::value(1));
  const json::value object = json::object{{"l", std::move(many)}};
  EXPECT_THAT(compiled.rules->check(object, nullptr),
              ElementsAre(HasSubstr("no further validation rules will be run due to call cost "
                                    "exceeds limit for rule: self.l.all(x")));
}

TEST(CustomRules, TheRootOfAResourceHasItsNameAndNoOtherMetadata) {
  const Compiled compiled(
      R"json({"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name == 'a'"}]})json");
  ASSERT_THAT(compiled.rules->problems(), IsEmpty());
  EXPECT_THAT(compiled.check(R"({"metadata":{"name":"b","labels":{}}})"),
              ElementsAre("<nil>: Invalid value: failed rule: self.metadata.name == 'a'"));
  EXPECT_THAT(
      Compiled(
          R"json({"type":"object","x-kubernetes-validations":[{"rule":"has(self.metadata.labels)"}]})json")
          .rules->problems(),
      ElementsAre(HasSubstr("undefined field 'labels'")));
}

TEST(CustomRules, NamesOfFieldsAreEscaped) {
  EXPECT_EQ(celFieldName("a-b.c/d"), "a__dash__b__dot__c__slash__d");
  EXPECT_EQ(celFieldName("a__b"), "a__underscores__b");
  EXPECT_EQ(celFieldName("namespace"), "__namespace__");
  EXPECT_EQ(celFieldName("1a"), std::nullopt);
  EXPECT_EQ(celFieldName("a b"), std::nullopt);
}

}  // namespace
}  // namespace koord::apiserver
