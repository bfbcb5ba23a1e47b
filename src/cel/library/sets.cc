#include "cel/library/sets.h"

#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

bool hasElement(const Value& list, const Value& element) {
  for (std::size_t i = 0; i < list.listSize(); ++i)
    if (list.listAt(i).equals(element)) return true;
  return false;
}

bool containsAll(const Value& list, const Value& part) {
  for (std::size_t i = 0; i < part.listSize(); ++i)
    if (!hasElement(list, part.listAt(i))) return false;
  return true;
}

bool intersects(const Value& a, const Value& b) {
  for (std::size_t i = 0; i < a.listSize(); ++i)
    if (hasElement(b, a.listAt(i))) return true;
  return false;
}

// Both sizes multiplied, `factor` times, and 1 for the call.
Overload setFunction(std::string id, double factor, Implementation call) {
  const Type list = Type::list(Type::parameter("T"));
  Overload overload = globalOverload(std::move(id), {list, list}, Type::boolean(), std::move(call));
  overload.track = [factor](Arguments x, const Value&) {
    return addCost(1, scaleCost(multiplyCost(sizeForCost(x[0]), sizeForCost(x[1])), factor));
  };
  overload.estimate = [factor](const CostModel&, const CostNode*,
                               std::span<const CostNode> x) -> std::optional<CallEstimate> {
    const SizeEstimate product =
        x[0].size.value_or(SizeEstimate{}) * x[1].size.value_or(SizeEstimate{});
    return CallEstimate{product.scaled(factor) + fixedCost(1), std::nullopt};
  };
  return overload;
}

}  // namespace

const Library& setsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "sets";
    library.add("sets.contains", {setFunction("list_sets_contains_list", 1, [](Arguments x) {
                  return Value::boolean(containsAll(x[0], x[1]));
                })});
    library.add("sets.equivalent", {setFunction("list_sets_equivalent_list", 2, [](Arguments x) {
                  return Value::boolean(containsAll(x[0], x[1]) && containsAll(x[1], x[0]));
                })});
    library.add("sets.intersects", {setFunction("list_sets_intersects_list", 1, [](Arguments x) {
                  return Value::boolean(intersects(x[0], x[1]));
                })});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
