#include "cel/library/kubernetes_lists.h"

#include <fmt/format.h>

#include "cel/library/ordering.h"
#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

Value isSortedList(Arguments x) {
  for (std::size_t i = 1; i < x[0].listSize(); ++i) {
    const Value a = x[0].listAt(i - 1), b = x[0].listAt(i);
    if (!isOrdered(a) || !isOrdered(b)) return Value::error("no such overload");
    if (compareOrdered(a, b) > 0) return Value::boolean(false);
  }
  return Value::boolean(true);
}

template <bool kMax>
Value extremeElement(Arguments x) {
  if (x[0].listSize() == 0)
    return Value::error(fmt::format("{} called on empty list", kMax ? "max" : "min"));
  Value result = x[0].listAt(0);
  for (std::size_t i = 0; i < x[0].listSize(); ++i) {
    Value each = x[0].listAt(i);
    if (!isOrdered(each)) return Value::error("no such overload");
    const auto order = compareOrdered(result, each);
    if (kMax ? order < 0 : order > 0) result = std::move(each);
  }
  return result;
}

Value sumOfInts(Arguments x) {
  std::int64_t sum = 0;
  const bool durations = x[0].listSize() > 0 && x[0].listAt(0).is(Kind::Duration);
  for (std::size_t i = 0; i < x[0].listSize(); ++i) {
    const Value each = x[0].listAt(i);
    if (!each.is(durations ? Kind::Duration : Kind::Int)) return Value::error("no such overload");
    if (__builtin_add_overflow(sum, each.asInt(), &sum)) return Value::error("integer overflow");
  }
  return durations ? Value::duration(sum) : Value::integer(sum);
}
Value sumOfDurations(Arguments x) {
  return x[0].listSize() == 0 ? Value::duration(0) : sumOfInts(x);
}
Value sumOfUints(Arguments x) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < x[0].listSize(); ++i) {
    const Value each = x[0].listAt(i);
    if (!each.is(Kind::Uint)) return Value::error("no such overload");
    if (__builtin_add_overflow(sum, each.asUint(), &sum))
      return Value::error("unsigned integer overflow");
  }
  return Value::unsignedInteger(sum);
}
Value sumOfReals(Arguments x) {
  double sum = 0;
  for (std::size_t i = 0; i < x[0].listSize(); ++i) {
    const Value each = x[0].listAt(i);
    if (!each.is(Kind::Double)) return Value::error("no such overload");
    sum += each.asDouble();
  }
  return Value::real(sum);
}

template <bool kLast>
Value indexOfElement(Arguments x) {
  const std::size_t size = x[0].listSize();
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = kLast ? size - 1 - i : i;
    if (x[0].listAt(at).equals(x[1])) return Value::integer(static_cast<std::int64_t>(at));
  }
  return Value::integer(-1);
}

Value includesElement(Arguments x) {
  if (!x[0].is(Kind::List)) return Value::boolean(x[0].equals(x[1]));
  return Value::boolean(indexOfElement<false>(x).asInt() >= 0);
}

struct NamedType {
  std::string name;
  Type type;
};

void addOrders(Library& library) {
  const std::vector<NamedType> comparable = {
      {"int", Type::integer()},       {"uint", Type::unsignedInteger()},
      {"double", Type::real()},       {"bool", Type::boolean()},
      {"duration", Type::duration()}, {"timestamp", Type::timestamp()},
      {"string", Type::string()},     {"bytes", Type::bytes()}};
  for (const auto& [name, type] : comparable) {
    const Type list = Type::list(type);
    library.add("isSorted", {memberOverload(fmt::format("list_{}_is_sorted_bool", name), {list},
                                            Type::boolean(), isSortedList)});
    library.add("max", {memberOverload(fmt::format("list_{}_max_{}", name, name), {list}, type,
                                       extremeElement<true>)});
    library.add("min", {memberOverload(fmt::format("list_{}_min_{}", name, name), {list}, type,
                                       extremeElement<false>)});
  }
}

}  // namespace

const Library& kubernetesListsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.lists";
    addOrders(library);
    const auto sum = [](const std::string& name, const Type& type, Implementation call) {
      return memberOverload(fmt::format("list_{}_sum_{}", name, name), {Type::list(type)}, type,
                            std::move(call));
    };
    library.add("sum", {sum("int", Type::integer(), sumOfInts),
                        sum("uint", Type::unsignedInteger(), sumOfUints),
                        sum("double", Type::real(), sumOfReals),
                        sum("duration", Type::duration(), sumOfDurations)});
    const Type a = Type::parameter("A"), list = Type::list(a), i = Type::integer();
    library.add("indexOf",
                {memberOverload("list_a_index_of_int", {list, a}, i, indexOfElement<false>)});
    library.add("lastIndexOf",
                {memberOverload("list_a_last_index_of_int", {list, a}, i, indexOfElement<true>)});
    library.add("includes", {memberOverload("list_includes_dyn_dyn", {Type::dyn(), Type::dyn()},
                                            Type::boolean(), includesElement)});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
