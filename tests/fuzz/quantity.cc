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
  check(again && *again == *amount && again->toString() == text, "the text reads as the amount");
  Quantity sum = *amount;
  sum.add(*amount);
  sum.sub(*amount);
  check(sum == *amount, "what is added can be taken away");
  check((amount->sign() < 0) == (amount->value() < 0), "value has the sign");
}

}  // namespace koord::fuzz
