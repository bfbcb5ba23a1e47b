// < <= > >=. Numbers of different types compare by number; NaN makes every comparison false.

#include <fmt/format.h>

#include <compare>

#include "cel/library/ordering.h"
#include "cel/library/standard.h"
#include "cel/syntax/ast.h"
#include "cel/value_access.h"

namespace koord::cel {

bool isOrdered(const Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
    case Kind::Int:
    case Kind::Uint:
    case Kind::Double:
    case Kind::String:
    case Kind::Bytes:
    case Kind::Timestamp:
    case Kind::Duration:
      return true;
    default:
      return false;
  }
}

std::partial_ordering compareOrdered(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::Bool:
      return a.asBool() <=> b.asBool();
    case Kind::String:
    case Kind::Bytes:
      return a.text() <=> b.text();  // of UTF-8: also the order of code points
    case Kind::Timestamp:
      return a.asTimestamp() <=> b.asTimestamp();
    case Kind::Duration:
      return a.asDuration() <=> b.asDuration();
    default:
      return compareNumbers(a, b);
  }
}

namespace {

template <bool (*kHolds)(std::partial_ordering)>
Value compareValues(Arguments arguments) {
  return Value::boolean(kHolds(compareOrdered(arguments[0], arguments[1])));
}

struct Comparable {
  std::string_view id;
  Type left, right;
};

std::vector<Comparable> comparables() {
  const Type i = Type::integer(), u = Type::unsignedInteger(), d = Type::real();
  return {{"bool", Type::boolean(), Type::boolean()},
          {"int64", i, i},
          {"int64_double", i, d},
          {"int64_uint64", i, u},
          {"uint64", u, u},
          {"uint64_double", u, d},
          {"uint64_int64", u, i},
          {"double", d, d},
          {"double_int64", d, i},
          {"double_uint64", d, u},
          {"string", Type::string(), Type::string()},
          {"bytes", Type::bytes(), Type::bytes()},
          {"timestamp", Type::timestamp(), Type::timestamp()},
          {"duration", Type::duration(), Type::duration()}};
}

void addComparison(Library& library, std::string_view name, std::string_view prefix,
                   Implementation call) {
  std::vector<Overload> overloads;
  for (const Comparable& each : comparables())
    overloads.push_back(globalOverload(fmt::format("{}_{}", prefix, each.id),
                                       {each.left, each.right}, Type::boolean(), call));
  library.add(name, std::move(overloads));
}

}  // namespace

void addComparisons(Library& library) {
  addComparison(library, op::kLess, "less", compareValues<std::is_lt>);
  addComparison(library, op::kLessEquals, "less_equals", compareValues<std::is_lteq>);
  addComparison(library, op::kGreater, "greater", compareValues<std::is_gt>);
  addComparison(library, op::kGreaterEquals, "greater_equals", compareValues<std::is_gteq>);
}

}  // namespace koord::cel
