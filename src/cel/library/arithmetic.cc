// + - * / % and negation. Integers do not wrap: a result that does not fit is an error.

#include <cmath>
#include <unordered_map>

#include "cel/library/standard.h"
#include "cel/syntax/ast.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

enum class Operation { Add, Subtract, Multiply };

template <class T>
bool overflows(Operation operation, T a, T b, T& result) {
  switch (operation) {
    case Operation::Add:
      return __builtin_add_overflow(a, b, &result);
    case Operation::Subtract:
      return __builtin_sub_overflow(a, b, &result);
    default:
      return __builtin_mul_overflow(a, b, &result);
  }
}

template <Operation kOperation>
Value integers(Arguments arguments) {
  std::int64_t result = 0;
  if (overflows(kOperation, arguments[0].asInt(), arguments[1].asInt(), result))
    return Value::error("integer overflow");
  return Value::integer(result);
}

template <Operation kOperation>
Value naturals(Arguments arguments) {
  std::uint64_t result = 0;
  if (overflows(kOperation, arguments[0].asUint(), arguments[1].asUint(), result))
    return Value::error("unsigned integer overflow");
  return Value::unsignedInteger(result);
}

template <Operation kOperation>
Value reals(Arguments arguments) {
  const double a = arguments[0].asDouble(), b = arguments[1].asDouble();
  return Value::real(kOperation == Operation::Add        ? a + b
                     : kOperation == Operation::Subtract ? a - b
                                                         : a * b);
}

template <Operation kOperation>
Value durations(Arguments arguments) {
  std::int64_t result = 0;
  if (overflows(kOperation, arguments[0].asDuration(), arguments[1].asDuration(), result))
    return Value::error("duration overflow");
  return Value::duration(result);
}

Value shifted(Timestamp time, std::int64_t nanoseconds) {
  const auto result = addNanoseconds(time, nanoseconds);
  return result ? Value::timestamp(*result) : Value::error("timestamp overflow");
}

Value divideIntegers(Arguments arguments) {
  const std::int64_t a = arguments[0].asInt(), b = arguments[1].asInt();
  if (b == 0) return Value::error("division by zero");
  if (a == INT64_MIN && b == -1) return Value::error("integer overflow");
  return Value::integer(a / b);
}
Value moduloIntegers(Arguments arguments) {
  const std::int64_t a = arguments[0].asInt(), b = arguments[1].asInt();
  if (b == 0) return Value::error("modulus by zero");
  if (a == INT64_MIN && b == -1) return Value::error("integer overflow");
  return Value::integer(a % b);
}
Value divideNaturals(Arguments arguments) {
  if (arguments[1].asUint() == 0) return Value::error("division by zero");
  return Value::unsignedInteger(arguments[0].asUint() / arguments[1].asUint());
}
Value moduloNaturals(Arguments arguments) {
  if (arguments[1].asUint() == 0) return Value::error("modulus by zero");
  return Value::unsignedInteger(arguments[0].asUint() % arguments[1].asUint());
}

Value joinTexts(Arguments arguments) {
  if (arguments[0].text().size() + arguments[1].text().size() > ValueAccess::kMaxText)
    return Value::error("text is too long");
  std::string text;
  text.reserve(arguments[0].text().size() + arguments[1].text().size());
  text += arguments[0].text();
  text += arguments[1].text();
  return ValueAccess::text(arguments[0].kind(), std::move(text));
}

// The left list decides how lists join that have a kind.
Value joinKeyed(const Value& left, const Value& right, const ListKind& kind) {
  std::vector<Value> elements;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < left.listSize(); ++i) {
    elements.push_back(left.listAt(i));
    places.insert_or_assign(kind.keyOf(elements.back()), i);
  }
  for (std::size_t i = 0; i < right.listSize(); ++i) {
    Value element = right.listAt(i);
    std::string key = kind.keyOf(element);
    if (const auto place = places.find(key); place == places.end()) {
      if (kind.isSet()) places.emplace(std::move(key), elements.size());
      elements.push_back(std::move(element));
    } else if (!kind.isSet()) {
      elements[place->second] = std::move(element);
    }
  }
  return Value::adopt(static_cast<const List*>(new ElementList(std::move(elements), &kind)));
}

Value joinLists(Arguments arguments) {
  const Value &left = arguments[0], &right = arguments[1];
  const ListKind* kind = ValueAccess::listKind(left);
  if (right.listSize() == 0) return left;
  const bool isPlain = !kind && !ValueAccess::listKind(right);
  if (left.listSize() == 0 && isPlain) return right;
  const std::size_t size = left.listSize() + right.listSize();
  if (size > ValueAccess::kMaxElements) return Value::error("list is too long");
  if (kind) return joinKeyed(left, right, *kind);
  std::vector<Value> elements;
  elements.reserve(size);
  for (const Value& list : arguments)
    for (std::size_t i = 0; i < list.listSize(); ++i) elements.push_back(list.listAt(i));
  return Value::list(std::move(elements));
}

Value subtractTimes(Arguments arguments) {
  const auto result = nanosecondsBetween(arguments[0].asTimestamp(), arguments[1].asTimestamp());
  return result ? Value::duration(*result) : Value::error("timestamp overflow");
}

Value negateInteger(Arguments arguments) {
  if (arguments[0].asInt() == INT64_MIN) return Value::error("integer overflow");
  return Value::integer(-arguments[0].asInt());
}

}  // namespace

void addArithmetic(Library& library) {
  const Type i = Type::integer(), u = Type::unsignedInteger(), d = Type::real();
  const Type s = Type::string(), y = Type::bytes(), t = Type::timestamp(), p = Type::duration();
  const Type list = Type::list(Type::parameter("A"));
  const auto timeAndDuration = [](Arguments x) {
    return shifted(x[0].asTimestamp(), x[1].asDuration());
  };
  const auto durationAndTime = [](Arguments x) {
    return shifted(x[1].asTimestamp(), x[0].asDuration());
  };
  const auto timeLessDuration = [](Arguments x) {
    if (x[1].asDuration() == INT64_MIN) return Value::error("duration overflow");
    return shifted(x[0].asTimestamp(), -x[1].asDuration());
  };
  library.add(op::kAdd,
              {globalOverload("add_bytes", {y, y}, y, joinTexts),
               globalOverload("add_double", {d, d}, d, reals<Operation::Add>),
               globalOverload("add_duration_duration", {p, p}, p, durations<Operation::Add>),
               globalOverload("add_duration_timestamp", {p, t}, t, durationAndTime),
               globalOverload("add_timestamp_duration", {t, p}, t, timeAndDuration),
               globalOverload("add_int64", {i, i}, i, integers<Operation::Add>),
               globalOverload("add_list", {list, list}, list, joinLists),
               globalOverload("add_string", {s, s}, s, joinTexts),
               globalOverload("add_uint64", {u, u}, u, naturals<Operation::Add>)});
  library.add(
      op::kSubtract,
      {globalOverload("subtract_double", {d, d}, d, reals<Operation::Subtract>),
       globalOverload("subtract_duration_duration", {p, p}, p, durations<Operation::Subtract>),
       globalOverload("subtract_int64", {i, i}, i, integers<Operation::Subtract>),
       globalOverload("subtract_timestamp_duration", {t, p}, t, timeLessDuration),
       globalOverload("subtract_timestamp_timestamp", {t, t}, p, subtractTimes),
       globalOverload("subtract_uint64", {u, u}, u, naturals<Operation::Subtract>)});
  library.add(op::kMultiply,
              {globalOverload("multiply_double", {d, d}, d, reals<Operation::Multiply>),
               globalOverload("multiply_int64", {i, i}, i, integers<Operation::Multiply>),
               globalOverload("multiply_uint64", {u, u}, u, naturals<Operation::Multiply>)});
  library.add(
      op::kDivide,
      {globalOverload("divide_double", {d, d}, d,
                      [](Arguments x) { return Value::real(x[0].asDouble() / x[1].asDouble()); }),
       globalOverload("divide_int64", {i, i}, i, divideIntegers),
       globalOverload("divide_uint64", {u, u}, u, divideNaturals)});
  library.add(op::kModulo, {globalOverload("modulo_int64", {i, i}, i, moduloIntegers),
                            globalOverload("modulo_uint64", {u, u}, u, moduloNaturals)});
  library.add(op::kNegate,
              {globalOverload("negate_double", {d}, d,
                              [](Arguments x) { return Value::real(-x[0].asDouble()); }),
               globalOverload("negate_int64", {i}, i, negateInteger)});
}

}  // namespace koord::cel
