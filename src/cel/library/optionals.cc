#include "cel/library/optionals.h"

#include "cel/dynamic_object.h"
#include "cel/eval/chain.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

// The condition of optMap evaluates the target; the target is copied where it is cheap, which
// limits the growth of the tree to what the parser's limit on height allows.
ExprPtr expandOptional(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments,
                       bool wrap) {
  if (arguments[0]->kind != ExprKind::Ident)
    return context.error(*arguments[0], "variable name must be a simple identifier");
  // A target that is a name is read twice, as in cel-go. Others are bound to a name: a chain of n
  // calls would otherwise hold 2^n copies.
  const bool isName = qualifiedName(*target).has_value();
  const std::string_view hidden = "@target";
  const auto read = [&] { return isName ? copyExpr(*target) : context.ident(hidden); };
  ExprPtr value = context.bind(arguments[0]->name, context.memberCall(read(), "value"),
                               std::move(arguments[1]));
  if (wrap) value = context.call("optional.of", std::move(value));
  ExprPtr result = context.call(op::kConditional, context.memberCall(read(), "hasValue"),
                                std::move(value), context.call("optional.none"));
  return isName ? std::move(result)
                : context.bind(std::string(hidden), std::move(target), std::move(result));
}

ExprPtr expandOptMap(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
  return expandOptional(context, target, arguments, true);
}
ExprPtr expandOptFlatMap(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
  return expandOptional(context, target, arguments, false);
}

bool isZeroValue(const Value& value) {
  switch (value.kind()) {
    case Kind::Null:
      return true;
    case Kind::Bool:
      return !value.asBool();
    case Kind::Int:
    case Kind::Duration:
      return value.asInt() == 0;
    case Kind::Uint:
      return value.asUint() == 0;
    case Kind::Double:
      return value.asDouble() == 0;
    case Kind::String:
    case Kind::Bytes:
      return value.text().empty();
    case Kind::List:
      return value.listSize() == 0;
    case Kind::Map:
      return value.mapSize() == 0;
    case Kind::Optional:
      return value.optionalValue() == nullptr;
    case Kind::Object: {
      const FieldsObject* object = fieldsOf(value);
      return object && object->fields().empty();
    }
    default:
      return false;
  }
}

Value orOther(Arguments arguments) {
  if (arguments[0].isError()) return arguments[0];
  return arguments[0].optionalValue() ? arguments[0] : arguments[1];
}
Value orValue(Arguments arguments) {
  if (arguments[0].isError()) return arguments[0];
  const Value* held = arguments[0].optionalValue();
  return held ? *held : arguments[1];
}

Value unwrapAll(Arguments arguments) {
  std::vector<Value> elements;
  for (std::size_t i = 0; i < arguments[0].listSize(); ++i) {
    const Value each = arguments[0].listAt(i);
    if (!each.is(Kind::Optional))
      return Value::error("value " + each.toString() + " is not optional");
    if (each.optionalValue()) elements.push_back(*each.optionalValue());
  }
  return Value::list(std::move(elements));
}

Value endOfList(const Value& list, bool last) {
  const std::size_t size = list.listSize();
  return size == 0 ? Value::none() : Value::optional(list.listAt(last ? size - 1 : 0));
}

Overload lazyOverload(Overload overload) {
  overload.lazy = true;
  return overload;
}

void addSyntax(Library& library) {
  const Type k = Type::parameter("K"), v = Type::parameter("V"), i = Type::integer();
  const Type list = Type::list(v), map = Type::map(k, v), optional = Type::optional(v);
  // eval/chain.h evaluates these.
  const auto none = [](Arguments) { return Value::error("no such overload"); };
  library.add(op::kOptionalSelect, {globalOverload("select_optional_field",
                                                   {Type::dyn(), Type::string()}, optional, none)});
  library.add(op::kOptionalIndex,
              {globalOverload("list_optindex_optional_int", {list, i}, optional, none),
               globalOverload("optional_list_optindex_optional_int", {Type::optional(list), i},
                              optional, none),
               globalOverload("map_optindex_optional_value", {map, k}, optional, none),
               globalOverload("optional_map_optindex_optional_value", {Type::optional(map), k},
                              optional, none)});
  library.add(
      op::kIndex,
      {globalOverload("optional_list_index_int", {Type::optional(list), i}, optional, none),
       globalOverload("optional_map_index_value", {Type::optional(map), k}, optional, none)});
}

void addFunctions(Library& library) {
  const Type v = Type::parameter("V"), optional = Type::optional(v), list = Type::list(v);
  library.add("optional.of", {globalOverload("optional_of", {v}, optional,
                                             [](Arguments x) { return Value::optional(x[0]); })});
  library.add("optional.ofNonZeroValue",
              {globalOverload("optional_ofNonZeroValue", {v}, optional, [](Arguments x) {
                return isZeroValue(x[0]) ? Value::none() : Value::optional(x[0]);
              })});
  library.add("optional.none", {globalOverload("optional_none", {}, optional,
                                               [](Arguments) { return Value::none(); })});
  library.add("value", {memberOverload("optional_value", {optional}, v, [](Arguments x) {
                const Value* held = x[0].optionalValue();
                return held ? *held : Value::error("optional.none() dereference");
              })});
  library.add("hasValue",
              {memberOverload("optional_hasValue", {optional}, Type::boolean(), [](Arguments x) {
                return Value::boolean(x[0].optionalValue() != nullptr);
              })});
  library.add("or", {lazyOverload(memberOverload("optional_or_optional", {optional, optional},
                                                 optional, orOther))});
  library.add("orValue",
              {lazyOverload(memberOverload("optional_orValue_value", {optional, v}, v, orValue))});
  const Type optionals = Type::list(optional);
  library.add("optional.unwrap", {globalOverload("optional_unwrap", {optionals}, list, unwrapAll)});
  library.add("unwrapOpt", {memberOverload("optional_unwrapOpt", {optionals}, list, unwrapAll)});
  library.add("first", {memberOverload("list_first", {list}, optional,
                                       [](Arguments x) { return endOfList(x[0], false); })});
  library.add("last", {memberOverload("list_last", {list}, optional,
                                      [](Arguments x) { return endOfList(x[0], true); })});
}

}  // namespace

const Library& optionalsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "optional";
    library.macros = {{"optMap", true, 2, expandOptMap}, {"optFlatMap", true, 2, expandOptFlatMap}};
    library.addType("optional_type", Type::optional(Type::dyn()));
    addSyntax(library);
    addFunctions(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
