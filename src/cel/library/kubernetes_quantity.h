#pragma once

#include "base/quantity.h"
#include "cel/library.h"

namespace koord::cel {

// quantity("40Gi") and its functions: Kubernetes' library of resource quantities.
const Library& quantityLibrary();

const Type& quantityType();  // kubernetes.Quantity

// A quantity as a value. A host keeps one for each quantity that expressions read often, and lends
// it by Value::borrow.
class QuantityOpaque final : public Opaque {
 public:
  explicit QuantityOpaque(Quantity held) : quantity(std::move(held)) {}
  const Type& type() const override { return quantityType(); }
  bool equals(const Opaque& other) const override {
    return quantity == static_cast<const QuantityOpaque&>(other).quantity;
  }
  std::string toString() const override { return quantity.toString(); }
  const Quantity quantity;
};

Value quantityValue(Quantity quantity);

}  // namespace koord::cel
