#include "cel/library/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cel/library/ordering.h"
#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

constexpr std::int64_t kMaxRangeSize = static_cast<std::int64_t>(ValueAccess::kMaxElements);
constexpr int kMaxFlattenDepth = 1'000;

std::vector<Value> elementsOf(const Value& list) {
  std::vector<Value> elements;
  elements.reserve(list.listSize());
  for (std::size_t i = 0; i < list.listSize(); ++i) elements.push_back(list.listAt(i));
  return elements;
}

Value sliceOf(Arguments arguments) {
  const std::int64_t start = arguments[1].asInt(), end = arguments[2].asInt();
  if (start < 0 || end < 0)
    return Value::error(
        fmt::format("cannot slice({}, {}), negative indexes not supported", start, end));
  if (start > end)
    return Value::error(fmt::format(
        "cannot slice({}, {}), start index must be less than or equal to end index", start, end));
  const auto size = static_cast<std::int64_t>(arguments[0].listSize());
  if (size < end)
    return Value::error(fmt::format("cannot slice({}, {}), list is length {}", start, end, size));
  std::vector<Value> elements;
  for (std::int64_t i = start; i < end; ++i)
    elements.push_back(arguments[0].listAt(static_cast<std::size_t>(i)));
  return Value::list(std::move(elements));
}

void flattenInto(std::vector<Value>& out, const Value& list, std::int64_t depth, int level) {
  for (std::size_t i = 0; i < list.listSize() && out.size() < ValueAccess::kMaxElements; ++i) {
    Value each = list.listAt(i);
    if (each.is(Kind::List) && depth > 0 && level < kMaxFlattenDepth) {
      flattenInto(out, each, depth - 1, level + 1);
    } else {
      out.push_back(std::move(each));
    }
  }
}

Value flattened(const Value& list, std::int64_t depth) {
  if (depth < 0) return Value::error("level must be non-negative");
  std::vector<Value> elements;
  flattenInto(elements, list, depth, 0);
  if (elements.size() >= ValueAccess::kMaxElements) return Value::error("list is too long");
  return Value::list(std::move(elements));
}

Value sortedBy(Arguments arguments) {
  const Value &list = arguments[0], &keys = arguments[arguments.size() - 1];
  if (list.listSize() != keys.listSize())
    return Value::error(
        fmt::format("@sortByAssociatedKeys() expected a list of the same size as the "
                    "associated keys list, but got {} and {} elements respectively",
                    list.listSize(), keys.listSize()));
  const std::vector<Value> order = elementsOf(keys);
  for (const Value& key : order) {
    if (!isOrdered(key)) return Value::error("list elements must be comparable");
    if (key.kind() != order[0].kind()) return Value::error("list elements must have the same type");
  }
  std::vector<std::size_t> positions(order.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, [&](std::size_t a, std::size_t b) {
    return compareOrdered(order[a], order[b]) < 0;
  });
  std::vector<Value> sorted;
  for (const std::size_t position : positions) sorted.push_back(list.listAt(position));
  return Value::list(std::move(sorted));
}

Value rangeOf(Arguments arguments) {
  const std::int64_t count = arguments[0].asInt();
  if (count > kMaxRangeSize)
    return Value::error(fmt::format("lists.range({}): at most {} elements", count, kMaxRangeSize));
  std::vector<Value> elements;
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(Value::integer(i));
  return Value::list(std::move(elements));
}

Value reversedList(Arguments arguments) {
  std::vector<Value> elements = elementsOf(arguments[0]);
  std::ranges::reverse(elements);
  return Value::list(std::move(elements));
}

Value distinctOf(Arguments arguments) {
  std::vector<Value> unique;
  for (std::size_t i = 0; i < arguments[0].listSize(); ++i) {
    Value each = arguments[0].listAt(i);
    const auto same = [&](const Value& other) { return other.equals(each); };
    if (std::ranges::none_of(unique, same)) unique.push_back(std::move(each));
  }
  return Value::list(std::move(unique));
}

// list.sortBy(x, key): the keys are computed once for each element.
ExprPtr expandSortBy(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
  if (target->kind == ExprKind::Literal || target->kind == ExprKind::Map ||
      target->kind == ExprKind::Struct)
    return context.error(*target,
                         "sortBy can only be applied to a list, identifier, comprehension, call or "
                         "select expression");
  const std::string variable = context.variable(*arguments[0]);
  if (context.failed()) return nullptr;
  const std::string input = "@__sortBy_input__";
  std::vector<ExprPtr> key;
  key.push_back(std::move(arguments[1]));
  ExprPtr keys =
      context.fold({context.ident(input), variable, "", std::string(op::kAccumulator),
                    context.list(), context.literal(Value::boolean(true)),
                    context.call(op::kAdd, context.accumulator(), context.list(std::move(key))),
                    context.accumulator()});
  return context.bind(
      input, std::move(target),
      context.memberCall(context.ident(input), "@sortByAssociatedKeys", std::move(keys)));
}

// ---- costs: the call, a new list, and `factor` for each element that is made or compared.

std::uint64_t newListCost(double factor, std::uint64_t size) {
  return addCost(static_cast<std::uint64_t>(static_cast<double>(size) * factor), 1 + kListCost);
}
CallEstimate newListEstimate(double factor, const SizeEstimate& size) {
  return {size.scaled(factor) + fixedCost(1 + kListCost), size};
}
SizeEstimate sizeOrAll(const CostNode& node) {
  return node.size.value_or(SizeEstimate{});
}
std::uint64_t literalOr(const CostNode& node, std::uint64_t otherwise) {
  if (node.expr->kind != ExprKind::Literal || !node.expr->literal.is(Kind::Int)) return otherwise;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, node.expr->literal.asInt()));
}
std::optional<std::uint64_t> ofResult(Arguments, const Value& result) {
  return newListCost(1, sizeForCost(result));
}
std::optional<std::uint64_t> ofComparisons(const Value& list) {
  const std::uint64_t size = sizeForCost(list);
  const bool text = size > 0 && (list.listAt(0).is(Kind::String) || list.listAt(0).is(Kind::Bytes));
  return newListCost(text ? 2.0 + kTraversalFactor : 2.0, multiplyCost(size, size));
}

using Nodes = std::span<const CostNode>;

void addSorts(Library& library) {
  const std::vector<Type> comparable = {
      Type::integer(),  Type::unsignedInteger(), Type::real(),   Type::boolean(),
      Type::duration(), Type::timestamp(),       Type::string(), Type::bytes()};
  const Type list = Type::list(Type::parameter("T"));
  for (const Type& type : comparable) {
    const bool text = type.kind() == TypeKind::String || type.kind() == TypeKind::Bytes;
    const double factor = text ? 2.0 + kTraversalFactor : 2.0;
    Overload sort = memberOverload(fmt::format("list_{}_sort", type.name()), {Type::list(type)},
                                   Type::list(type), sortedBy);
    sort.track = [](Arguments x, const Value&) { return ofComparisons(x[0]); };
    sort.estimate = [factor](const CostModel&, const CostNode* target, Nodes) {
      return std::optional(newListEstimate(factor, sizeOrAll(*target) * sizeOrAll(*target)));
    };
    library.add("sort", {std::move(sort)});
    Overload by = memberOverload(fmt::format("list_{}_sortByAssociatedKeys", type.name()),
                                 {list, Type::list(type)}, list, sortedBy);
    by.track = [](Arguments x, const Value&) { return ofComparisons(x[1]); };
    by.estimate = [factor](const CostModel&, const CostNode*, Nodes x) {
      return std::optional(newListEstimate(factor, sizeOrAll(x[0]) * sizeOrAll(x[0])));
    };
    library.add("@sortByAssociatedKeys", {std::move(by)});
  }
}

void addSlices(Library& library) {
  const Type list = Type::list(Type::parameter("T")), any = Type::list(Type::dyn());
  const Type i = Type::integer();
  Overload slice = memberOverload("list_slice", {list, i, i}, list, sliceOf);
  slice.track = ofResult;
  slice.estimate = [](const CostModel&, const CostNode* target, Nodes x) {
    const std::uint64_t start = literalOr(x[0], 0), end = literalOr(x[1], sizeOrAll(*target).max);
    return std::optional(newListEstimate(1, SizeEstimate::fixed(end - start)));
  };
  library.add("slice", {std::move(slice)});
  Overload flat = memberOverload("list_flatten", {Type::list(list)}, list,
                                 [](Arguments x) { return flattened(x[0], 1); });
  Overload deep = memberOverload("list_flatten_int", {any, i}, any,
                                 [](Arguments x) { return flattened(x[0], x[1].asInt()); });
  flat.track = deep.track = [](Arguments x, const Value&) {
    const double depth = x.size() == 2 ? static_cast<double>(x[1].asInt()) : 1;
    return std::optional(newListCost(std::max(depth, 0.0), sizeForCost(x[0])));
  };
  flat.estimate = deep.estimate = [](const CostModel&, const CostNode* target, Nodes x) {
    const std::uint64_t depth = x.empty() ? 1 : literalOr(x[0], UINT64_MAX);
    return std::optional(newListEstimate(static_cast<double>(depth), sizeOrAll(*target)));
  };
  library.add("flatten", {std::move(flat), std::move(deep)});
}

void addOthers(Library& library) {
  const Type list = Type::list(Type::parameter("T")), i = Type::integer();
  Overload range = globalOverload("lists_range", {i}, Type::list(i), rangeOf);
  range.pure = false;  // the list is not kept in the program
  range.track = ofResult;
  range.estimate = [](const CostModel&, const CostNode*, Nodes x) {
    return std::optional(newListEstimate(1, SizeEstimate::fixed(literalOr(x[0], UINT64_MAX))));
  };
  library.add("lists.range", {std::move(range)});
  Overload reverse = memberOverload("list_reverse", {list}, list, reversedList);
  reverse.track = ofResult;
  reverse.estimate = [](const CostModel&, const CostNode* target, Nodes) {
    return std::optional(newListEstimate(1, sizeOrAll(*target)));
  };
  library.add("reverse", {std::move(reverse)});
  Overload distinct = memberOverload("list_distinct", {list}, list, distinctOf);
  distinct.track = [](Arguments x, const Value&) { return ofComparisons(x[0]); };
  distinct.estimate = [](const CostModel&, const CostNode* target, Nodes) {
    return std::optional(newListEstimate(2, sizeOrAll(*target) * sizeOrAll(*target)));
  };
  library.add("distinct", {std::move(distinct)});
}

}  // namespace

const Library& listsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "lists";
    library.macros = {{"sortBy", true, 2, expandSortBy}};
    addSlices(library);
    addSorts(library);
    addOthers(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
