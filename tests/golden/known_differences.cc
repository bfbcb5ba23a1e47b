#include "golden/known_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

namespace koord::golden {
namespace {

const Oracle* findOracle(const Checker& checker, std::string_view name) {
  const auto found = std::ranges::find(checker.oracles, name, &Oracle::name);
  return found == checker.oracles.end() ? nullptr : &*found;
}

Result<> checkCondition(const json::value& condition) {
  const json::object* form = condition.if_object();
  if (!form) return {};
  if (form->size() == 1 && form->contains("absent")) return {};
  if (form->size() != 1 || textAt(condition, "matches").empty()) {
    return fail(ErrorCode::Invalid, R"(must be a value, {"matches": regex} or {"absent": true})");
  }
  try {
    std::regex compiled{std::string(textAt(condition, "matches"))};
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::Invalid, fmt::format("bad regular expression: {}", error.what()));
  }
  return {};
}

bool holds(const json::value& condition, const json::value* member) {
  if (!condition.is_object()) return member && sameOutput(condition, *member);
  if (at(condition, "absent")) return !member;
  if (!member || !member->is_string()) return false;
  return std::regex_search(member->get_string().c_str(),
                           std::regex(std::string(textAt(condition, "matches"))));
}

Result<> checkExpect(const json::object& expect) {
  constexpr std::array<std::string_view, 3> kForms{"literal", "field", "oracle"};
  if (expect.size() == 1) {
    const std::string_view form = expect.begin()->key();
    const bool known = std::ranges::find(kForms, form) != kForms.end();
    if (known && (form == "literal" || expect.begin()->value().is_string())) return {};
  }
  return fail(ErrorCode::Invalid,
              R"(expect: must be one of {"literal": value}, {"field": name} and {"oracle": name})");
}

}  // namespace

Result<KnownDifferences> KnownDifferences::parse(std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  const json::value* rules = find(*document, "rules");
  if (!rules || !rules->is_array()) return fail(ErrorCode::Invalid, "rules: must be a list");

  KnownDifferences result;
  for (std::size_t i = 0; i < rules->get_array().size(); ++i) {
    const json::value& source = rules->get_array()[i];
    const std::string where = fmt::format("rules[{}]", i);
    Rule rule;
    rule.name = textAt(source, "name");
    rule.file = textAt(source, "file");
    if (rule.name.empty() || rule.file.empty() || textAt(source, "reason").empty()) {
      return fail(ErrorCode::Invalid, where + ": needs a name, a file and a reason");
    }
    const json::value* fields = find(source, "fields");
    if (!fields || !fields->is_array() || fields->get_array().empty()) {
      return fail(ErrorCode::Invalid, where + ".fields: must be a list of output names");
    }
    for (const json::value& field : fields->get_array()) {
      if (!field.is_string()) return fail(ErrorCode::Invalid, where + ".fields: must be strings");
      rule.fields.emplace_back(field.get_string());
    }
    if (const json::value* when = find(source, "when"); when && when->is_object()) {
      rule.when = when->get_object();
    }
    for (const auto& condition : rule.when) {
      if (auto good = checkCondition(condition.value()); !good) {
        return fail(std::move(good.error())
                        .within(fmt::format("{}.when.{}", where, std::string(condition.key()))));
      }
    }
    if (const json::value* expect = find(source, "expect"); expect && expect->is_object()) {
      rule.expect = expect->get_object();
    }
    if (auto good = checkExpect(rule.expect); !good) {
      return fail(std::move(good.error()).within(where));
    }
    result.rules_.push_back(std::move(rule));
  }
  return result;
}

Result<> KnownDifferences::validateFor(const Checker& checker) const {
  for (const Rule& rule : rules_) {
    const json::value* name =
        rule.file == checker.file ? rule.expect.if_contains("oracle") : nullptr;
    if (name && !(name->is_string() && findOracle(checker, name->get_string()))) {
      return fail(ErrorCode::Invalid, fmt::format("rule \"{}\": {} has no oracle {}", rule.name,
                                                  rule.file, toJson(*name)));
    }
  }
  return {};
}

std::optional<KnownDifferences::Right> KnownDifferences::rightValue(const Checker& checker,
                                                                    const json::object& testCase,
                                                                    std::string_view field) const {
  const json::value* recorded = testCase.if_contains(field);
  for (const Rule& rule : rules_) {
    if (rule.file != checker.file || std::ranges::find(rule.fields, field) == rule.fields.end()) {
      continue;
    }
    const bool applies = std::ranges::all_of(rule.when, [&](const auto& condition) {
      return holds(condition.value(), testCase.if_contains(condition.key()));
    });
    if (!applies) continue;

    std::optional<json::value> right;
    if (const json::value* literal = rule.expect.if_contains("literal")) {
      right = *literal;
    } else if (const json::value* other = rule.expect.if_contains("field")) {
      if (const json::value* value = testCase.if_contains(other->get_string())) right = *value;
    } else if (const json::value* name = rule.expect.if_contains("oracle")) {
      right = findOracle(checker, name->get_string())->rightValue(testCase, field);
    }
    if (!right || (recorded && sameOutput(*recorded, *right))) continue;
    return Right{&rule.name, std::move(*right)};
  }
  return std::nullopt;
}

}  // namespace koord::golden
