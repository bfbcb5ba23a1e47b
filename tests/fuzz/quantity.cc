// What is accepted prints to text that means the same, and adding can be undone.

#include "base/quantity.h"

#include "fuzz.h"

namespace koord::fuzz {

void quantity(std::string_view input) {
  const auto amount = Quantity::parse(input);
  if (!amount) return;
  const std::string text = amount->toString();
  // Text of a huge exponent in a plain format is longer than what is accepted.
  if (text.size() > Quantity::kMaxText) return;
  const auto again = Quantity::parse(text);
  check(again && *again == *amount, "the text reads as the amount");
  // Only a suffix tells binary amounts: 98670031.25Ki is 101038112000, which read again is
  // 101038112k, there as here.
  check(again->format() != amount->format() || again->toString() == text,
        "and is the one way to write it in its format");
  Quantity sum = *amount;
  sum.add(*amount);
  sum.sub(*amount);
  check(sum == *amount, "what is added can be taken away");
  check((amount->sign() < 0) == (amount->value() < 0), "value has the sign");
}

}  // namespace koord::fuzz
