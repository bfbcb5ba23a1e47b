#include "cel/syntax/ast.h"

namespace koord::cel {

std::optional<std::string> qualifiedName(const Expr& expr) {
  std::size_t size = 0;
  const Expr* first = &expr;
  for (; first->kind == ExprKind::Select && !first->testOnly; first = first->target.get())
    size += first->name.size() + 1;
  if (first->kind != ExprKind::Ident) return std::nullopt;
  // From the end, because a chain knows what is before it: linear in the name.
  std::string name(first->name.size() + size, '.');
  std::size_t end = name.size();
  for (const Expr* part = &expr;; part = part->target.get()) {
    end -= part->name.size();
    part->name.copy(name.data() + end, part->name.size());
    if (part == first) return name;
    --end;
  }
}

ExprPtr copyExpr(const Expr& expr) {
  const auto copyOf = [](const ExprPtr& child) { return child ? copyExpr(*child) : nullptr; };
  auto copy = std::make_unique<Expr>();
  copy->kind = expr.kind;
  copy->testOnly = expr.testOnly;
  copy->rooted = expr.rooted;
  copy->position = expr.position;
  copy->height = expr.height;
  copy->name = expr.name;
  copy->literal = expr.literal;
  copy->target = copyOf(expr.target);
  for (const ExprPtr& argument : expr.arguments) copy->arguments.push_back(copyOf(argument));
  copy->optionalItems = expr.optionalItems;
  for (const Entry& entry : expr.entries)
    copy->entries.push_back(
        {copyOf(entry.key), entry.field, copyOf(entry.value), entry.optional, entry.position});
  if (const auto& fold = expr.comprehension) {
    copy->comprehension = std::make_unique<Comprehension>(Comprehension{
        copyOf(fold->range), fold->variable, fold->variable2, fold->accumulator, copyOf(fold->init),
        copyOf(fold->condition), copyOf(fold->step), copyOf(fold->result)});
  }
  return copy;
}

}  // namespace koord::cel
