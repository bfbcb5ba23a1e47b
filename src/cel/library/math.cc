#include "cel/library/math.h"

#include <fmt/format.h>

#include <cmath>

#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

// ---- greatest and least

bool mayBeNumber(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::Literal:
      return expr.literal.isNumber();
    case ExprKind::List:
    case ExprKind::Map:
    case ExprKind::Struct:
      return false;
    default:
      return true;
  }
}

bool isListOfNumbers(const Expr& expr) {
  if (expr.kind != ExprKind::List || expr.arguments.empty()) return false;
  for (const ExprPtr& element : expr.arguments)
    if (!mayBeNumber(*element)) return false;
  return true;
}

// Any number of arguments becomes a call with one, two, or a list.
ExprPtr expandExtreme(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments,
                      std::string_view name, std::string_view function) {
  if (!target || target->kind != ExprKind::Ident || target->name != "math") return nullptr;
  if (arguments.empty())
    return context.error(*target, fmt::format("math.{}() requires at least one argument", name));
  if (arguments.size() == 1) {
    if (isListOfNumbers(*arguments[0]) || mayBeNumber(*arguments[0]))
      return context.call(function, std::move(arguments[0]));
    return context.error(*arguments[0],
                         fmt::format("math.{}() invalid single argument value", name));
  }
  for (const ExprPtr& argument : arguments)
    if (!mayBeNumber(*argument))
      return context.error(*argument,
                           fmt::format("math.{}() simple literal arguments must be numeric", name));
  if (arguments.size() == 2)
    return context.call(function, std::move(arguments[0]), std::move(arguments[1]));
  return context.call(function, context.list(std::move(arguments)));
}

Value extremeOf(const Value& a, const Value& b, bool greatest) {
  const auto order = compareNumbers(a, b);
  return (greatest ? order < 0 : order > 0) ? b : a;
}

Value extremeOfList(const Value& list, bool greatest) {
  if (list.listSize() == 0)
    return Value::error(
        fmt::format("math.@{}(list) argument must not be empty", greatest ? "max" : "min"));
  Value result = list.listAt(0);
  for (std::size_t i = 0; i < list.listSize(); ++i) {
    const Value each = list.listAt(i);
    if (!each.isNumber()) return Value::error("no such overload");
    result = extremeOf(result, each, greatest);
  }
  return result;
}

void addExtreme(Library& library, const std::string& name, bool greatest) {
  struct Number {
    std::string name;
    Type type;
  };
  const std::vector<Number> numbers = {
      {"double", Type::real()}, {"int", Type::integer()}, {"uint", Type::unsignedInteger()}};
  std::vector<Overload> overloads;
  for (const Number& a : numbers) {
    overloads.push_back(globalOverload(fmt::format("math_@{}_{}", name, a.name), {a.type}, a.type,
                                       [](Arguments x) { return x[0]; }));
    overloads.push_back(
        globalOverload(fmt::format("math_@{}_list_{}", name, a.name), {Type::list(a.type)}, a.type,
                       [greatest](Arguments x) { return extremeOfList(x[0], greatest); }));
    for (const Number& b : numbers)
      overloads.push_back(
          globalOverload(fmt::format("math_@{}_{}_{}", name, a.name, b.name), {a.type, b.type},
                         a.type == b.type ? a.type : Type::dyn(),
                         [greatest](Arguments x) { return extremeOf(x[0], x[1], greatest); }));
  }
  library.add("math.@" + name, std::move(overloads));
}

// ---- doubles

using OfDouble = double (*)(double);
using TestOfDouble = bool (*)(double);

void addDouble(Library& library, const std::string& name, OfDouble call) {
  library.add("math." + name,
              {globalOverload("math_" + name + "_double", {Type::real()}, Type::real(),
                              [call](Arguments x) { return Value::real(call(x[0].asDouble())); })});
}

void addTest(Library& library, const std::string& name, TestOfDouble call) {
  library.add(
      "math." + name,
      {globalOverload("math_" + name + "_double", {Type::real()}, Type::boolean(),
                      [call](Arguments x) { return Value::boolean(call(x[0].asDouble())); })});
}

double signOf(double number) {
  return std::isnan(number) ? number : number > 0 ? 1 : number < 0 ? -1 : 0;
}

void addSigns(Library& library) {
  const Type d = Type::real(), i = Type::integer(), u = Type::unsignedInteger();
  library.add("math.abs",
              {globalOverload("math_abs_double", {d}, d,
                              [](Arguments x) { return Value::real(std::abs(x[0].asDouble())); }),
               globalOverload("math_abs_int", {i}, i,
                              [](Arguments x) {
                                if (x[0].asInt() == INT64_MIN)
                                  return Value::error("integer overflow");
                                return Value::integer(std::abs(x[0].asInt()));
                              }),
               globalOverload("math_abs_uint", {u}, u, [](Arguments x) { return x[0]; })});
  library.add("math.sign",
              {globalOverload("math_sign_double", {d}, d,
                              [](Arguments x) { return Value::real(signOf(x[0].asDouble())); }),
               globalOverload("math_sign_int", {i}, i,
                              [](Arguments x) {
                                return Value::integer((x[0].asInt() > 0) - (x[0].asInt() < 0));
                              }),
               globalOverload("math_sign_uint", {u}, u, [](Arguments x) {
                 return Value::unsignedInteger(x[0].asUint() > 0 ? 1 : 0);
               })});
  library.add("math.sqrt",
              {globalOverload("math_sqrt_double", {d}, d,
                              [](Arguments x) { return Value::real(std::sqrt(x[0].asDouble())); }),
               globalOverload("math_sqrt_int", {i}, d,
                              [](Arguments x) {
                                return Value::real(std::sqrt(static_cast<double>(x[0].asInt())));
                              }),
               globalOverload("math_sqrt_uint", {u}, d, [](Arguments x) {
                 return Value::real(std::sqrt(static_cast<double>(x[0].asUint())));
               })});
}

// ---- bits

using OfBits = std::uint64_t (*)(std::uint64_t, std::uint64_t);

void addBits(Library& library, const std::string& name, OfBits call) {
  const Type i = Type::integer(), u = Type::unsignedInteger();
  library.add("math." + name,
              {globalOverload("math_" + name + "_int_int", {i, i}, i,
                              [call](Arguments x) {
                                return Value::integer(static_cast<std::int64_t>(
                                    call(static_cast<std::uint64_t>(x[0].asInt()),
                                         static_cast<std::uint64_t>(x[1].asInt()))));
                              }),
               globalOverload("math_" + name + "_uint_uint", {u, u}, u, [call](Arguments x) {
                 return Value::unsignedInteger(call(x[0].asUint(), x[1].asUint()));
               })});
}

void addShift(Library& library, const std::string& name, OfBits call) {
  const Type i = Type::integer(), u = Type::unsignedInteger();
  const auto negative = [name](std::int64_t offset) {
    return Value::error(fmt::format("math.{}() negative offset: {}", name, offset));
  };
  library.add(
      "math." + name,
      {globalOverload("math_" + name + "_int_int", {i, i}, i,
                      [call, negative](Arguments x) {
                        if (x[1].asInt() < 0) return negative(x[1].asInt());
                        return Value::integer(static_cast<std::int64_t>(
                            call(static_cast<std::uint64_t>(x[0].asInt()),
                                 static_cast<std::uint64_t>(x[1].asInt()))));
                      }),
       globalOverload("math_" + name + "_uint_int", {u, i}, u, [call, negative](Arguments x) {
         if (x[1].asInt() < 0) return negative(x[1].asInt());
         return Value::unsignedInteger(
             call(x[0].asUint(), static_cast<std::uint64_t>(x[1].asInt())));
       })});
}

void addAllBits(Library& library) {
  using U = std::uint64_t;
  addBits(library, "bitAnd", [](U a, U b) { return a & b; });
  addBits(library, "bitOr", [](U a, U b) { return a | b; });
  addBits(library, "bitXor", [](U a, U b) { return a ^ b; });
  addShift(library, "bitShiftLeft", [](U a, U b) { return b > 63 ? U{0} : a << b; });
  // Zeros come in from the left, also for negative numbers.
  addShift(library, "bitShiftRight", [](U a, U b) { return b > 63 ? U{0} : a >> b; });
  const Type i = Type::integer(), u = Type::unsignedInteger();
  library.add("math.bitNot",
              {globalOverload("math_bitNot_int_int", {i}, i,
                              [](Arguments x) { return Value::integer(~x[0].asInt()); }),
               globalOverload("math_bitNot_uint_uint", {u}, u,
                              [](Arguments x) { return Value::unsignedInteger(~x[0].asUint()); })});
}

}  // namespace

const Library& mathLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "math";
    library.macros = {{"greatest", true, -1,
                       [](MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
                         return expandExtreme(context, target, arguments, "greatest", "math.@max");
                       }},
                      {"least", true, -1,
                       [](MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
                         return expandExtreme(context, target, arguments, "least", "math.@min");
                       }}};
    addExtreme(library, "max", true);
    addExtreme(library, "min", false);
    addDouble(library, "ceil", [](double x) { return std::ceil(x); });
    addDouble(library, "floor", [](double x) { return std::floor(x); });
    addDouble(library, "round", [](double x) { return std::round(x); });
    addDouble(library, "trunc", [](double x) { return std::trunc(x); });
    addTest(library, "isInf", [](double x) { return std::isinf(x); });
    addTest(library, "isNaN", [](double x) { return std::isnan(x); });
    addTest(library, "isFinite", [](double x) { return std::isfinite(x); });
    addSigns(library);
    addAllBits(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
