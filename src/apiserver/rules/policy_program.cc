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

// One list of steps after the other: conditions, validations, the messages of those that failed,
// annotations.
struct PolicyProgram::Evaluation::Work {
  enum class Part { Conditions, Validations, Messages, Annotations, End };

  const State& state;
  PolicyInputs inputs;
  Part part = Part::Conditions;
  std::size_t next = 0;               // in the part's list
  std::optional<PolicyRun> run;       // of the part
  std::vector<Denial> denials;        // by validation; without a message: it holds
  std::vector<std::size_t> failures;  // validations that are false
  Findings findings;

  void begin(Part now, std::uint64_t budget) {
    part = now;
    next = 0;
    run.emplace(state.expressions, inputs, budget);
  }
  void end() {
    part = Part::End;
    run.reset();
  }
  // Each returns the cost.
  std::uint64_t matchConditions();
  std::uint64_t validateNext();
  std::uint64_t explainNext();
  std::uint64_t annotateNext();
  void endValidations();
  void endMessages();
  void beginAnnotations();
};

std::uint64_t PolicyProgram::Evaluation::Work::matchConditions() {
  std::uint64_t cost = 0;
  const auto matched = state.expressions.match(inputs, &cost);
  if (!matched) findings.denials.push_back(failed(0, matched.error().message));
  if (!matched || !*matched) {
    end();
    return cost;
  }
  denials.resize(state.validations.size());
  begin(Part::Validations, kRulesCostLimit);
  if (state.validations.empty()) endValidations();
  return cost;
}

std::uint64_t PolicyProgram::Evaluation::Work::validateNext() {
  const std::uint64_t budget = run->budget();
  const auto value = run->evaluate(*state.validations[next].rule);
  const std::uint64_t cost = budget - run->budget();
  if (value) {
    if (!value->isTrue()) failures.push_back(next);
  } else if (value.error().code == ErrorCode::TooManyRequests) {
    findings.denials = {failed(next, value.error().message)};
    beginAnnotations();
    return budget;
  } else {
    denials[next] = failed(next, value.error().message);
  }
  if (++next == state.validations.size()) endValidations();
  return cost;
}

// Messages use what budget is left. Variables are evaluated again, as for every kind of expression.
void PolicyProgram::Evaluation::Work::endValidations() {
  if (failures.empty()) return endMessages();
  begin(Part::Messages, run->budget());
}

std::uint64_t PolicyProgram::Evaluation::Work::explainNext() {
  const std::uint64_t budget = run->budget();
  const std::size_t index = failures[next];
  denials[index] = denialOf(index, state.validations[index], *run);
  const std::uint64_t cost = denials[index].isError ? budget : budget - run->budget();
  if (++next == failures.size()) endMessages();
  return cost;
}

void PolicyProgram::Evaluation::Work::endMessages() {
  for (Denial& denial : denials)
    if (!denial.message.empty()) findings.denials.push_back(std::move(denial));
  beginAnnotations();
}

void PolicyProgram::Evaluation::Work::beginAnnotations() {
  if (state.annotations.empty()) return end();
  begin(Part::Annotations, kRulesCostLimit);
}

std::uint64_t PolicyProgram::Evaluation::Work::annotateNext() {
  const AuditAnnotation& annotation = state.annotations[next++];
  const std::uint64_t budget = run->budget();
  const auto value = run->evaluate(annotation.value);
  const std::uint64_t cost = budget - run->budget();
  const bool isOverBudget = !value && value.error().code == ErrorCode::TooManyRequests;
  if (!value) {
    findings.annotationErrors.push_back(value.error().message);
  } else if (value->is(cel::Kind::String)) {
    if (const auto text = trim(value->text()); !text.empty())
      findings.annotations.push_back({annotation.key, std::string(text)});
  }
  if (isOverBudget || next == state.annotations.size()) end();
  return isOverBudget ? budget : cost;
}

PolicyProgram::Evaluation::Evaluation(const PolicyProgram& program, const Inputs& inputs)
    : work_(std::make_unique<Work>(*program.state_, inputs)) {
  if (program.problems().empty()) return;
  work_->findings.denials.push_back(failed(0, program.problems().front()));
  work_->end();
}

PolicyProgram::Evaluation::~Evaluation() = default;

bool PolicyProgram::Evaluation::step() {
  switch (work_->part) {
    case Work::Part::Conditions:
      cost_ = work_->matchConditions();
      break;
    case Work::Part::Validations:
      cost_ = work_->validateNext();
      break;
    case Work::Part::Messages:
      cost_ = work_->explainNext();
      break;
    case Work::Part::Annotations:
      cost_ = work_->annotateNext();
      break;
    case Work::Part::End:
      break;
  }
  return work_->part != Work::Part::End;
}

PolicyProgram::Findings PolicyProgram::Evaluation::takeFindings() {
  return std::move(work_->findings);
}

PolicyProgram::Findings PolicyProgram::evaluate(const Inputs& inputs) const {
  Evaluation evaluation(*this, inputs);
  while (evaluation.step()) {
  }
  return evaluation.takeFindings();
}

}  // namespace koord::apiserver
