#pragma once

// JMESPath (jmespath.org with the community's additions: $ root, $bindings, let, arithmetic,
// ternary) on JSON values, and the functions that Kyverno Chainsaw's tests use. The list of
// functions is in the functions_*.cc files.
//
//   auto expression = Expression::parse("conditions[?type == 'Ready'].status | [0]");
//   auto value = expression->evaluate(status);
//
// An invalid expression is BadRequest with its column; a failing evaluation (wrong type of an
// argument, unknown binding) is Invalid. Whole numbers stay integers.

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "scenario/bindings.h"

namespace koord::scenario {

namespace jmespath {
struct Node;
}

class Expression {
 public:
  static Result<Expression> parse(std::string_view text);

  Result<json::value> evaluate(const json::value& input, const Bindings& bindings = {}) const;
  const std::string& text() const { return text_; }

 private:
  Expression(std::string text, std::shared_ptr<const jmespath::Node> root)
      : text_(std::move(text)), root_(std::move(root)) {}
  std::string text_;
  std::shared_ptr<const jmespath::Node> root_;
};

// False are null, false, "", [] and {}; everything else is true.
bool isTruthy(const json::value& value);
// By value; numbers by amount: 1 equals 1.0.
bool equal(const json::value& a, const json::value& b);

}  // namespace koord::scenario
