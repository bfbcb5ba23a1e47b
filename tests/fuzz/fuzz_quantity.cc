// Quantity::parse on any text: no crash, and what it accepts prints to text that means the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto quantity =
      koord::Quantity::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!quantity) return 0;
  const std::string text = quantity->toString();
  // Text of a huge exponent in a plain format is longer than what is accepted.
  if (text.size() > koord::Quantity::kMaxText) return 0;
  const auto again = koord::Quantity::parse(text);
  if (!again || *again != *quantity || again->toString() != text) std::abort();
  koord::Quantity sum = *quantity;
  sum.add(*quantity);
  sum.sub(*quantity);
  if (sum != *quantity || (quantity->sign() < 0) != (quantity->value() < 0)) std::abort();
  return 0;
}
