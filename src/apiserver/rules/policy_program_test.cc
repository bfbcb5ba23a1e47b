#include "apiserver/rules/policy_program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Nobody : public cel::Authorizer {
 public:
  cel::AuthorizationDecision authorize(const cel::AuthorizationRequest&) const override {
    return {};
  }
};

std::vector<std::string> denials(std::string_view spec, std::string_view object,
                                 std::string_view params = "null") {
  const auto program = PolicyProgram::compile(*parseJson(spec));
  EXPECT_THAT(program->problems(), IsEmpty());
  const json::value given = *parseJson(object), with = *parseJson(params), none;
  const json::value request{{"operation", "CREATE"}};
  const json::value space{{"metadata", {{"name", "n"}, {"labels", {{"env", "prod"}}}}}};
  const Nobody authorizer;
  std::vector<std::string> out;
  for (const auto& one : program->evaluate({given, none, request, space, with, authorizer}).denials)
    out.push_back(fmt::format("{} {}{}", one.reason, one.isError ? "error: " : "", one.message));
  return out;
}

TEST(PolicyProgram, ValidationsThatAreFalseAreDenials) {
  const struct {
    const char *spec, *object, *denial;
  } rows[] = {
      {R"({"validations":[{"expression":"object.spec.replicas <= 5"}]})",
       R"({"spec":{"replicas":5}})", ""},
      {R"({"validations":[{"expression":"object.spec.replicas <= 5"}]})",
       R"({"spec":{"replicas":6}})", "Invalid failed expression: object.spec.replicas <= 5"},
      {R"({"validations":[{"expression":"object.spec.replicas <= 5","message":"too many","reason":"Forbidden"}]})",
       R"({"spec":{"replicas":6}})", "Forbidden too many"},
      {R"json({"validations":[{"expression":"object.spec.replicas <= 5","messageExpression":"'not ' + string(object.spec.replicas)"}]})json",
       R"({"spec":{"replicas":6}})", "Invalid not 6"},
      {R"({"validations":[{"expression":"object.spec.replicas <= 5"}]})", R"({"spec":{}})",
       "Invalid error: expression 'object.spec.replicas <= 5' resulted in error: no such key: "
       "replicas"},
      {R"({"matchConditions":[{"name":"m","expression":"request.operation == 'UPDATE'"}],"validations":[{"expression":"false"}]})",
       R"({})", ""},
      {R"({"validations":[{"expression":"namespaceObject.metadata.labels.env == 'prod'"}]})",
       R"({})", ""},
  };
  for (const auto& row : rows) {
    const auto said = denials(row.spec, row.object);
    if (*row.denial) {
      EXPECT_THAT(said, ElementsAre(row.denial)) << row.spec;
    } else {
      EXPECT_THAT(said, IsEmpty()) << row.spec;
    }
  }
}

TEST(PolicyProgram, AVariableReadsThoseBeforeIt) {
  const char* const spec = R"json({"variables":[
      {"name":"replicas","expression":"has(object.spec.replicas) ? object.spec.replicas : 1"},
      {"name":"most","expression":"variables.replicas > 3 ? 3 : 10"}],
    "validations":[{"expression":"variables.replicas <= variables.most"}]})json";
  EXPECT_THAT(denials(spec, R"({"spec":{}})"), IsEmpty());
  EXPECT_THAT(denials(spec, R"({"spec":{"replicas":4}})"), ::testing::SizeIs(1));
}

TEST(PolicyProgram, ParametersAreOfTheBinding) {
  const char* const spec = R"json({"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
    "validations":[{"expression":"params == null || object.replicas <= int(params.data.most)"}]})json";
  EXPECT_THAT(denials(spec, R"({"replicas":4})"), IsEmpty());
  EXPECT_THAT(denials(spec, R"({"replicas":4})", R"({"data":{"most":"3"}})"), ::testing::SizeIs(1));
}

TEST(PolicyProgram, WhatCannotBeCompiledIsSaidWithItsPath) {
  const struct {
    const char *spec, *problem;
  } rows[] = {
      {R"({"validations":[{"expression":""}]})", "spec.validations[0].expression: Required value"},
      {R"({"validations":[{"expression":"1"}]})", "must evaluate to bool"},
      {R"({"validations":[{"expression":"variables.none"}]})", "undefined field 'none'"},
      {R"({"validations":[{"expression":"params.a"}]})", "undeclared reference to 'params'"},
      {R"({"variables":[{"name":"a","expression":"variables.b"},{"name":"b","expression":"1"}]})",
       "spec.variables[0].expression: Invalid value"},
      {R"({"validations":[{"expression":"true","messageExpression":"1"}]})",
       "must evaluate to string"},
  };
  for (const auto& row : rows)
    EXPECT_THAT(PolicyProgram::compile(*parseJson(row.spec))->problems(),
                ElementsAre(HasSubstr(row.problem)))
        << row.spec;
}

}  // namespace
}  // namespace koord::apiserver
