// The golden vectors check what selectors accept and select; these are the cases people ask about.

#include "api/selector.h"

#include <gmock/gmock.h>

namespace koord::api {
namespace {

using ::testing::HasSubstr;

bool selects(std::string_view text, const StringMap& labels) {
  auto selector = Selector::parse(text);
  EXPECT_TRUE(selector) << text << ": " << selector.error().message;
  return selector && selector->matches(labels);
}

TEST(SelectorTest, aRequirementOnAMissingLabel) {
  EXPECT_TRUE(selects("app!=web", {}));
  EXPECT_TRUE(selects("app notin (web)", {}));
  EXPECT_TRUE(selects("!app", {}));
  EXPECT_FALSE(selects("app", {}));
  EXPECT_FALSE(selects("n<5", {}));
}

TEST(SelectorTest, numbersCompareAsNumbers) {
  EXPECT_TRUE(selects("n>9", {{"n", "10"}}));
  EXPECT_FALSE(selects("n>9", {{"n", "9"}}));
  EXPECT_FALSE(selects("n>9", {{"n", "many"}}));
}

TEST(SelectorTest, errorsSayWhatWasExpected) {
  const auto error = [](std::string_view text) { return Selector::parse(text).error().message; };
  EXPECT_EQ(error("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(error("a,"), "found '', expected: identifier after ','");
  EXPECT_THAT(error("-a=b"),
              HasSubstr("key: Invalid value: \"-a\": name part must consist of alphanumeric"));
  EXPECT_THAT(error("n>many"), HasSubstr("for 'Gt', 'Lt' operators, the value must be an integer"));
}

TEST(SelectorTest, anAbsentObjectSelectsNothingAndAnEmptyOneEverything) {
  EXPECT_FALSE(Selector::compile(std::optional<LabelSelector>{})->matches({{"a", "b"}}));
  EXPECT_TRUE(Selector::compile(LabelSelector{})->matches({{"a", "b"}}));
  LabelSelector wrong;
  wrong.matchExpressions.push_back({"a", "Near", {}});
  EXPECT_EQ(Selector::compile(wrong).error().message,
            "matchExpressions[0].operator: \"Near\" is not a valid label selector operator");
}

TEST(FieldSelectorTest, valuesMayHoldEscapedCharacters) {
  const auto selector = FieldSelector::parse(R"(a=x\,y,b!=z\=1)");
  ASSERT_TRUE(selector);
  EXPECT_TRUE(selector->matches(
      [](const std::string& field) { return std::string(field == "a" ? "x,y" : "other"); }));
  EXPECT_EQ(selector->toString(), R"(a=x\,y,b!=z\=1)");
}

TEST(NodeTermTest, fieldsAndLabelsMustBothHold) {
  NodeSelectorTerm term;
  term.matchExpressions.push_back({"zone", "In", {"a", "b"}});
  term.matchFields.push_back({"metadata.name", "In", {"n1"}});
  const auto compiled = NodeTerm::compile(term);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->matches({{"zone", "a"}}, "n1"));
  EXPECT_FALSE(compiled->matches({{"zone", "a"}}, "n2"));
  EXPECT_FALSE(compiled->matches({{"zone", "c"}}, "n1"));
}

TEST(NodeTermTest, errorsNameTheField) {
  NodeSelectorTerm term;
  term.matchExpressions.push_back({"size", "Lt", {"-4"}});
  const auto compiled = PreferredNodeTerms::compile({{.weight = 1, .preference = term}});
  ASSERT_FALSE(compiled);
  EXPECT_THAT(
      compiled.error().message,
      testing::StartsWith("[0].matchExpressions[0].values[0][size]: Invalid value: \"-4\": "));
}

}  // namespace
}  // namespace koord::api
