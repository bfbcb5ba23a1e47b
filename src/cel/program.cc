// Programs: compiling and evaluating.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cel/check/checker.h"
#include "cel/cost/estimate.h"
#include "cel/environment_state.h"
#include "cel/eval/planner.h"
#include "cel/issues.h"
#include "cel/syntax/parser.h"

namespace koord::cel {

struct ProgramState {
  std::shared_ptr<const EnvironmentState> environment;
  ExprPtr expr;
  Plan plan;
  Type resultType;
  bool checked = false;
};

namespace {

std::unexpected<Error> invalidText(const IssueList& list, std::vector<Issue>* issues) {
  if (issues) *issues = list.issues();
  return fail(ErrorCode::Invalid, list.toString());
}

void collectVariables(const Expr& expr, const EnvironmentState& environment,
                      std::set<std::string>& names) {
  if (const auto name = qualifiedName(expr))
    for (const std::string& candidate : environment.candidates(*name))
      if (environment.variables.contains(candidate)) names.insert(candidate);
  forEachChild(expr, [&](const Expr& child) { collectVariables(child, environment, names); });
}

}  // namespace

Result<Program> Environment::compile(std::string_view text, const CompileOptions& options,
                                     std::vector<Issue>* issues) const {
  IssueList list(text);
  ParseOptions parsing;
  parsing.limits = state_->options.limits;
  parsing.macros = [&](std::string_view name, bool member, int arguments) {
    return options.macros ? state_->macro(name, member, arguments) : nullptr;
  };
  auto state = std::make_shared<ProgramState>();
  state->environment = state_;
  state->expr = parse(text, parsing, list);
  if (!state->expr) return invalidText(list, issues);
  if (options.check) {
    check(*state->expr, *state_, list);
    if (!list.empty()) return invalidText(list, issues);
    state->checked = true;
    if (state->expr->type) state->resultType = *state->expr->type;
  }
  if (options.expectedType && !state->resultType.isDyn() &&
      !(state->resultType == *options.expectedType)) {
    list.add(0, fmt::format("must evaluate to {}, not {}", options.expectedType->toString(),
                            state->resultType.toString()));
    return invalidText(list, issues);
  }
  auto planned = plan(*state->expr, *state_);
  if (!planned) {
    list.add(0, planned.error().message);
    return invalidText(list, issues);
  }
  state->plan = *std::move(planned);
  return Program(std::move(state));
}

const Type& Program::resultType() const {
  return state_->resultType;
}

Result<Value> Program::evaluate(const Activation& activation, const EvaluationLimits& limits,
                                std::uint64_t* cost) const {
  constexpr std::size_t kInline = 8;
  std::array<Value, kInline> few;
  std::vector<Value> many;
  std::span<Value> locals(few);
  if (state_->plan.locals > kInline) {
    many.resize(state_->plan.locals);
    locals = many;
  }
  Frame frame{activation.values(), locals, 0, limits.cost, false};
  Value value = state_->plan.root->evaluate(frame);
  if (cost) *cost = frame.cost;
  if (frame.stopped)
    return fail(ErrorCode::TooManyRequests, "operation cancelled: actual cost limit exceeded");
  if (value.isError()) return fail(ErrorCode::Invalid, value.errorMessage());
  return value;
}

CostEstimate Program::estimateCost() const {
  if (!state_->checked) return {0, std::numeric_limits<std::uint64_t>::max()};
  return estimate(*state_->expr, *state_->environment);
}

std::vector<std::string> Program::variables() const {
  std::set<std::string> names;
  collectVariables(*state_->expr, *state_->environment, names);
  return {names.begin(), names.end()};
}

}  // namespace koord::cel
