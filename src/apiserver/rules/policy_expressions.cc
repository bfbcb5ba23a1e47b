#include "apiserver/rules/policy_expressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/objects/edit.h"
#include "apiserver/rules/limits.h"
#include "base/split.h"

namespace koord::apiserver {

namespace {

// Variables that read variables take turns on the stack.
constexpr int kMaxNestedVariables = 200;

std::string errorOf(std::string_view expression, std::string_view error) {
  return fmt::format("expression '{}' resulted in error: {}", expression, error);
}

std::unexpected<Error> outOfBudget() {
  return fail(ErrorCode::TooManyRequests, std::string(kOutOfBudget));
}

}  // namespace

std::optional<cel::ObjectType::Field> PolicyVariables::field(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::nullopt : std::optional(found->second);
}

cel::Value PolicyVariables::get(const void* run, int field) const {
  // The run is the host's own object, which only CEL sees as constant.
  return static_cast<PolicyRun*>(const_cast<void*>(run))->variable(static_cast<std::size_t>(field));
}

void PolicyVariables::add(std::string_view name, cel::Type type) {
  fields_.emplace(std::string(name), Field{static_cast<int>(fields_.size()), std::move(type)});
}

PolicyExpressions::PolicyExpressions(const json::value& spec, cel::TypeResolver* patchTypes,
                                     std::optional<cel::Type> object,
                                     std::optional<cel::Type> params) {
  const bool hasParams = memberOf(spec, "paramKind").is_object();
  auto opened = PolicyEnvironment::create({.hasParams = hasParams,
                                           .variables = &names_,
                                           .patchTypes = patchTypes,
                                           .object = std::move(object),
                                           .params = std::move(params)});
  auto conditions = PolicyEnvironment::create({.hasParams = hasParams, .object = {}});
  if (!opened || !conditions) {
    problems_.push_back("spec: Internal error: " +
                        (opened ? conditions.error() : opened.error()).message);
    return;
  }
  environment_ = *std::move(opened);
  conditionEnvironment_ = *std::move(conditions);
  addConditions(spec);
  addVariables(spec);
}

std::optional<PolicyExpression> PolicyExpressions::compile(const cel::Environment& environment,
                                                           std::string path, std::string_view text,
                                                           const std::vector<cel::Type>& types,
                                                           std::string_view required) {
  if (trim(text).empty()) {
    problems_.push_back(
        fmt::format("{}: Required value{}{}", path, required.empty() ? "" : ": ", required));
    return std::nullopt;
  }
  auto program = compilePolicyExpression(environment, text, types);
  if (program) return PolicyExpression{std::string(text), *std::move(program)};
  problems_.push_back(fmt::format("{}: Invalid value: {}: {}", path, toJson(json::string(text)),
                                  program.error().message));
  return std::nullopt;
}

void PolicyExpressions::addVariables(const json::value& spec) {
  const auto* defined = arrayAt(spec, "variables");
  // A variable sees those before it: the names are added one after the other.
  for (std::size_t i = 0; defined && i < defined->size(); ++i) {
    const auto name = textAt((*defined)[i], "name");
    auto compiled = compile(environment_->full(), fmt::format("spec.variables[{}].expression", i),
                            textAt((*defined)[i], "expression"), {}, "expression is not specified");
    if (names_.field(name)) {
      addProblem(fmt::format("spec.variables[{}].name: Duplicate value: {}", i,
                             toJson(json::string(name))));
      continue;
    }
    if (!compiled) continue;
    names_.add(name, compiled->program.resultType());
    variables_.emplace_back(std::string(name), std::move(compiled->program));
  }
}

void PolicyExpressions::addConditions(const json::value& spec) {
  const auto* matches = arrayAt(spec, "matchConditions");
  for (std::size_t i = 0; matches && i < matches->size(); ++i)
    if (auto compiled = compile(conditionEnvironment_->full(),
                                fmt::format("spec.matchConditions[{}].expression", i),
                                trim(textAt((*matches)[i], "expression")), {cel::Type::boolean()}))
      conditions_.push_back(*std::move(compiled));
}

Result<bool> PolicyExpressions::match(const PolicyInputs& inputs, std::uint64_t* cost) const {
  return matchConditions(*conditionEnvironment_, conditions_, inputs, cost);
}

Result<bool> matchConditions(const PolicyEnvironment& environment,
                             const std::vector<PolicyExpression>& conditions,
                             const PolicyInputs& inputs, std::uint64_t* all) {
  if (conditions.empty()) return true;
  const cel::Activation activation = environment.activate(inputs);
  std::uint64_t budget = kConditionsCostLimit;
  std::vector<std::string> errors;
  bool isFalse = false;
  for (const PolicyExpression& condition : conditions) {
    std::uint64_t cost = 0;
    const auto result = condition.program.evaluate(activation, {kEvaluationCostLimit}, &cost);
    if (all) *all += cost;
    if (cost > budget) return outOfBudget();
    budget -= cost;
    if (!result) {
      errors.push_back(errorOf(condition.text, result.error().message));
    } else if (!result->isTrue()) {
      isFalse = true;
    }
  }
  if (isFalse) return false;
  if (errors.empty()) return true;
  return fail(ErrorCode::Invalid,
              errors.size() == 1 ? errors.front() : fmt::format("[{}]", fmt::join(errors, ", ")));
}

PolicyRun::PolicyRun(const PolicyExpressions& policy, const PolicyInputs& inputs,
                     std::uint64_t budget)
    : policy_(policy),
      activation_(policy.environment_->activate(inputs)),
      values_(policy.variables_.size()),
      budget_(budget) {
  activation_.set("variables", cel::Value::object(policy.names_, this));
}

cel::Value PolicyRun::variable(std::size_t index) {
  std::optional<cel::Value>& value = values_[index];
  if (value) return *value;
  // The expression ends as out of budget, whatever it makes of this error.
  if (spentOnVariables_ > budget_) return cel::Value::error(std::string(kOutOfBudget));
  const auto& [name, program] = policy_.variables_[index];
  if (depth_ >= kMaxNestedVariables)
    return cel::Value::error(
        fmt::format("more than {} variables read each other", kMaxNestedVariables));
  ++depth_;
  std::uint64_t cost = 0;
  auto result = program.evaluate(activation_, {kEvaluationCostLimit}, &cost);
  --depth_;
  spentOnVariables_ += cost;
  value = result
              ? *std::move(result)
              : cel::Value::error(fmt::format("composited variable {} fails to evaluate: {}",
                                              toJson(json::string(name)), result.error().message));
  return *value;
}

Result<cel::Value> PolicyRun::evaluate(const PolicyExpression& expression) {
  spentOnVariables_ = 0;
  std::uint64_t cost = 0;
  auto result = expression.program.evaluate(activation_, {kEvaluationCostLimit}, &cost);
  cost += spentOnVariables_;
  if (cost > budget_) return outOfBudget();
  budget_ -= cost;
  if (!result) return fail(ErrorCode::Invalid, errorOf(expression.text, result.error().message));
  return result;
}

}  // namespace koord::apiserver
