#include "scenario/jmespath.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/json_measure.h"
#include "scenario/jmespath_ast.h"
#include "scenario/jmespath_values.h"

namespace koord::scenario {
namespace jmespath {
namespace {

Result<json::value> arithmetic(Op op, const json::value& a, const json::value& b) {
  if (!isNumber(a) || !isNumber(b)) {
    return fail(ErrorCode::Invalid, fmt::format("arithmetic needs numbers, got {} and {} (add(), "
                                                "subtract(), ... take quantities and durations)",
                                                typeOf(a), typeOf(b)));
  }
  if (a.is_int64() && b.is_int64() && (op == Op::Add || op == Op::Subtract || op == Op::Multiply)) {
    std::int64_t result = 0;
    const std::int64_t x = a.get_int64();
    const std::int64_t y = b.get_int64();
    const bool overflow = op == Op::Add        ? __builtin_add_overflow(x, y, &result)
                          : op == Op::Subtract ? __builtin_sub_overflow(x, y, &result)
                                               : __builtin_mul_overflow(x, y, &result);
    if (!overflow) return json::value(result);
  }
  const double x = toDouble(a);
  const double y = toDouble(b);
  double result = 0;
  switch (op) {
    case Op::Add:
      result = x + y;
      break;
    case Op::Subtract:
      result = x - y;
      break;
    case Op::Multiply:
      result = x * y;
      break;
    case Op::Divide:
      result = x / y;
      break;
    case Op::IntegerDivide:
      result = std::floor(x / y);
      break;
    default:
      result = std::fmod(x, y);
  }
  if (!std::isfinite(result)) return fail(ErrorCode::Invalid, "the result is not a number");
  return numberOf(result);
}

json::value compare(Op op, const json::value& a, const json::value& b) {
  if (op == Op::Equal) return equal(a, b);
  if (op == Op::NotEqual) return !equal(a, b);
  if (!isNumber(a) || !isNumber(b)) return nullptr;
  const int sign = *order(a, b);
  switch (op) {
    case Op::Less:
      return sign < 0;
    case Op::LessOrEqual:
      return sign <= 0;
    case Op::Greater:
      return sign > 0;
    default:
      return sign >= 0;
  }
}

json::value elementAt(const json::value& value, std::int64_t index) {
  const auto* array = value.if_array();
  if (!array) return nullptr;
  const auto size = static_cast<std::int64_t>(array->size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return nullptr;
  return (*array)[static_cast<std::size_t>(index)];
}

// The positions that start:stop:step selects out of `size`, as Python does it.
Result<std::vector<std::size_t>> sliceOf(const Node& node, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t step = node.step.value_or(1);
  if (step == 0) return fail(ErrorCode::Invalid, "the step of a slice must not be 0");
  const auto bound = [&](std::optional<std::int64_t> at, std::int64_t missing) {
    if (!at) return missing;
    const std::int64_t low = step < 0 ? -1 : 0;
    return std::clamp(*at < 0 ? *at + size : *at, low, step < 0 ? size - 1 : size);
  };
  const std::int64_t start = bound(node.start, step < 0 ? size - 1 : 0);
  const std::int64_t stop = bound(node.stop, step < 0 ? -1 : size);
  std::vector<std::size_t> result;
  const std::int64_t stride = std::clamp(step, -size - 1, size + 1);
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += stride) {
    result.push_back(static_cast<std::size_t>(i));
  }
  return result;
}

Result<json::value> slice(const Node& node, const json::value& value) {
  if (const auto* array = value.if_array()) {
    const auto positions = sliceOf(node, array->size());
    if (!positions) return fail(positions.error());
    json::array result;
    for (const auto i : *positions) result.push_back((*array)[i]);
    return json::value(std::move(result));
  }
  if (value.is_string()) {
    const auto characters = charactersOf(textOf(value));
    const auto positions = sliceOf(node, characters.size());
    if (!positions) return fail(positions.error());
    std::string result;
    for (const auto i : *positions) result += characters[i];
    return textValue(result);
  }
  return json::value(nullptr);
}

json::value flatten(const json::value& value) {
  const auto* array = value.if_array();
  if (!array) return nullptr;
  json::array result;
  for (const auto& item : *array) {
    if (const auto* inner = item.if_array()) {
      result.insert(result.end(), inner->begin(), inner->end());
    } else {
      result.push_back(item);
    }
  }
  return result;
}

Result<json::value> project(const Node& node, const json::value& left, const Scope& scope) {
  const Node& right = *node.children[1];
  json::array elements;
  if (node.op == Op::ProjectValues) {
    const auto* object = left.if_object();
    if (!object) return json::value(nullptr);
    for (const auto& member : *object) elements.push_back(member.value());
  } else if (const auto* array = left.if_array()) {
    elements = *array;
  } else if (left.is_string() && node.children[0]->op == Op::Slice) {
    return evaluate(right, left, scope);
  } else {
    return json::value(nullptr);
  }
  json::array result;
  for (const auto& element : elements) {
    if (node.op == Op::ProjectFiltered) {
      const auto keep = evaluate(*node.children[2], element, scope);
      if (!keep) return keep;
      if (!isTruthy(*keep)) continue;
    }
    auto value = evaluate(right, element, scope);
    if (!value) return value;
    if (!value->is_null()) result.push_back(*std::move(value));
  }
  return json::value(std::move(result));
}

Result<json::value> call(const Node& node, const json::value& current, const Scope& scope) {
  std::vector<Argument> arguments;
  for (const auto& child : node.children) {
    if (child->op == Op::Reference) {
      arguments.push_back({nullptr, child->children[0].get()});
      continue;
    }
    auto value = evaluate(*child, current, scope);
    if (!value) return value;
    arguments.push_back({*std::move(value), nullptr});
  }
  return findFunction(node.text)->call(arguments, scope);
}

Result<json::value> let(const Node& node, const json::value& current, const Scope& scope) {
  Scope inner{scope.root, scope.bindings, scope.budget};
  for (std::size_t i = 0; i < node.names.size(); ++i) {
    auto value = evaluate(*node.children[i], current, scope);
    if (!value) return value;
    inner.bindings = inner.bindings.with(node.names[i], *std::move(value));
  }
  return evaluate(*node.children.back(), current, inner);
}

Result<json::value> select(const Node& node, const json::value& current, const Scope& scope) {
  json::array list;
  json::object hash;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    auto value = evaluate(*node.children[i], current, scope);
    if (!value) return value;
    if (node.op == Op::List) {
      list.push_back(*std::move(value));
    } else {
      hash[node.names[i]] = *std::move(value);
    }
  }
  if (node.op == Op::List) return json::value(std::move(list));
  return json::value(std::move(hash));
}

// Evaluates an operator whose first operand is known. The second one is evaluated only if needed.
Result<json::value> evaluateWith(json::value left, const Node& node, const json::value& current,
                                 const Scope& scope) {
  switch (node.op) {
    case Op::Index:
      return elementAt(left, *node.start);
    case Op::Slice:
      return slice(node, left);
    case Op::Flatten:
      return flatten(left);
    case Op::Project:
    case Op::ProjectValues:
    case Op::ProjectFiltered:
      return project(node, left, scope);
    case Op::Sub:
      if (left.is_null()) return left;
      return evaluate(*node.children[1], left, scope);
    case Op::Pipe:
      return evaluate(*node.children[1], left, scope);
    case Op::Or:
      if (isTruthy(left)) return left;
      return evaluate(*node.children[1], current, scope);
    case Op::And:
      if (!isTruthy(left)) return left;
      return evaluate(*node.children[1], current, scope);
    case Op::Not:
      return json::value(!isTruthy(left));
    case Op::Ternary:
      return evaluate(*node.children[isTruthy(left) ? 1 : 2], current, scope);
    case Op::Negate:
      return arithmetic(Op::Subtract, json::value(0), left);
    case Op::Plus:
      return arithmetic(Op::Add, json::value(0), left);
    default:
      break;
  }
  const auto right = evaluate(*node.children[1], current, scope);
  if (!right) return right;
  if (node.op >= Op::Equal && node.op <= Op::GreaterOrEqual) return compare(node.op, left, *right);
  return arithmetic(node.op, left, *right);
}

Result<json::value> evaluateNode(const Node& node, const json::value& current, const Scope& scope) {
  switch (node.op) {
    case Op::Field: {
      const auto* member = find(current, node.text);
      return member ? *member : json::value(nullptr);
    }
    case Op::Literal:
      return node.value;
    case Op::Current:
      return current;
    case Op::Root:
      return scope.root;
    case Op::Variable: {
      const auto* value = scope.bindings.find(node.text);
      if (!value) {
        return fail(ErrorCode::Invalid, fmt::format("unknown binding ${}", node.text));
      }
      return *value;
    }
    case Op::List:
    case Op::Hash:
      return select(node, current, scope);
    case Op::Call:
      return call(node, current, scope);
    case Op::Let:
      return let(node, current, scope);
    case Op::Reference:
      return fail(ErrorCode::Invalid, "an &expression is not a value");
    default: {
      auto left = evaluate(*node.children[0], current, scope);
      if (!left) return left;
      return evaluateWith(*std::move(left), node, current, scope);
    }
  }
}

}  // namespace

Result<json::value> evaluate(const Node& node, const json::value& current, const Scope& scope) {
  auto value = evaluateNode(node, current, scope);
  if (!value) return value;
  const bool makes = node.op == Op::List || node.op == Op::Hash || node.op == Op::Call ||
                     node.op == Op::Slice || node.op == Op::Flatten || node.op == Op::Project ||
                     node.op == Op::ProjectValues || node.op == Op::ProjectFiltered;
  auto charged = makes ? scope.budget.charge(*value) : scope.budget.charge(kValueBytes);
  if (!charged) return fail(std::move(charged.error()));
  return value;
}

Result<> Budget::charge(std::size_t bytes) {
  left_ -= std::min(left_, bytes);
  if (left_ > 0) return {};
  return fail(ErrorCode::Invalid, fmt::format("the evaluation makes more than {} MiB of values",
                                              kMaxEvaluatedBytes >> 20));
}

Result<> Budget::charge(const json::value& value) {
  const auto size = measureJson(value);
  return charge(size.bytes + size.values * kValueBytes);
}

const FunctionEntry* findFunction(std::string_view name) {
  for (const auto table : {collectionFunctions(), textFunctions(), regexFunctions(),
                           mathFunctions(), miscFunctions()}) {
    for (const auto& entry : table) {
      if (entry.name == name) return &entry;
    }
  }
  return nullptr;
}

}  // namespace jmespath

Result<Expression> Expression::parse(std::string_view text) {
  auto root = jmespath::parse(text);
  if (!root) return fail(std::move(root.error()));
  return Expression(std::string(text), *std::move(root));
}

Result<json::value> Expression::evaluate(const json::value& input, const Bindings& bindings) const {
  jmespath::Budget budget;
  const jmespath::Scope scope{input, bindings, budget};
  auto value = jmespath::evaluate(*root_, input, scope);
  if (!value) return fail(std::move(value.error()).within("(" + text_ + ")"));
  return value;
}

}  // namespace koord::scenario
