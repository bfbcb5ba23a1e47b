#include "apiserver/rules/rule_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apiserver/rules/field_name.h"
#include "apiserver/rules/field_path.h"
#include "base/split.h"
#include "cel/library/all.h"

namespace koord::apiserver {

using api::Schema;
using api::SchemaRule;

namespace {

// The most that one expression, and all expressions of a schema, may cost by their estimates.
constexpr std::uint64_t kStaticRuleLimit = 10'000'000;
constexpr std::uint64_t kStaticSchemaLimit = 100'000'000;
constexpr std::size_t kMaxReasons = 4;
constexpr std::string_view kReasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                         "FieldValueInvalid", "FieldValueRequired"};

const std::vector<SchemaRule>& rulesOf(const Schema& schema) {
  static const std::vector<SchemaRule> none;
  return schema.limits ? schema.limits->rules : none;
}

bool hasRules(const Schema& schema) {
  if (!rulesOf(schema).empty()) return true;
  if (schema.items && hasRules(*schema.items)) return true;
  if (std::ranges::any_of(schema.fields, [](const api::SchemaField& field) {
        return field.type && hasRules(*field.type);
      }))
    return true;
  return schema.limits && std::ranges::any_of(schema.limits->allOf,
                                              [](const Schema* part) { return hasRules(*part); });
}

bool hasLineBreaks(std::string_view text) {
  return text.find_first_of("\n\r") != std::string_view::npos;
}

std::string quoted(std::string_view text) {
  return toJson(json::string(text));
}

std::string excess(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  const std::string by = factor > 100   ? std::string("more than 100x")
                         : factor < 1.5 ? fmt::format("{:.6f}x", factor)
                                        : fmt::format("{:.1f}x", factor);
  return fmt::format(
      "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
      "maxProperties, and maxLength where arrays, maps, and strings are declared)",
      what, by);
}

// Where in the schema the compiler is, and what that means for rules.
struct Place {
  std::string path;                        // "openAPIV3Schema.properties[spec]"
  std::optional<std::uint64_t> count = 1;  // how often a value can be there; nullopt: no bound
  std::string uncorrelated = {};           // the list above whose old elements are unknown
  std::int64_t minBytes = 0;               // of the value's JSON
};

class Compiler {
 public:
  Compiler(DeclaredTypes& types, std::vector<std::string>& problems)
      : types_(types), problems_(problems) {}

  // `rules` is the schema with rules, `shape` that with the types: they differ below allOf.
  std::unique_ptr<RuleNode> compile(const Schema& rules, const Schema& shape,
                                    const DeclaredType* type, const Place& place) {
    if (!hasRules(rules)) return nullptr;
    auto node = std::make_unique<RuleNode>();
    node->schema = &shape;
    node->type = type;
    compileOwn(rules, *node, place);
    if (rules.items && shape.items) {
      const bool isList = shape.type == Schema::Type::List;
      Place below{place.path + (isList ? ".items" : ".additionalProperties"), std::nullopt,
                  place.uncorrelated};
      const auto* limits = shape.limits.get();
      const auto most = limits ? (isList ? limits->maxItems : limits->maxProperties) : std::nullopt;
      if (place.count && most) below.count = cel::multiplyCost(*place.count, *most);
      if (isList && shape.listKind != Schema::ListKind::Map && below.uncorrelated.empty())
        below.uncorrelated = place.path;
      node->items = compile(*rules.items, *shape.items, type ? type->element : nullptr, below);
    }
    for (const api::SchemaField& field : rules.fields) {
      const auto* shaped = shape.field(field.name);
      if (!field.type || !shaped || !shaped->type) continue;
      const Place below{fmt::format("{}.properties[{}]", place.path, field.name), place.count,
                        place.uncorrelated};
      auto child = compile(*field.type, *shaped->type, typeOf(type, *shaped), below);
      if (child) node->fields.emplace(field.name, std::move(child));
    }
    if (rules.limits) {
      for (std::size_t i = 0; i < rules.limits->allOf.size(); ++i) {
        const Place below{fmt::format("{}.allOf[{}]", place.path, i), place.count,
                          place.uncorrelated};
        if (auto part = compile(*rules.limits->allOf[i], shape, type, below))
          node->allOf.push_back(std::move(part));
      }
    }
    return node;
  }

  void checkTotal(const std::string& path) {
    if (total_ <= kStaticSchemaLimit) return;
    std::ranges::sort(costs_, std::greater<>(), &std::pair<std::uint64_t, std::string>::first);
    for (std::size_t i = 0; i < std::min(costs_.size(), kMaxReasons); ++i)
      forbidden(costs_[i].second,
                "contributed to estimated rule & messageExpression cost total exceeding cost limit "
                "for entire OpenAPIv3 schema");
    forbidden(path, excess("x-kubernetes-validations estimated rule cost total for entire "
                           "OpenAPIv3 schema",
                           total_, kStaticSchemaLimit));
  }

 private:
  // A field whose name no expression can write has rules of its own all the same.
  const DeclaredType* typeOf(const DeclaredType* parent, const api::SchemaField& field) {
    if (const auto name = celFieldName(field.name)) {
      if (!parent) return nullptr;
      const auto found = parent->fields.find(*name);
      return found == parent->fields.end() ? nullptr : found->second;
    }
    return types_.declare(*field.type, field.type->embedded);
  }

  void problem(const std::string& path, std::string_view what) {
    problems_.push_back(fmt::format("{}: {}", path, what));
  }
  void forbidden(const std::string& path, std::string_view why) {
    problem(path, fmt::format("Forbidden: {}", why));
  }
  void invalid(const std::string& path, std::string_view value, std::string_view why) {
    problem(path, fmt::format("Invalid value: {}: {}", quoted(value), why));
  }

  void compileOwn(const Schema& rules, RuleNode& node, const Place& place) {
    const std::vector<SchemaRule>& sources = rulesOf(rules);
    if (sources.empty()) return;
    const std::string path = place.path + ".x-kubernetes-validations";
    if (!node.type) {
      problem(path,
              "Internal error: failed to construct type information for "
              "x-kubernetes-validations rules: the schema has no type");
      return;
    }
    node.costs = std::make_unique<NodeCosts>(*node.type);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Place at{fmt::format("{}[{}]", path, i), place.count, place.uncorrelated,
                     node.type->minBytes};
      checkForm(sources[i], node, at.path);
      node.rules.push_back(compileRule(sources[i], node, at));
    }
  }

  void checkForm(const SchemaRule& rule, const RuleNode& node, const std::string& path) {
    if (trim(rule.rule).empty()) {
      problem(path + ".rule", "Required value: rule is not specified");
    } else if (!rule.message.empty() && trim(rule.message).empty()) {
      invalid(path + ".message", rule.message, "must be non-empty if specified");
    } else if (hasLineBreaks(trim(rule.message))) {
      invalid(path + ".message", rule.message, "must not contain line breaks");
    } else if (hasLineBreaks(trim(rule.rule)) && trim(rule.message).empty()) {
      problem(path + ".message",
              "Required value: message must be specified if rule contains line breaks");
    }
    if (!rule.messageExpression.empty() && trim(rule.messageExpression).empty())
      problem(path + ".messageExpression",
              "Required value: messageExpression must be non-empty if specified");
    if (!rule.reason.empty() && std::ranges::find(kReasons, rule.reason) == std::end(kReasons))
      problem(path + ".reason", fmt::format("Unsupported value: {}: supported values: \"{}\"",
                                            quoted(rule.reason), fmt::join(kReasons, "\", \"")));
    if (!rule.fieldPath.empty() && !normalizedFieldPath(rule.fieldPath, *node.schema))
      invalid(path + ".fieldPath", rule.fieldPath, "must be a valid path");
  }

  CompiledRule compileRule(const SchemaRule& source, const RuleNode& node, const Place& place) {
    CompiledRule rule;
    rule.source = &source;
    if (trim(source.rule).empty()) return rule;
    if (!source.fieldPath.empty())
      rule.fieldPath = normalizedFieldPath(source.fieldPath, *node.schema).value_or("");
    const cel::Type& self = node.type->type;
    cel::EnvironmentOptions options;
    options.variables = {
        {"self", self},
        {"oldSelf", source.optionalOldSelf.value_or(false) ? cel::Type::optional(self) : self}};
    options.libraries = cel::kubernetesLibraries();
    options.homogeneousLiterals = true;
    options.costModel = node.costs.get();
    auto environment = cel::Environment::create(std::move(options));
    if (!environment) {
      rule.error = environment.error().message;
      problem(place.path, "Internal error: " + rule.error);
      return rule;
    }
    rule.environment = *std::move(environment);
    compileExpression(*rule.environment, source, rule, place);
    if (rule.program) compileMessage(*rule.environment, source, rule, place);
    return rule;
  }

  void compileExpression(const cel::Environment& environment, const SchemaRule& source,
                         CompiledRule& rule, const Place& place) {
    const std::string path = place.path + ".rule";
    auto program = environment.compile(source.rule);
    if (!program) {
      rule.error = "compilation failed: " + program.error().message;
    } else if (program->resultType().kind() != cel::TypeKind::Bool) {
      rule.error = "cel expression must evaluate to a bool";
    }
    if (!rule.error.empty()) return invalid(path, source.rule, rule.error);
    rule.program = *std::move(program);
    const std::uint64_t once = rule.program->estimateCost().max;
    const std::uint64_t count =
        place.count.value_or(static_cast<std::uint64_t>(kMaxRequestBytes / (place.minBytes + 1)));
    observe(path, "estimated rule cost", cel::multiplyCost(once, count));
    rule.usesOldSelf = std::ranges::count(rule.program->variables(), "oldSelf") > 0;
    if (rule.usesOldSelf && !place.uncorrelated.empty()) {
      invalid(path, source.rule,
              "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
                  place.uncorrelated);
    } else if (!rule.usesOldSelf && source.optionalOldSelf) {
      problem(place.path + ".optionalOldSelf",
              fmt::format("Invalid value: {}: may not be set if oldSelf is not used in rule",
                          *source.optionalOldSelf));
    }
  }

  void compileMessage(const cel::Environment& environment, const SchemaRule& source,
                      CompiledRule& rule, const Place& place) {
    if (trim(source.messageExpression).empty()) return;
    const std::string path = place.path + ".messageExpression";
    auto program = environment.compile(source.messageExpression);
    if (!program) {
      rule.messageError = "messageExpression compilation failed: " + program.error().message;
    } else if (program->resultType().kind() != cel::TypeKind::String) {
      rule.messageError = "messageExpression must evaluate to a string";
    }
    if (!rule.messageError.empty())
      return invalid(path, source.messageExpression, rule.messageError);
    rule.message = *std::move(program);
    observe(path, "estimated messageExpression cost", rule.message->estimateCost().max);
  }

  void observe(const std::string& path, std::string_view what, std::uint64_t cost) {
    if (cost > kStaticRuleLimit) forbidden(path, excess(what, cost, kStaticRuleLimit));
    total_ = cel::addCost(total_, cost);
    if (cost >= kStaticSchemaLimit / 100) costs_.emplace_back(cost, path);
  }

  DeclaredTypes& types_;
  std::vector<std::string>& problems_;
  std::uint64_t total_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> costs_;  // of expensive expressions
};

}  // namespace

std::optional<cel::SizeEstimate> NodeCosts::estimateSize(const cel::CostNode& node) const {
  if (node.path.empty()) return std::nullopt;
  const DeclaredType* at = &self_;
  for (std::size_t i = 1; i < node.path.size(); ++i) {
    const std::string& part = node.path[i];
    if (part == "@items" || part == "@values") {
      at = at->element;
    } else if (part == "@keys") {
      return at->element ? std::optional(cel::SizeEstimate{0, 0}) : std::nullopt;
    } else {
      const auto found = at->fields.find(part);
      at = found == at->fields.end() ? nullptr : found->second;
    }
    if (!at) return std::nullopt;
  }
  return cel::SizeEstimate{0, at->maxElements};
}

std::string_view RuleNode::typeName() const {
  switch (schema->type) {
    case Schema::Type::Object:
    case Schema::Type::Map:
      return "object";
    case Schema::Type::List:
      return "array";
    case Schema::Type::Integer:
      return "integer";
    case Schema::Type::Number:
      return "number";
    case Schema::Type::Boolean:
      return "boolean";
    case Schema::Type::String:
      return "string";
    default:
      return "";
  }
}

std::unique_ptr<RuleNode> compileRules(const Schema& root, DeclaredTypes& types,
                                       std::vector<std::string>& problems) {
  if (!hasRules(root)) return nullptr;
  Compiler compiler(types, problems);
  const std::string path = "openAPIV3Schema";
  auto tree = compiler.compile(root, root, types.declare(root, true), {path});
  compiler.checkTotal(path);
  return tree;
}

}  // namespace koord::apiserver
