#include "apiserver/rules/match_conditions.h"

#include <fmt/format.h>

#include "base/split.h"

namespace koord::apiserver {

namespace {

const PolicyEnvironment& environment() {
  static const PolicyEnvironment kEnvironment = *PolicyEnvironment::create({.object = {}});
  return kEnvironment;
}

Result<cel::Program> compiled(std::string_view expression) {
  return compilePolicyExpression(environment().full(), trim(expression), {cel::Type::boolean()});
}

}  // namespace

std::string MatchConditions::problemOf(std::string_view expression) {
  const auto program = compiled(expression);
  return program ? std::string() : program.error().message;
}

Result<MatchConditions> MatchConditions::compile(const std::vector<Condition>& conditions) {
  MatchConditions out;
  for (const Condition& condition : conditions) {
    auto program = compiled(condition.expression);
    if (!program)
      return fail(Error(program.error()).within(fmt::format("match condition {}", condition.name)));
    out.conditions_.push_back({condition.expression, *std::move(program)});
  }
  return out;
}

Result<bool> MatchConditions::match(const Request& request) const {
  static const json::value kNone;
  return matchConditions(
      environment(), conditions_,
      {request.object, request.oldObject, request.request, kNone, kNone, request.authorizer});
}

}  // namespace koord::apiserver
