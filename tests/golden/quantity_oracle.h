#pragma once

// Exact arithmetic on quantities, written again in the simplest way and apart from the Quantity
// class: the judge where the recorded output is wrong.

#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "golden/golden.h"

namespace koord::golden {

using BigInt = boost::multiprecision::cpp_int;

struct ExactQuantity {
  enum class Format { DecimalSI, BinarySI, DecimalExponent };
  BigInt nano;  // the amount in 10^-9
  Format format = Format::DecimalSI;
};

// The text must be a quantity that Kubernetes accepts.
ExactQuantity exactQuantity(std::string_view text);
std::string canonicalText(const ExactQuantity& quantity);
// The amount in units of 10^scale, rounded away from zero; any size.
BigInt exactScaled(const ExactQuantity& quantity, int scale);

std::vector<Oracle> quantityOracles();

}  // namespace koord::golden
