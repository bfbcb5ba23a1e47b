#include "apiserver/rules/custom_rules.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "apiserver/rules/limits.h"
#include "apiserver/rules/rule_tree.h"
#include "base/split.h"

namespace koord::apiserver {

namespace {

std::string_view textOf(const api::SchemaRule& rule) {
  return trim(rule.message.empty() ? rule.rule : rule.message);
}

// Finds the old element of a list of type map by its keys.
class OldElements {
 public:
  OldElements(const api::Schema& list, const json::value* old) : list_(list) {
    if (!old || !old->is_array() || list.listKind != api::Schema::ListKind::Map) return;
    for (const json::value& element : old->get_array()) byKeys_.emplace(keysOf(element), &element);
  }
  const json::value* of(const json::value& element) const {
    if (byKeys_.empty()) return nullptr;
    const auto found = byKeys_.find(keysOf(element));
    return found == byKeys_.end() ? nullptr : found->second;
  }

 private:
  std::string keysOf(const json::value& element) const {
    std::string keys;
    for (const std::string& key : list_.listKeys) keys += toJson(memberOf(element, key)) + ",";
    return keys;
  }
  const api::Schema& list_;
  std::unordered_map<std::string, const json::value*> byKeys_;
};

// A value and what it replaces.
struct Values {
  const json::value& self;
  const json::value* old;  // nullptr: nothing corresponds
  bool unchanged;          // it, or the nearest value above that has an old one, is as before
};

class Evaluation {
 public:
  std::vector<std::string> errors;

  // Returns false if the budget is used up.
  bool check(const RuleNode& node, const std::string& path, const Values& values) {
    if (values.self.is_null()) return true;
    if (!checkOwn(node, path, values)) return false;
    for (const auto& part : node.allOf)
      if (!check(*part, path, values)) return false;
    if (const auto* array = values.self.if_array())
      return checkElements(node, path, *array, values);
    if (const auto* object = values.self.if_object())
      return checkMembers(node, path, *object, values);
    return true;
  }

 private:
  static Values below(const Values& above, const json::value& self, const json::value* old) {
    return {self, old, above.unchanged || (old && *old == self)};
  }

  bool checkElements(const RuleNode& node, const std::string& path, const json::array& array,
                     const Values& values) {
    if (!node.items) return true;
    const OldElements old(*node.schema, values.old);
    for (std::size_t i = 0; i < array.size(); ++i)
      if (!check(*node.items, fmt::format("{}[{}]", path, i),
                 below(values, array[i], old.of(array[i]))))
        return false;
    return true;
  }

  bool checkMembers(const RuleNode& node, const std::string& path, const json::object& object,
                    const Values& values) {
    const json::object* old = values.old ? values.old->if_object() : nullptr;
    for (const auto& member : object) {
      const json::value* before = old ? old->if_contains(member.key()) : nullptr;
      const Values inner = below(values, member.value(), before);
      const std::string_view key = member.key();
      if (node.items && !check(*node.items, fmt::format("{}[{}]", path, key), inner)) return false;
      if (const auto field = node.fields.find(key); field != node.fields.end())
        if (!check(*field->second,
                   path.empty() ? std::string(key) : fmt::format("{}.{}", path, key), inner))
          return false;
    }
    return true;
  }

  bool checkOwn(const RuleNode& node, const std::string& path, const Values& values) {
    for (const CompiledRule& rule : node.rules) {
      if (budget_ == 0) return invalid(node, path, kOutOfBudget), false;
      if (!rule.error.empty()) {
        invalid(node, path, "rule compile error: " + rule.error);
        continue;
      }
      if (!rule.program) continue;
      if (rule.usesOldSelf && !values.old && !rule.source->optionalOldSelf.value_or(false))
        continue;
      if (!checkRule(node, rule, path, values)) return false;
    }
    return true;
  }

  bool checkRule(const RuleNode& node, const CompiledRule& rule, const std::string& path,
                 const Values& values) {
    const cel::Type& type = node.type->type;
    cel::Activation activation(*rule.environment);
    activation.set("self", cel::Value::json(values.self, type));
    const bool optional = rule.source->optionalOldSelf.value_or(false);
    if (values.old) {
      cel::Value old = cel::Value::json(*values.old, type);
      activation.set("oldSelf", optional ? cel::Value::optional(std::move(old)) : std::move(old));
    } else if (optional) {
      activation.set("oldSelf", cel::Value::none());
    }
    std::uint64_t cost = 0;
    const auto result = rule.program->evaluate(activation, {kEvaluationCostLimit}, &cost);
    if (!spend(cost)) return invalid(node, path, kOutOfBudget), false;
    if (!result) return failed(node, rule, path, result.error());
    if (result->isTrue()) return true;
    if (!rule.usesOldSelf && values.unchanged) return true;
    return refuse(node, rule, path, values.self, activation);
  }

  // Returns false if no further rules may be evaluated.
  bool failed(const RuleNode& node, const CompiledRule& rule, const std::string& path,
              const Error& error) {
    const std::string_view text = textOf(*rule.source);
    if (error.code == ErrorCode::TooManyRequests) {
      invalid(node, path,
              fmt::format("'{}': no further validation rules will be run due to call cost exceeds "
                          "limit for rule: {}",
                          error.message, text));
      return false;
    }
    if (error.message.starts_with("no such overload")) {
      invalid(node, path,
              fmt::format("'{}': call arguments did not match a supported operator, function or "
                          "macro signature for rule: {}",
                          error.message, text));
    } else {
      invalid(node, path, fmt::format("{} evaluating rule: {}", error.message, text));
    }
    return true;
  }

  bool refuse(const RuleNode& node, const CompiledRule& rule, std::string path,
              const json::value& self, const cel::Activation& activation) {
    if (!rule.fieldPath.empty())
      path += (path.empty() || rule.fieldPath.starts_with('[') ? "" : ".") + rule.fieldPath;
    std::optional<std::string> detail;
    if (rule.message) {
      std::uint64_t cost = 0;
      const auto text = rule.message->evaluate(activation, {kEvaluationCostLimit}, &cost);
      const bool within = spend(cost);
      if (!within || (!text && text.error().code == ErrorCode::TooManyRequests)) {
        invalid(node, path,
                within ? fmt::format("no further validation rules will be run due to call cost "
                                     "exceeds limit for messageExpression: {}",
                                     toJson(json::string(rule.source->messageExpression)))
                       : std::string("messageExpression evaluation failed due to running out of "
                                     "cost budget, no further validation rules will be run"));
        return false;
      }
      // A message that cannot be used gives way to that of the rule.
      if (text && text->is(cel::Kind::String)) {
        const std::string_view message = trim(text->text());
        if (!message.empty() && message.size() <= kMaxMessageBytes &&
            message.find('\n') == std::string_view::npos)
          detail = message;
      }
    }
    if (!detail)
      detail = rule.source->message.empty()
                   ? fmt::format("failed rule: {}", trim(rule.source->rule))
                   : std::string(trim(rule.source->message));
    add(path, reasonOf(rule, self), *detail);
    return true;
  }

  static std::string reasonOf(const CompiledRule& rule, const json::value& self) {
    const std::string& reason = rule.source->reason;
    if (reason == "FieldValueForbidden") return "Forbidden";
    if (reason == "FieldValueRequired") return "Required value";
    const char* kind = reason == "FieldValueDuplicate" ? "Duplicate value" : "Invalid value";
    return self.is_object() || self.is_array() ? std::string(kind)
                                               : fmt::format("{}: {}", kind, toJson(self));
  }

  void invalid(const RuleNode& node, const std::string& path, std::string_view why) {
    add(path, fmt::format("Invalid value: \"{}\"", node.typeName()), why);
  }
  void add(const std::string& path, std::string_view reason, std::string_view detail) {
    errors.push_back(fmt::format("{}: {}: {}", path.empty() ? "<nil>" : path, reason, detail));
  }

  bool spend(std::uint64_t cost) {
    if (cost > budget_) {
      budget_ = 0;
      return false;
    }
    budget_ -= cost;
    return true;
  }

  std::uint64_t budget_ = kRulesCostLimit;
};

}  // namespace

struct CustomRules::State {
  DeclaredTypes types;
  std::unique_ptr<RuleNode> root;
  std::vector<std::string> problems;
};

CustomRules::CustomRules(std::unique_ptr<const State> state) : state_(std::move(state)) {}
CustomRules::~CustomRules() = default;

std::shared_ptr<const CustomRules> CustomRules::compile(const api::Schema& root) {
  auto state = std::make_unique<State>();
  state->root = compileRules(root, state->types, state->problems);
  if (!state->root) return nullptr;
  return std::shared_ptr<const CustomRules>(new CustomRules(std::move(state)));
}

const std::vector<std::string>& CustomRules::problems() const {
  return state_->problems;
}

std::vector<std::string> CustomRules::check(const json::value& object,
                                            const json::value* before) const {
  Evaluation evaluation;
  evaluation.check(*state_->root, "", {object, before, before && *before == object});
  return std::move(evaluation.errors);
}

}  // namespace koord::apiserver
