#pragma once

// The syntax tree of an expression. The parser makes it with macros expanded; the checker writes
// types and resolved names into it; the planner (eval/planner.h) and the cost estimate
// (cost/estimate.h) read it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace koord::cel {

struct Overload;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// Names of operators in calls.
namespace op {
inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kEquals = "_==_";
inline constexpr std::string_view kNotEquals = "_!=_";
inline constexpr std::string_view kLess = "_<_";
inline constexpr std::string_view kLessEquals = "_<=_";
inline constexpr std::string_view kGreater = "_>_";
inline constexpr std::string_view kGreaterEquals = "_>=_";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kSubtract = "_-_";
inline constexpr std::string_view kMultiply = "_*_";
inline constexpr std::string_view kDivide = "_/_";
inline constexpr std::string_view kModulo = "_%_";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptionalIndex = "_[?_]";
inline constexpr std::string_view kOptionalSelect = "_?._";
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
inline constexpr std::string_view kAccumulator = "@result";
}  // namespace op

enum class ExprKind : std::uint8_t {
  Literal,
  Ident,
  Select,  // target.name; has(target.name) with testOnly
  Call,    // name(arguments), or target.name(arguments)
  List,
  Map,
  Struct,  // name{field: value}
  Comprehension
};

// An entry of a map or a field of a struct.
struct Entry {
  ExprPtr key;  // of a map
  std::string field;
  ExprPtr value;
  bool optional = false;
  std::uint32_t position = 0;
};

// accumulator = init; for (variable[, variable2] : range) { if (!condition) break; accumulator =
// step; } result
struct Comprehension {
  ExprPtr range;
  std::string variable;
  std::string variable2;  // empty if there is one variable
  std::string accumulator;
  ExprPtr init;
  ExprPtr condition;
  ExprPtr step;
  ExprPtr result;
};

struct Expr {
  ExprKind kind = ExprKind::Literal;
  bool testOnly = false;
  bool rooted = false;         // an identifier that was written with a leading dot
  std::uint32_t position = 0;  // byte in the text
  int height = 1;              // of the tree below
  std::string name;
  Value literal;
  ExprPtr target;
  std::vector<ExprPtr> arguments;   // of a call; elements of a list
  std::vector<bool> optionalItems;  // elements of a list that are written with ?; empty if none
  std::vector<Entry> entries;
  std::unique_ptr<Comprehension> comprehension;

  // Written by the checker.
  std::optional<Type> type;
  std::vector<const Overload*> overloads;  // that match, of a call
  bool resolved =
      false;  // an identifier: `name` is the full name of a variable, of the environment if rooted
  std::optional<Value> constant;  // an identifier that stands for a constant or a type
};

// "a.b.c" if the expression is that chain of names.
std::optional<std::string> qualifiedName(const Expr& expr);

// Calls `visit` for each child that is not null.
template <class E, class Visit>
void forEachChild(E& expr, Visit&& visit) {
  const auto call = [&](auto& child) {
    if (child) visit(*child);
  };
  call(expr.target);
  for (auto& argument : expr.arguments) call(argument);
  for (auto& entry : expr.entries) {
    call(entry.key);
    call(entry.value);
  }
  if (auto& fold = expr.comprehension) {
    call(fold->range);
    call(fold->init);
    call(fold->condition);
    call(fold->step);
    call(fold->result);
  }
}

ExprPtr copyExpr(const Expr& expr);

}  // namespace koord::cel
