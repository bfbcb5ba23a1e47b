#include "cel/syntax/macro.h"

#include <algorithm>

namespace koord::cel {

void measureHeight(Expr& expr) {
  int height = 0;
  forEachChild(expr, [&](const Expr& child) { height = std::max(height, child.height); });
  expr.height = height + 1;
}

ExprPtr MacroContext::make(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->position = position_;
  return expr;
}

ExprPtr MacroContext::literal(Value value) const {
  ExprPtr expr = make(ExprKind::Literal);
  expr->literal = std::move(value);
  return expr;
}

ExprPtr MacroContext::ident(std::string_view name) const {
  ExprPtr expr = make(ExprKind::Ident);
  expr->name = name;
  return expr;
}

ExprPtr MacroContext::makeCall(ExprPtr target, std::string_view name,
                               std::vector<ExprPtr> arguments) const {
  ExprPtr expr = make(ExprKind::Call);
  expr->name = name;
  expr->target = std::move(target);
  expr->arguments = std::move(arguments);
  measureHeight(*expr);
  return expr;
}

ExprPtr MacroContext::list(std::vector<ExprPtr> elements) const {
  ExprPtr expr = make(ExprKind::List);
  expr->arguments = std::move(elements);
  measureHeight(*expr);
  return expr;
}

ExprPtr MacroContext::map(ExprPtr key, ExprPtr value) const {
  ExprPtr expr = make(ExprKind::Map);
  if (key) expr->entries.push_back({std::move(key), "", std::move(value), false, position_});
  measureHeight(*expr);
  return expr;
}

ExprPtr MacroContext::testOnly(ExprPtr target, std::string field) const {
  ExprPtr expr = make(ExprKind::Select);
  expr->testOnly = true;
  expr->target = std::move(target);
  expr->name = std::move(field);
  measureHeight(*expr);
  return expr;
}

ExprPtr MacroContext::fold(Comprehension comprehension) const {
  ExprPtr expr = make(ExprKind::Comprehension);
  expr->comprehension = std::make_unique<Comprehension>(std::move(comprehension));
  measureHeight(*expr);
  return expr;
}

ExprPtr MacroContext::bind(std::string name, ExprPtr init, ExprPtr result) const {
  Comprehension fold;
  fold.range = list();
  fold.variable = "#unused";
  fold.condition = literal(Value::boolean(false));
  fold.step = ident(name);
  fold.accumulator = std::move(name);
  fold.init = std::move(init);
  fold.result = std::move(result);
  return this->fold(std::move(fold));
}

ExprPtr MacroContext::error(const Expr& at, std::string message) {
  issues_.add(at.position, std::move(message));
  failed_ = true;
  return nullptr;
}

std::string MacroContext::variable(const Expr& argument, std::string_view message) {
  if (argument.kind != ExprKind::Ident || argument.rooted) {
    error(argument, std::string(message));
    return {};
  }
  if (argument.name == op::kAccumulator || argument.name == "__result__") {
    error(argument, "iteration variable overwrites accumulator variable");
    return {};
  }
  return argument.name;
}

}  // namespace koord::cel
