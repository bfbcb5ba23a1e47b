#include "scenario/match.h"

#include <optional>

#include <fmt/format.h>

#include "base/utf8.h"
#include "scenario/jmespath.h"
#include "scenario/jmespath_values.h"

namespace koord::scenario {
namespace {

constexpr int kMaxDepth = 256;

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool isWord(std::string_view text) {
  for (const char c : text) {
    if (!isWordCharacter(c)) return false;
  }
  return true;
}

// A parsed key or text: [~name.]statement[->binding]. The statement is an expression if it is in
// parentheses, and literal between backslashes.
struct Statement {
  bool each = false;
  std::string index;
  std::string binding;
  std::string field;
  std::optional<Expression> expression;
};

bool isEscaped(std::string_view text) {
  return text.size() > 2 && text.starts_with('\\') && text.ends_with('\\');
}

Result<Expression> expressionIn(std::string_view text) {
  std::string_view inner = text.substr(1, text.size() - 2);
  const auto semicolon = inner.find(';');
  if (semicolon != std::string_view::npos && semicolon > 0 && isWord(inner.substr(0, semicolon))) {
    const auto language = inner.substr(0, semicolon);
    if (language != "jp") {
      return fail(
          ErrorCode::BadRequest,
          fmt::format("{}: only JMESPath (jp) expressions are supported, not {}", text, language));
    }
    inner.remove_prefix(semicolon + 1);
  }
  return Expression::parse(inner);
}

Result<Statement> parseStatement(std::string_view text) {
  Statement statement;
  if (!isEscaped(text)) {
    if (text.starts_with('~')) {
      const auto dot = text.find('.');
      if (dot != std::string_view::npos && isWord(text.substr(1, dot - 1))) {
        statement.each = true;
        statement.index = text.substr(1, dot - 1);
        text.remove_prefix(dot + 1);
      }
    }
    const auto arrow = text.rfind("->");
    if (arrow != std::string_view::npos && arrow > 0 && arrow + 2 < text.size() &&
        isWord(text.substr(arrow + 2))) {
      statement.binding = text.substr(arrow + 2);
      text = text.substr(0, text.find_last_not_of(' ', arrow - 1) + 1);
    }
  }
  if (isEscaped(text)) {
    statement.field = text.substr(1, text.size() - 2);
  } else if (isExpression(text)) {
    auto expression = expressionIn(text);
    if (!expression) return fail(std::move(expression.error()));
    statement.expression = *std::move(expression);
  } else {
    statement.field = text;
  }
  return statement;
}

std::string childPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// Values in messages, shortened if they are long.
std::string shown(const json::value& value) {
  constexpr std::size_t kLongest = 200;
  return shortened(value.is_double() ? jmespath::plainText(value) : toJson(value), kLongest);
}

}  // namespace

bool isExpression(std::string_view text) {
  return text.size() > 2 && text.starts_with('(') && text.ends_with(')');
}

struct AssertionTree::Node {
  struct Member {
    std::string key;  // as written, for paths
    Statement statement;
  };
  enum class Kind { Map, List, Scalar } kind = Kind::Scalar;
  std::vector<Member> members;
  std::vector<Node> items;  // of a list, or the values of the members
  json::value scalar;
  std::optional<Expression> expression;  // of a scalar
};

namespace {

using Node = AssertionTree::Node;

Result<Node> parseNode(const json::value& value, const std::string& path, int depth) {
  if (depth > kMaxDepth) return fail(ErrorCode::BadRequest, path + ": nested too deeply");
  Node node;
  if (const auto* object = value.if_object()) {
    node.kind = Node::Kind::Map;
    for (const auto& member : *object) {
      const std::string key = member.key();
      const std::string where = childPath(path, key);
      auto statement = parseStatement(key);
      if (!statement) return fail(std::move(statement.error()).within(where));
      auto child = parseNode(member.value(), where, depth + 1);
      if (!child) return child;
      node.members.push_back({key, *std::move(statement)});
      node.items.push_back(*std::move(child));
    }
    return node;
  }
  if (const auto* array = value.if_array()) {
    node.kind = Node::Kind::List;
    for (std::size_t i = 0; i < array->size(); ++i) {
      auto item = parseNode((*array)[i], fmt::format("{}[{}]", path, i), depth + 1);
      if (!item) return item;
      node.items.push_back(*std::move(item));
    }
    return node;
  }
  node.scalar = value;
  if (value.is_string()) {
    auto statement = parseStatement(jmespath::textOf(value));
    if (!statement) return fail(std::move(statement.error()).within(path));
    if (statement->each && statement->expression) {
      return fail(ErrorCode::BadRequest, path + ": \"~\" iterates in keys, not in values");
    }
    // In a value only expressions and escapes are special; "a->b" is plain text.
    if (statement->expression && statement->binding.empty()) {
      node.expression = std::move(statement->expression);
    } else if (isEscaped(jmespath::textOf(value))) {
      node.scalar = jmespath::textValue(statement->field);
    }
  }
  return node;
}

class Matcher {
 public:
  std::vector<Mismatch> mismatches;

  Result<> match(const Node& node, const json::value& actual, const std::string& path,
                 const Bindings& bindings) {
    switch (node.kind) {
      case Node::Kind::Map:
        return matchMap(node, actual, path, bindings);
      case Node::Kind::List:
        return matchList(node, actual, path, bindings);
      case Node::Kind::Scalar:
        return matchScalar(node, actual, path, bindings);
    }
    return {};
  }

 private:
  void add(const std::string& path, std::string message) {
    mismatches.push_back({path, std::move(message)});
  }

  Result<> matchMap(const Node& node, const json::value& actual, const std::string& path,
                    const Bindings& bindings) {
    if (actual.is_null()) {
      // Expressions may still refer to bindings, or to null itself.
      bool onlyExpressions = !node.members.empty();
      for (const auto& member : node.members)
        onlyExpressions &= member.statement.expression.has_value();
      if (!onlyExpressions) {
        add(path, "expected an object, got null");
        return {};
      }
    }
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      const auto& member = node.members[i];
      const std::string where = childPath(path, member.key);
      json::value projected;
      if (member.statement.expression) {
        auto value = member.statement.expression->evaluate(actual, bindings);
        if (!value) return fail(std::move(value.error()).within(where));
        projected = *std::move(value);
      } else {
        const auto* field = find(actual, member.statement.field);
        if (!field) {
          add(where, "the field is missing");
          continue;
        }
        projected = *field;
      }
      Bindings inner = bindings;
      if (!member.statement.binding.empty())
        inner = inner.with(member.statement.binding, projected);
      auto result = member.statement.each
                        ? matchEach(member, node.items[i], projected, where, inner)
                        : match(node.items[i], projected, where, inner);
      if (!result) return result;
    }
    return {};
  }

  Result<> matchEach(const Node::Member& member, const Node& body, const json::value& projected,
                     const std::string& path, const Bindings& bindings) {
    const auto inner = [&](json::value index) {
      return member.statement.index.empty()
                 ? bindings
                 : bindings.with(member.statement.index, std::move(index));
    };
    if (const auto* array = projected.if_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        auto result = match(body, (*array)[i], fmt::format("{}[{}]", path, i),
                            inner(static_cast<std::int64_t>(i)));
        if (!result) return result;
      }
    } else if (const auto* object = projected.if_object()) {
      for (const auto& entry : *object) {
        const std::string key = entry.key();
        auto result = match(body, entry.value(), fmt::format("{}[{}]", path, key),
                            inner(jmespath::textValue(key)));
        if (!result) return result;
      }
    } else {
      add(path,
          fmt::format("expected a list or an object to iterate over, got {}", shown(projected)));
    }
    return {};
  }

  Result<> matchList(const Node& node, const json::value& actual, const std::string& path,
                     const Bindings& bindings) {
    const auto* array = actual.if_array();
    if (!array) {
      add(path, fmt::format("expected a list, got {}", shown(actual)));
      return {};
    }
    if (array->size() != node.items.size()) {
      add(path, fmt::format("expected {} item{}, got {}: {}", node.items.size(),
                            node.items.size() == 1 ? "" : "s", array->size(), shown(actual)));
      return {};
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
      auto result = match(node.items[i], (*array)[i], fmt::format("{}[{}]", path, i), bindings);
      if (!result) return result;
    }
    return {};
  }

  Result<> matchScalar(const Node& node, const json::value& actual, const std::string& path,
                       const Bindings& bindings) {
    json::value expected = node.scalar;
    if (node.expression) {
      auto value = node.expression->evaluate(actual, bindings);
      if (!value) return fail(std::move(value.error()).within(path));
      expected = *std::move(value);
    }
    if (!equal(expected, actual)) {
      add(path, fmt::format("expected {}, got {}", shown(expected), shown(actual)));
    }
    return {};
  }
};

json::value viewOf(const Node& node, const json::value& actual, const Bindings& bindings);

// One member of a view; nullopt if the field is missing or the expression fails.
std::optional<json::value> viewOfMember(const Node::Member& member, const Node& body,
                                        const json::value& actual, const Bindings& bindings) {
  json::value projected;
  if (member.statement.expression) {
    auto value = member.statement.expression->evaluate(actual, bindings);
    if (!value) return std::nullopt;
    projected = *std::move(value);
  } else {
    const auto* field = find(actual, member.statement.field);
    if (!field) return std::nullopt;
    projected = *field;
  }
  Bindings inner = bindings;
  if (!member.statement.binding.empty()) inner = inner.with(member.statement.binding, projected);
  const auto* array = projected.if_array();
  if (!member.statement.each || !array) return viewOf(body, projected, inner);
  json::array result;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto item = member.statement.index.empty()
                          ? inner
                          : inner.with(member.statement.index, static_cast<std::int64_t>(i));
    result.push_back(viewOf(body, (*array)[i], item));
  }
  return json::value(std::move(result));
}

json::value viewOf(const Node& node, const json::value& actual, const Bindings& bindings) {
  if (node.kind == Node::Kind::Map && (actual.is_object() || actual.is_null())) {
    json::object result;
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      auto value = viewOfMember(node.members[i], node.items[i], actual, bindings);
      if (value) result.emplace(node.members[i].key, *std::move(value));
    }
    return result;
  }
  const auto* array = actual.if_array();
  if (node.kind != Node::Kind::List || !array) return actual;
  json::array result;
  for (std::size_t i = 0; i < array->size(); ++i) {
    result.push_back(i < node.items.size() ? viewOf(node.items[i], (*array)[i], bindings)
                                           : (*array)[i]);
  }
  return result;
}

}  // namespace

json::value AssertionTree::view(const json::value& actual, const Bindings& bindings) const {
  return viewOf(*root_, actual, bindings);
}

Result<AssertionTree> AssertionTree::parse(const json::value& tree) {
  auto root = parseNode(tree, "", 0);
  if (!root) return fail(std::move(root.error()));
  AssertionTree result;
  result.document_ = tree;
  result.root_ = std::make_shared<const Node>(*std::move(root));
  return result;
}

Result<std::vector<Mismatch>> AssertionTree::match(const json::value& actual,
                                                   const Bindings& bindings) const {
  Matcher matcher;
  auto result = matcher.match(*root_, actual, "", bindings);
  if (!result) return fail(std::move(result.error()));
  return std::move(matcher.mismatches);
}

Result<json::value> render(const json::value& document, const Bindings& bindings,
                           const json::value& current) {
  if (const auto* object = document.if_object()) {
    json::object result;
    for (const auto& member : *object) {
      auto value = render(member.value(), bindings, current);
      if (!value) return fail(std::move(value.error()).within(std::string(member.key())));
      result.emplace(member.key(), *std::move(value));
    }
    return json::value(std::move(result));
  }
  if (const auto* array = document.if_array()) {
    json::array result;
    for (const auto& item : *array) {
      auto value = render(item, bindings, current);
      if (!value) return value;
      result.push_back(*std::move(value));
    }
    return json::value(std::move(result));
  }
  if (!document.is_string() || !isExpression(jmespath::textOf(document))) return document;
  const auto expression = expressionIn(jmespath::textOf(document));
  if (!expression) return fail(expression.error());
  return expression->evaluate(current, bindings);
}

Result<std::string> renderText(std::string_view text, const Bindings& bindings) {
  auto value = render(jmespath::textValue(text), bindings);
  if (!value) return fail(std::move(value.error()));
  if (!value->is_string()) {
    return fail(ErrorCode::Invalid,
                fmt::format("{} must return a string, it returns {}", text, shown(*value)));
  }
  return std::string(jmespath::textOf(*value));
}

}  // namespace koord::scenario
