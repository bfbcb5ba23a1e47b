#include "apiserver/rules/policy_program.h"

#include <fmt/format.h>

#include <optional>

#include "apiserver/objects/edit.h"
#include "apiserver/rules/limits.h"
#include "base/split.h"

namespace koord::apiserver {

namespace {

struct Validation {
  std::string expression, message, reason;
  std::optional<PolicyExpression> rule, messageExpression;
};
struct AuditAnnotation {
  std::string key;
  PolicyExpression value;
};

}  // namespace

struct PolicyProgram::State {
  PolicyExpressions expressions;
  std::vector<Validation> validations;
  std::vector<AuditAnnotation> annotations;

  explicit State(const json::value& spec) : expressions(spec, nullptr) {
    const PolicyEnvironment* environment = expressions.environment();
    if (!environment) return;
    constexpr const char* kRequired = "expression is not specified";
    const auto* rules = arrayAt(spec, "validations");
    for (std::size_t i = 0; rules && i < rules->size(); ++i) {
      const json::value& given = (*rules)[i];
      const auto path = fmt::format("spec.validations[{}]", i);
      Validation& validation = validations.emplace_back();
      validation.expression = textAt(given, "expression");
      validation.message = textAt(given, "message");
      validation.reason = textAt(given, "reason");
      validation.rule =
          expressions.compile(environment->full(), path + ".expression", validation.expression,
                              {cel::Type::boolean()}, kRequired);
      // Validation reports a message expression that is blank.
      if (const auto text = textAt(given, "messageExpression"); !trim(text).empty())
        validation.messageExpression = expressions.compile(
            environment->plain(), path + ".messageExpression", text, {cel::Type::string()});
    }
    const auto* values = arrayAt(spec, "auditAnnotations");
    for (std::size_t i = 0; values && i < values->size(); ++i)
      if (auto value = expressions.compile(
              environment->full(), fmt::format("spec.auditAnnotations[{}].valueExpression", i),
              trim(textAt((*values)[i], "valueExpression")),
              {cel::Type::string(), cel::Type::null()}, "valueExpression is not specified"))
        annotations.push_back({std::string(textAt((*values)[i], "key")), *std::move(value)});
  }

  void validate(const PolicyInputs& inputs, Findings& findings) const;
  void annotate(const PolicyInputs& inputs, Findings& findings) const;
};

PolicyProgram::PolicyProgram(std::unique_ptr<const State> state) : state_(std::move(state)) {}
PolicyProgram::~PolicyProgram() = default;

std::shared_ptr<const PolicyProgram> PolicyProgram::compile(const json::value& spec) {
  return std::shared_ptr<const PolicyProgram>(
      new PolicyProgram(std::make_unique<const State>(spec)));
}

const std::vector<std::string>& PolicyProgram::problems() const {
  return state_->expressions.problems();
}

namespace {

PolicyProgram::Denial failed(std::size_t index, std::string message) {
  return {index, std::move(message), "Invalid", true};
}

// The text that a message expression gives, if it can be a message.
std::string usableText(const cel::Value& value) {
  if (!value.is(cel::Kind::String)) return {};
  const std::string_view text = trim(value.text());
  if (text.size() > kMaxMessageBytes || text.find('\n') != std::string_view::npos) return {};
  return std::string(text);
}

// Why a validation fails that is false.
PolicyProgram::Denial denialOf(std::size_t index, const Validation& validation, PolicyRun& run) {
  std::string message;
  if (validation.messageExpression) {
    const auto value = run.evaluate(*validation.messageExpression);
    if (value) {
      message = usableText(*value);
    } else if (value.error().code == ErrorCode::TooManyRequests) {
      return failed(index, "failed messageExpression: " + value.error().message);
    }
  }
  if (message.empty()) message = trim(validation.message);
  if (message.empty()) message = fmt::format("failed expression: {}", trim(validation.expression));
  return {index, std::move(message), validation.reason.empty() ? "Invalid" : validation.reason,
          false};
}

}  // namespace

void PolicyProgram::State::validate(const PolicyInputs& inputs, Findings& findings) const {
  PolicyRun run(expressions, inputs, kRulesCostLimit);
  std::vector<std::size_t> failures;  // without a message yet: messages use what budget is left
  std::vector<Denial> denials(validations.size());
  for (std::size_t i = 0; i < validations.size(); ++i) {
    const auto value = run.evaluate(*validations[i].rule);
    if (value) {
      if (!value->isTrue()) failures.push_back(i);
    } else if (value.error().code == ErrorCode::TooManyRequests) {
      findings.denials = {failed(i, value.error().message)};
      return;
    } else {
      denials[i] = failed(i, value.error().message);
    }
  }
  if (!failures.empty()) {
    // Variables are evaluated again, as for every kind of expression.
    PolicyRun messages(expressions, inputs, run.budget());
    for (const std::size_t i : failures) denials[i] = denialOf(i, validations[i], messages);
  }
  for (Denial& denial : denials)
    if (!denial.message.empty()) findings.denials.push_back(std::move(denial));
}

void PolicyProgram::State::annotate(const PolicyInputs& inputs, Findings& findings) const {
  if (annotations.empty()) return;
  PolicyRun run(expressions, inputs, kRulesCostLimit);
  for (const AuditAnnotation& annotation : annotations) {
    const auto value = run.evaluate(annotation.value);
    if (!value) {
      findings.annotationErrors.push_back(value.error().message);
      if (value.error().code == ErrorCode::TooManyRequests) return;
    } else if (value->is(cel::Kind::String)) {
      if (const auto text = trim(value->text()); !text.empty())
        findings.annotations.push_back({annotation.key, std::string(text)});
    }
  }
}

PolicyProgram::Findings PolicyProgram::evaluate(const Inputs& inputs) const {
  Findings findings;
  if (!problems().empty()) {
    findings.denials.push_back(failed(0, problems().front()));
    return findings;
  }
  const auto matched = state_->expressions.match(inputs);
  if (!matched) {
    findings.denials.push_back(failed(0, matched.error().message));
    return findings;
  }
  if (!*matched) return findings;
  state_->validate(inputs, findings);
  state_->annotate(inputs, findings);
  return findings;
}

}  // namespace koord::apiserver
