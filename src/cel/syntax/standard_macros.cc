#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

using Arguments = std::vector<ExprPtr>;

ExprPtr expandHas(MacroContext& context, ExprPtr&, Arguments& arguments) {
  Expr& argument = *arguments[0];
  if (argument.kind != ExprKind::Select || argument.testOnly)
    return context.error(argument, "invalid argument to has() macro");
  return context.testOnly(std::move(argument.target), std::move(argument.name));
}

ExprPtr expandAll(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  const std::string variable = context.variable(*arguments[0], "argument must be a simple name");
  if (context.failed()) return nullptr;
  return context.fold({std::move(target), variable, "", std::string(op::kAccumulator),
                       context.literal(Value::boolean(true)),
                       context.call(op::kNotStrictlyFalse, context.accumulator()),
                       context.call(op::kAnd, context.accumulator(), std::move(arguments[1])),
                       context.accumulator()});
}

ExprPtr expandExists(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  const std::string variable = context.variable(*arguments[0], "argument must be a simple name");
  if (context.failed()) return nullptr;
  return context.fold(
      {std::move(target), variable, "", std::string(op::kAccumulator),
       context.literal(Value::boolean(false)),
       context.call(op::kNotStrictlyFalse, context.call(op::kNot, context.accumulator())),
       context.call(op::kOr, context.accumulator(), std::move(arguments[1])),
       context.accumulator()});
}

ExprPtr expandExistsOne(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  const std::string variable = context.variable(*arguments[0], "argument must be a simple name");
  if (context.failed()) return nullptr;
  return context.fold(
      {std::move(target), variable, "", std::string(op::kAccumulator),
       context.literal(Value::integer(0)), context.literal(Value::boolean(true)),
       context.call(
           op::kConditional, std::move(arguments[1]),
           context.call(op::kAdd, context.accumulator(), context.literal(Value::integer(1))),
           context.accumulator()),
       context.call(op::kEquals, context.accumulator(), context.literal(Value::integer(1)))});
}

// The step that adds `element` to the accumulated list, if `condition` (optional) holds.
ExprPtr appendStep(const MacroContext& context, ExprPtr element, ExprPtr condition) {
  Arguments elements;
  elements.push_back(std::move(element));
  ExprPtr step = context.call(op::kAdd, context.accumulator(), context.list(std::move(elements)));
  if (!condition) return step;
  return context.call(op::kConditional, std::move(condition), std::move(step),
                      context.accumulator());
}

ExprPtr collect(const MacroContext& context, ExprPtr& target, const std::string& variable,
                ExprPtr step) {
  return context.fold({std::move(target), variable, "", std::string(op::kAccumulator),
                       context.list(), context.literal(Value::boolean(true)), std::move(step),
                       context.accumulator()});
}

ExprPtr expandMap(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  const std::string variable = context.variable(*arguments[0]);
  if (context.failed()) return nullptr;
  ExprPtr condition = arguments.size() == 3 ? std::move(arguments[1]) : nullptr;
  return collect(context, target, variable,
                 appendStep(context, std::move(arguments.back()), std::move(condition)));
}

ExprPtr expandFilter(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  const std::string variable = context.variable(*arguments[0]);
  if (context.failed()) return nullptr;
  return collect(context, target, variable,
                 appendStep(context, std::move(arguments[0]), std::move(arguments[1])));
}

}  // namespace

const std::vector<Macro>& standardMacros() {
  static const std::vector<Macro> kMacros = {
      {"has", false, 1, expandHas},
      {"all", true, 2, expandAll},
      {"exists", true, 2, expandExists},
      {"exists_one", true, 2, expandExistsOne},
      {"existsOne", true, 2, expandExistsOne},
      {"map", true, 2, expandMap},
      {"map", true, 3, expandMap},
      {"filter", true, 2, expandFilter},
  };
  return kMacros;
}

}  // namespace koord::cel
