#include "apiserver/rules/policy_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "apiserver/rules/limits.h"
#include "base/split.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"

namespace koord::apiserver {

namespace {

// One request: what expressions read, and what was computed for it.
struct PolicyRun {
  cel::Activation activation;
  const std::vector<cel::Program>& variables;
  std::vector<std::optional<cel::Value>> values;  // of the variables
  std::uint64_t spent = 0;

  cel::Value run(const cel::Program& program) {
    std::uint64_t cost = 0;
    auto result = program.evaluate(activation, {kEvaluationCostLimit}, &cost);
    spent += cost;
    return result ? *std::move(result) : cel::Value::error(result.error().message);
  }
  const cel::Value& variable(std::size_t index) {
    if (!values[index]) values[index] = run(variables[index]);
    return *values[index];
  }
};

// The variables that the policy defines: an object whose fields are computed when they are read.
class Variables final : public cel::ObjectType {
 public:
  std::string_view name() const override { return "kubernetes.variables"; }
  std::optional<Field> field(std::string_view name) const override {
    const auto found = fields_.find(name);
    return found == fields_.end() ? std::nullopt : std::optional(found->second);
  }
  cel::Value get(const void* object, int field) const override {
    return evaluationOf(object).variable(static_cast<std::size_t>(field));
  }
  bool has(const void*, int) const override { return true; }
  void add(std::string_view name, cel::Type type) {
    fields_.emplace(std::string(name), Field{static_cast<int>(fields_.size()), std::move(type)});
  }

 private:
  // The evaluation is the host's own object, which only CEL sees as constant.
  static PolicyRun& evaluationOf(const void* object) {
    return *static_cast<PolicyRun*>(const_cast<void*>(object));
  }
  std::map<std::string, Field, std::less<>> fields_;
};

struct Validation {
  std::string expression, message, reason;
  std::optional<cel::Program> program, messageProgram;
};

const json::array& listAt(const json::value& spec, std::string_view name) {
  static const json::array none;
  const auto* list = find(spec, name);
  return list && list->is_array() ? list->get_array() : none;
}

}  // namespace

struct PolicyProgram::State {
  Variables names;
  std::optional<cel::Environment> environment;
  std::vector<cel::Program> variables;
  std::vector<std::pair<std::string, cel::Program>> conditions;
  std::vector<Validation> validations;
  std::vector<std::string> problems;

  void open(bool hasParams) {
    cel::EnvironmentOptions options;
    options.variables = {
        {"object", cel::Type::dyn()},          {"oldObject", cel::Type::dyn()},
        {"request", cel::Type::dyn()},         {"namespaceObject", cel::Type::dyn()},
        {"authorizer", cel::authorizerType()}, {"variables", cel::Type::object(names)}};
    if (hasParams) options.variables.push_back({"params", cel::Type::dyn()});
    options.libraries = cel::kubernetesLibraries();
    options.homogeneousLiterals = true;
    options.costModel = &cel::kubernetesCosts();
    if (auto opened = cel::Environment::create(std::move(options)); opened) {
      environment = *std::move(opened);
    } else {
      problems.push_back("spec: Internal error: " + opened.error().message);
    }
  }

  std::optional<cel::Program> add(const std::string& path, std::string_view expression,
                                  std::optional<cel::TypeKind> wanted) {
    if (!environment) return std::nullopt;
    const std::string_view text = trim(expression);
    const auto invalid = [&](std::string_view why) {
      problems.push_back(
          fmt::format("{}: Invalid value: {}: {}", path, toJson(json::string(expression)), why));
      return std::nullopt;
    };
    if (text.empty()) {
      problems.push_back(path + ": Required value: expression is not specified");
      return std::nullopt;
    }
    auto program = environment->compile(text);
    if (!program) return invalid("compilation failed: " + program.error().message);
    const cel::Type& type = program->resultType();
    if (wanted && !type.isDyn() && type.kind() != *wanted)
      return invalid(*wanted == cel::TypeKind::Bool ? "must evaluate to bool"
                                                    : "must evaluate to string");
    return *std::move(program);
  }

  void addAll(const json::value& spec) {
    // A variable sees those before it: the names are added one after the other.
    const json::array& defined = listAt(spec, "variables");
    for (std::size_t i = 0; i < defined.size(); ++i) {
      auto program = add(fmt::format("spec.variables[{}].expression", i),
                         textAt(defined[i], "expression"), std::nullopt);
      if (!program) continue;
      names.add(textAt(defined[i], "name"), program->resultType());
      variables.push_back(*std::move(program));
    }
    const json::array& matches = listAt(spec, "matchConditions");
    for (std::size_t i = 0; i < matches.size(); ++i) {
      const auto expression = textAt(matches[i], "expression");
      if (auto program = add(fmt::format("spec.matchConditions[{}].expression", i), expression,
                             cel::TypeKind::Bool))
        conditions.emplace_back(std::string(expression), *std::move(program));
    }
    const json::array& rules = listAt(spec, "validations");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const auto path = fmt::format("spec.validations[{}]", i);
      Validation& rule = validations.emplace_back();
      rule.expression = textAt(rules[i], "expression");
      rule.message = textAt(rules[i], "message");
      rule.reason = textAt(rules[i], "reason");
      rule.program = add(path + ".expression", rule.expression, cel::TypeKind::Bool);
      if (const auto text = textAt(rules[i], "messageExpression"); !text.empty())
        rule.messageProgram = add(path + ".messageExpression", text, cel::TypeKind::String);
    }
  }
};

PolicyProgram::PolicyProgram(std::unique_ptr<const State> state) : state_(std::move(state)) {}
PolicyProgram::~PolicyProgram() = default;

std::shared_ptr<const PolicyProgram> PolicyProgram::compile(const json::value& spec) {
  auto state = std::make_unique<State>();
  const auto* params = find(spec, "paramKind");
  state->open(params && params->is_object());
  state->addAll(spec);
  return std::shared_ptr<const PolicyProgram>(new PolicyProgram(std::move(state)));
}

const std::vector<std::string>& PolicyProgram::problems() const {
  return state_->problems;
}

namespace {

PolicyProgram::Denial failed(std::size_t index, std::string message) {
  return {index, std::move(message), "Invalid", true};
}

std::string errorOf(std::string_view expression, const cel::Value& value) {
  return fmt::format("expression '{}' resulted in error: {}", expression,
                     value.isError() ? std::string_view(value.errorMessage())
                                     : std::string_view("it is not a bool"));
}

// The message of a validation that is false.
std::string messageOf(const Validation& rule, PolicyRun& evaluation) {
  if (rule.messageProgram) {
    const cel::Value value = evaluation.run(*rule.messageProgram);
    if (value.is(cel::Kind::String)) {
      const std::string_view text = trim(value.text());
      if (!text.empty() && text.size() <= kMaxMessageBytes &&
          text.find('\n') == std::string_view::npos)
        return std::string(text);
    }
  }
  if (!trim(rule.message).empty()) return std::string(trim(rule.message));
  return fmt::format("failed expression: {}", trim(rule.expression));
}

}  // namespace

std::vector<PolicyProgram::Denial> PolicyProgram::evaluate(const Inputs& inputs) const {
  const State& state = *state_;
  if (!state.problems.empty()) return {failed(0, state.problems.front())};
  PolicyRun evaluation{cel::Activation(*state.environment), state.variables,
                       std::vector<std::optional<cel::Value>>(state.variables.size())};
  cel::Activation& activation = evaluation.activation;
  activation.set("object", cel::Value::json(inputs.object));
  activation.set("oldObject", cel::Value::json(inputs.oldObject));
  activation.set("request", cel::Value::json(inputs.request));
  activation.set("namespaceObject", cel::Value::json(inputs.namespaceObject));
  activation.set("params", cel::Value::json(inputs.params));
  activation.set("authorizer", cel::authorizerValue(inputs.authorizer));
  activation.set("variables", cel::Value::object(state.names, &evaluation));

  std::vector<std::string> errors;
  for (const auto& [expression, program] : state.conditions) {
    const cel::Value value = evaluation.run(program);
    if (evaluation.spent > kConditionsCostLimit) return {failed(0, std::string(kOutOfBudget))};
    if (!value.is(cel::Kind::Bool)) {
      errors.push_back(errorOf(expression, value));
    } else if (!value.isTrue()) {
      return {};
    }
  }
  if (!errors.empty()) return {failed(0, fmt::format("{}", fmt::join(errors, ", ")))};

  evaluation.spent = 0;
  std::vector<Denial> denials;
  for (std::size_t i = 0; i < state.validations.size(); ++i) {
    const Validation& rule = state.validations[i];
    const cel::Value value = evaluation.run(*rule.program);
    if (evaluation.spent > kRulesCostLimit) {
      denials.push_back(failed(i, std::string(kOutOfBudget)));
      break;
    }
    if (!value.is(cel::Kind::Bool)) {
      denials.push_back(failed(i, errorOf(rule.expression, value)));
    } else if (!value.isTrue()) {
      denials.push_back({i, messageOf(rule, evaluation),
                         rule.reason.empty() ? std::string("Invalid") : rule.reason, false});
    }
  }
  return denials;
}

}  // namespace koord::apiserver
