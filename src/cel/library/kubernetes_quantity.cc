#include "cel/library/kubernetes_quantity.h"

#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

const Quantity& quantityOf(const Value& value) {
  return static_cast<const QuantityOpaque&>(value.asOpaque()).quantity;
}

Value parseToQuantity(Arguments x) {
  auto quantity = Quantity::parse(x[0].text());
  return quantity ? quantityValue(*std::move(quantity)) : Value::error(quantity.error().message);
}

Value asInteger(Arguments x) {
  const auto number = quantityOf(x[0]).asInt64();
  return number ? Value::integer(*number) : Value::error("cannot convert value to integer");
}

template <bool kAdd>
Value changed(Arguments x) {
  Quantity result = quantityOf(x[0]);
  const Quantity other = x[1].is(Kind::Int)
                             ? Quantity::of(x[1].asInt(), Quantity::Format::DecimalExponent)
                             : quantityOf(x[1]);
  if (kAdd) {
    result.add(other);
  } else {
    result.sub(other);
  }
  return quantityValue(std::move(result));
}

template <bool (*kHolds)(std::partial_ordering)>
Value compareQuantities(Arguments x) {
  return Value::boolean(kHolds(quantityOf(x[0]) <=> quantityOf(x[1])));
}

void addQuantityArithmetic(Library& library) {
  const Type q = quantityType(), i = Type::integer();
  library.add("add", {memberOverload("quantity_add", {q, q}, q, changed<true>),
                      memberOverload("quantity_add_int", {q, i}, q, changed<true>)});
  library.add("sub", {memberOverload("quantity_sub", {q, q}, q, changed<false>),
                      memberOverload("quantity_sub_int", {q, i}, q, changed<false>)});
}

}  // namespace

const Type& quantityType() {
  static const Type kType = Type::opaque("kubernetes.Quantity");
  return kType;
}

Value quantityValue(Quantity quantity) {
  return Value::adopt(static_cast<const Opaque*>(new QuantityOpaque(std::move(quantity))));
}

const Library& quantityLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.quantity";
    const Type q = quantityType(), s = Type::string(), i = Type::integer(), flag = Type::boolean();
    library.addType(q.name(), q);
    library.add("quantity", {globalOverload("string_to_quantity", {s}, q, parseToQuantity)});
    library.add("isQuantity", {globalOverload("is_quantity_string", {s}, flag, [](Arguments x) {
                  return Value::boolean(Quantity::parse(x[0].text()).has_value());
                })});
    library.add("sign", {globalOverload("quantity_sign", {q}, i, [](Arguments x) {
                  return Value::integer(quantityOf(x[0]).sign());
                })});
    library.add("isGreaterThan", {memberOverload("quantity_is_greater_than", {q, q}, flag,
                                                 compareQuantities<std::is_gt>)});
    library.add("isLessThan", {memberOverload("quantity_is_less_than", {q, q}, flag,
                                              compareQuantities<std::is_lt>)});
    library.add("compareTo", {memberOverload("quantity_compare_to", {q, q}, i, [](Arguments x) {
                  const auto order = quantityOf(x[0]) <=> quantityOf(x[1]);
                  return Value::integer(order < 0 ? -1 : order > 0 ? 1 : 0);
                })});
    library.add("asApproximateFloat",
                {memberOverload("quantity_get_float", {q}, Type::real(), [](Arguments x) {
                  return Value::real(quantityOf(x[0]).toDouble());
                })});
    library.add("asInteger", {memberOverload("quantity_get_int", {q}, i, asInteger)});
    library.add("isInteger", {memberOverload("quantity_is_integer", {q}, flag, [](Arguments x) {
                  return Value::boolean(quantityOf(x[0]).asInt64().has_value());
                })});
    addQuantityArithmetic(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
