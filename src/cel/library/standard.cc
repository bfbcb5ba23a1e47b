#include "cel/library/standard.h"

#include "cel/syntax/ast.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

// Operators that nodes of their own evaluate (eval/logic.h, eval/chain.h); the checker needs their
// signatures.
void addSignatures(Library& library) {
  const Type a = Type::parameter("A"), b = Type::parameter("B"), flag = Type::boolean();
  const auto none = [](Arguments) { return Value::error("no such overload"); };
  library.add(op::kConditional, {globalOverload("conditional", {flag, a, a}, a, none)});
  library.add(op::kAnd, {globalOverload("logical_and", {flag, flag}, flag, none)});
  library.add(op::kOr, {globalOverload("logical_or", {flag, flag}, flag, none)});
  library.add(op::kEquals, {globalOverload("equals", {a, a}, flag, none)});
  library.add(op::kNotEquals, {globalOverload("not_equals", {a, a}, flag, none)});
  library.add(op::kIndex, {globalOverload("index_list", {Type::list(a), Type::integer()}, a, none),
                           globalOverload("index_map", {Type::map(a, b), a}, b, none)});
  library.add(op::kNot, {globalOverload("logical_not", {flag}, flag, [](Arguments arguments) {
                return Value::boolean(!arguments[0].asBool());
              })});
  Overload notFalse =
      globalOverload("not_strictly_false", {Type::dyn()}, flag, [](Arguments arguments) {
        return Value::boolean(!arguments[0].is(Kind::Bool) || arguments[0].asBool());
      });
  notFalse.lazy = true;
  library.add(op::kNotStrictlyFalse, {std::move(notFalse)});
}

void addTypeNames(Library& library) {
  for (const Type& type :
       {Type::boolean(), Type::bytes(), Type::real(), Type::duration(), Type::integer(),
        Type::null(), Type::string(), Type::timestamp(), Type::unsignedInteger(),
        Type::list(Type::dyn()), Type::map(Type::dyn(), Type::dyn()), Type::type(Type::dyn())})
    library.addType(type.name(), type);
}

}  // namespace

const Library& standardLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "standard";
    library.macros = standardMacros();
    addSignatures(library);
    addTypeNames(library);
    addArithmetic(library);
    addComparisons(library);
    addConversions(library);
    addContainers(library);
    addStrings(library);
    addTimes(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
