#include "cel/library/comprehensions.h"

#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

using Given = std::vector<ExprPtr>;

FoldVariables variablesOfMacro(MacroContext& context, const Given& given) {
  FoldVariables result{context.variable(*given[0]), ""};
  if (!context.failed()) result.second = context.variable(*given[1]);
  if (!context.failed() && result.first == result.second)
    context.error(*given[1], "duplicate variable name: " + result.first);
  return result;
}

template <ExprPtr (*kFold)(MacroContext&, ExprPtr, FoldVariables, ExprPtr)>
ExprPtr expandTestOfTwo(MacroContext& context, ExprPtr& target, Given& given) {
  FoldVariables names = variablesOfMacro(context, given);
  if (context.failed()) return nullptr;
  return kFold(context, std::move(target), std::move(names), std::move(given[2]));
}

// With a filter as third of four arguments.
ExprPtr transform(MacroContext& context, ExprPtr& target, Given& given, ExprPtr init,
                  const std::function<ExprPtr(ExprPtr element, const std::string& key)>& grow) {
  FoldVariables names = variablesOfMacro(context, given);
  if (context.failed()) return nullptr;
  ExprPtr filter = given.size() == 4 ? std::move(given[2]) : nullptr;
  ExprPtr step = grow(std::move(given.back()), names.first);
  if (filter)
    step =
        context.call(op::kConditional, std::move(filter), std::move(step), context.accumulator());
  return context.fold({std::move(target), std::move(names.first), std::move(names.second),
                       std::string(op::kAccumulator), std::move(init),
                       context.literal(Value::boolean(true)), std::move(step),
                       context.accumulator()});
}

ExprPtr expandTransformList(MacroContext& context, ExprPtr& target, Given& given) {
  return transform(
      context, target, given, context.list(), [&](ExprPtr element, const std::string&) {
        Given elements;
        elements.push_back(std::move(element));
        return context.call(op::kAdd, context.accumulator(), context.list(std::move(elements)));
      });
}

ExprPtr expandTransformMap(MacroContext& context, ExprPtr& target, Given& given) {
  return transform(context, target, given, context.map(),
                   [&](ExprPtr element, const std::string& key) {
                     return context.call("cel.@mapInsert", context.accumulator(),
                                         context.ident(key), std::move(element));
                   });
}

ExprPtr expandTransformEntry(MacroContext& context, ExprPtr& target, Given& given) {
  return transform(context, target, given, context.map(), [&](ExprPtr element, const std::string&) {
    return context.call("cel.@mapInsert", context.accumulator(), std::move(element));
  });
}

}  // namespace

const Library& comprehensionsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "comprehensions";
    library.macros = {{"all", true, 3, expandTestOfTwo<foldAll>},
                      {"exists", true, 3, expandTestOfTwo<foldExists>},
                      {"existsOne", true, 3, expandTestOfTwo<foldExistsOne>},
                      {"exists_one", true, 3, expandTestOfTwo<foldExistsOne>},
                      {"transformList", true, 3, expandTransformList},
                      {"transformList", true, 4, expandTransformList},
                      {"transformMap", true, 3, expandTransformMap},
                      {"transformMap", true, 4, expandTransformMap},
                      {"transformMapEntry", true, 3, expandTransformEntry},
                      {"transformMapEntry", true, 4, expandTransformEntry}};
    const Type k = Type::parameter("K"), v = Type::parameter("V"), map = Type::map(k, v);
    // eval/fold.h evaluates these: the macros insert into their accumulator only.
    const auto none = [](Arguments) { return Value::error("no such overload"); };
    library.add("cel.@mapInsert",
                {globalOverload("@mapInsert_map_key_value", {map, k, v}, map, none),
                 globalOverload("@mapInsert_map_map", {map, map}, map, none)});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
