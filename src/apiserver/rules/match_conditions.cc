#include "apiserver/rules/match_conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/rules/limits.h"
#include "base/split.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"

namespace koord::apiserver {

namespace {

const cel::Environment& environment() {
  static const cel::Environment kEnvironment = [] {
    cel::EnvironmentOptions options;
    options.variables = {{"object", cel::Type::dyn()},
                         {"oldObject", cel::Type::dyn()},
                         {"request", cel::Type::dyn()},
                         {"authorizer", cel::authorizerType()}};
    options.libraries = cel::kubernetesLibraries();
    options.homogeneousLiterals = true;
    options.costModel = &cel::kubernetesCosts();
    return *cel::Environment::create(std::move(options));
  }();
  return kEnvironment;
}

Result<cel::Program> compiled(std::string_view expression) {
  auto program = environment().compile(trim(expression));
  if (!program) return fail(ErrorCode::Invalid, "compilation failed: " + program.error().message);
  if (program->resultType().kind() != cel::TypeKind::Bool && !program->resultType().isDyn())
    return fail(ErrorCode::Invalid, "must evaluate to bool");
  return program;
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
  cel::Activation activation(environment());
  activation.set("object", cel::Value::json(request.object));
  activation.set("oldObject", cel::Value::json(request.oldObject));
  activation.set("request", cel::Value::json(request.request));
  activation.set("authorizer", cel::authorizerValue(request.authorizer));
  std::uint64_t spent = 0;
  std::vector<std::string> errors;
  for (const Compiled& condition : conditions_) {
    std::uint64_t cost = 0;
    const auto result = condition.program.evaluate(activation, {kEvaluationCostLimit}, &cost);
    if (spent += cost; spent > kConditionsCostLimit)
      return fail(ErrorCode::Invalid, std::string(kOutOfBudget));
    if (!result) {
      errors.push_back(fmt::format("expression '{}' resulted in error: {}", condition.expression,
                                   result.error().message));
    } else if (!result->is(cel::Kind::Bool)) {
      errors.push_back(
          fmt::format("expression '{}' resulted in error: it is not a bool", condition.expression));
    } else if (!result->isTrue()) {
      return false;
    }
  }
  if (errors.empty()) return true;
  return fail(ErrorCode::Invalid,
              errors.size() == 1 ? errors.front() : fmt::format("[{}]", fmt::join(errors, ", ")));
}

}  // namespace koord::apiserver
