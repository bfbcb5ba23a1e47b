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

// all, exists and exists_one with the variable that the first argument names.
template <ExprPtr (*kFold)(MacroContext&, ExprPtr, FoldVariables, ExprPtr)>
ExprPtr expandTest(MacroContext& context, ExprPtr& target, Arguments& arguments) {
  std::string variable = context.variable(*arguments[0], "argument must be a simple name");
  if (context.failed()) return nullptr;
  return kFold(context, std::move(target), {std::move(variable), ""}, std::move(arguments[1]));
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

ExprPtr foldAll(MacroContext& context, ExprPtr range, FoldVariables variables, ExprPtr predicate) {
  return context.fold({std::move(range), std::move(variables.first), std::move(variables.second),
                       std::string(op::kAccumulator), context.literal(Value::boolean(true)),
                       context.call(op::kNotStrictlyFalse, context.accumulator()),
                       context.call(op::kAnd, context.accumulator(), std::move(predicate)),
                       context.accumulator()});
}

ExprPtr foldExists(MacroContext& context, ExprPtr range, FoldVariables variables,
                   ExprPtr predicate) {
  return context.fold(
      {std::move(range), std::move(variables.first), std::move(variables.second),
       std::string(op::kAccumulator), context.literal(Value::boolean(false)),
       context.call(op::kNotStrictlyFalse, context.call(op::kNot, context.accumulator())),
       context.call(op::kOr, context.accumulator(), std::move(predicate)), context.accumulator()});
}

ExprPtr foldExistsOne(MacroContext& context, ExprPtr range, FoldVariables variables,
                      ExprPtr predicate) {
  return context.fold(
      {std::move(range), std::move(variables.first), std::move(variables.second),
       std::string(op::kAccumulator), context.literal(Value::integer(0)),
       context.literal(Value::boolean(true)),
       context.call(
           op::kConditional, std::move(predicate),
           context.call(op::kAdd, context.accumulator(), context.literal(Value::integer(1))),
           context.accumulator()),
       context.call(op::kEquals, context.accumulator(), context.literal(Value::integer(1)))});
}

const std::vector<Macro>& standardMacros() {
  static const std::vector<Macro> kMacros = {
      {"has", false, 1, expandHas},
      {"all", true, 2, expandTest<foldAll>},
      {"exists", true, 2, expandTest<foldExists>},
      {"exists_one", true, 2, expandTest<foldExistsOne>},
      {"existsOne", true, 2, expandTest<foldExistsOne>},
      {"map", true, 2, expandMap},
      {"map", true, 3, expandMap},
      {"filter", true, 2, expandFilter},
  };
  return kMacros;
}

}  // namespace koord::cel
