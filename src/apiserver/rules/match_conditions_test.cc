#include "apiserver/rules/match_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

using ::testing::HasSubstr;

class OnlyGets : public cel::Authorizer {
 public:
  cel::AuthorizationDecision authorize(const cel::AuthorizationRequest& request) const override {
    return {
        .allowed = request.verb == "get" && request.resource == "pods", .reason = "", .error = ""};
  }
};

Result<bool> match(const std::vector<MatchConditions::Condition>& conditions) {
  const auto compiled = MatchConditions::compile(conditions);
  if (!compiled) return fail(compiled.error());
  const json::value object{{"metadata", {{"name", "a"}, {"labels", {{"app", "web"}}}}}};
  const json::value request{{"operation", "CREATE"}, {"userInfo", {{"username", "ann"}}}};
  const json::value none;
  const OnlyGets authorizer;
  return compiled->match({object, none, request, authorizer});
}

TEST(MatchConditions, AllMustBeTrue) {
  const struct {
    const char* expression;
    bool expected;
  } rows[] = {
      {"true", true},
      {"object.metadata.labels.app == 'web'", true},
      {"object.metadata.name.startsWith('b')", false},
      {"oldObject == null", true},
      {"request.operation in ['UPDATE', 'DELETE']", false},
      {"!(request.userInfo.username.startsWith('system:node:'))", true},
      {"authorizer.group('').resource('pods').check('get').allowed()", true},
      {"authorizer.group('').resource('pods').check('delete').allowed()", false},
  };
  for (const auto& row : rows) {
    const auto matched = match({{"c", row.expression}});
    ASSERT_TRUE(matched) << row.expression << ": " << matched.error().message;
    EXPECT_EQ(*matched, row.expected) << row.expression;
  }
}

TEST(MatchConditions, AFalseConditionCountsMoreThanOneThatFails) {
  const auto both = match({{"fails", "object.none == 1"}, {"false", "false"}});
  ASSERT_TRUE(both);
  EXPECT_FALSE(*both);
  const auto fails = match({{"fails", "object.none == 1"}, {"true", "true"}});
  ASSERT_FALSE(fails);
  EXPECT_EQ(fails.error().message,
            "expression 'object.none == 1' resulted in error: no such key: none");
}

TEST(MatchConditions, WhatIsNoConditionIsSaid) {
  EXPECT_EQ(MatchConditions::problemOf("object.a == 1"), "");
  EXPECT_EQ(MatchConditions::problemOf("1"), "must evaluate to bool but got int");
  EXPECT_THAT(MatchConditions::problemOf("object.a =="), HasSubstr("compilation failed: ERROR: "));
  EXPECT_THAT(MatchConditions::problemOf("params.a"),
              HasSubstr("undeclared reference to 'params'"));
}

}  // namespace
}  // namespace koord::apiserver
