#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "base/quantity.h"
#include "base/time.h"
#include "scenario/jmespath_values.h"

// Functions on numbers, and Kyverno's arithmetic on numbers, quantities ("4Gi") and durations
// ("1h30m"). Text that is both ("5m") is a quantity.

namespace koord::scenario::jmespath {
namespace {

using Args = std::span<const Argument>;

Result<json::value> abs(Args all, const Scope&) {
  const auto number = Arguments("abs", all).number(0);
  if (!number) return fail(number.error());
  return numberOf(std::abs(*number));
}

Result<json::value> ceil(Args all, const Scope&) {
  const auto number = Arguments("ceil", all).number(0);
  if (!number) return fail(number.error());
  return numberOf(std::ceil(*number));
}

Result<json::value> floor(Args all, const Scope&) {
  const auto number = Arguments("floor", all).number(0);
  if (!number) return fail(number.error());
  return numberOf(std::floor(*number));
}

Result<json::value> avg(Args all, const Scope&) {
  const Arguments arguments("avg", all);
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  if ((*array)->empty()) return json::value(nullptr);
  double total = 0;
  for (const auto& item : **array) {
    if (!isNumber(item)) return arguments.wrong(0, "an array of numbers");
    total += toDouble(item);
  }
  return numberOf(total / static_cast<double>((*array)->size()));
}

Result<json::value> round(Args all, const Scope&) {
  const Arguments arguments("round", all);
  const auto number = arguments.number(0);
  if (!number) return fail(number.error());
  const auto places = arguments.integer(1);
  if (!places) return fail(places.error());
  if (*places < 0 || *places > 15) return arguments.wrong(1, "an integer from 0 to 15");
  // Rounds the shortest decimal text, so that 1.005 means 1.005 and not the double below it.
  const double scale = std::pow(10.0, static_cast<double>(*places));
  const double scaled = *number * scale;
  const double nudge = std::copysign(std::abs(scaled) * 4e-16, scaled);
  return numberOf(std::round(scaled + nudge) / scale);
}

using Operand = std::variant<double, Quantity, Duration>;

Result<Operand> operandOf(const Arguments& arguments, const json::value& value) {
  if (isNumber(value)) return Operand(toDouble(value));
  if (value.is_string()) {
    if (auto quantity = Quantity::parse(textOf(value))) return Operand(*std::move(quantity));
    if (auto duration = parseDuration(textOf(value))) return Operand(*duration);
  }
  return arguments.failure(
      fmt::format("{} is not a number, a quantity or a duration", plainText(value)));
}

// Fractional quantities keep three decimal places.
Quantity quantityOf(double amount, Quantity::Format format) {
  constexpr double kMilliLimit = 9e15;
  if (std::abs(amount) * 1000 < kMilliLimit) {
    return Quantity::ofMilli(std::llround(amount * 1000), format);
  }
  return Quantity::of(static_cast<std::int64_t>(std::clamp(amount, -9.2e18, 9.2e18)), format);
}

json::value written(const Operand& operand) {
  if (const auto* number = std::get_if<double>(&operand)) return numberOf(*number);
  if (const auto* quantity = std::get_if<Quantity>(&operand))
    return textValue(quantity->toString());
  return textValue(formatDuration(std::get<Duration>(operand)));
}

double amountOf(const Operand& operand) {
  if (const auto* number = std::get_if<double>(&operand)) return *number;
  if (const auto* quantity = std::get_if<Quantity>(&operand)) return quantity->toDouble();
  return static_cast<double>(std::get<Duration>(operand).count());
}

std::optional<Operand> sumOf(const Operand& a, const Operand& b, int sign) {
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* number = std::get_if<double>(&a)) return *number + sign * std::get<double>(b);
  if (const auto* quantity = std::get_if<Quantity>(&a)) {
    Quantity result = *quantity;
    if (sign > 0) {
      result.add(std::get<Quantity>(b));
    } else {
      result.sub(std::get<Quantity>(b));
    }
    return result;
  }
  return Duration(std::get<Duration>(a) + sign * std::get<Duration>(b));
}

// The amount as an operand of the same type as `like`.
Operand as(const Operand& like, double amount) {
  if (const auto* quantity = std::get_if<Quantity>(&like))
    return quantityOf(amount, quantity->format());
  if (std::holds_alternative<Duration>(like)) {
    return Duration(static_cast<std::int64_t>(std::clamp(amount, -9.2e18, 9.2e18)));
  }
  return amount;
}

std::optional<Operand> productOf(const Operand& a, const Operand& b) {
  const bool scalarFirst = std::holds_alternative<double>(a);
  if (!scalarFirst && !std::holds_alternative<double>(b)) return std::nullopt;
  const Operand& thing = scalarFirst ? b : a;
  const double factor = std::get<double>(scalarFirst ? a : b);
  if (const auto* quantity = std::get_if<Quantity>(&thing);
      quantity && factor == std::trunc(factor)) {
    Quantity result = *quantity;
    result.mul(static_cast<std::int64_t>(std::clamp(factor, -9.2e18, 9.2e18)));
    return result;
  }
  return as(thing, amountOf(thing) * factor);
}

std::optional<Operand> quotientOf(const Operand& a, const Operand& b) {
  const double ratio = amountOf(a) / amountOf(b);
  if (a.index() == b.index()) return ratio;
  if (std::holds_alternative<double>(b)) return as(a, ratio);
  return std::nullopt;
}

std::optional<Operand> remainderOf(const Operand& a, const Operand& b) {
  if (a.index() != b.index()) return std::nullopt;
  return as(a, std::fmod(amountOf(a), amountOf(b)));
}

template <class Combine>
Result<json::value> combined(const Arguments& arguments, bool divides, Combine combine) {
  const auto a = operandOf(arguments, arguments[0]);
  if (!a) return fail(a.error());
  const auto b = operandOf(arguments, arguments[1]);
  if (!b) return fail(b.error());
  if (divides && amountOf(*b) == 0) return arguments.failure("division by zero");
  const std::optional<Operand> result = combine(*a, *b);
  if (!result) {
    return arguments.failure(fmt::format("{} and {} cannot be combined", plainText(arguments[0]),
                                         plainText(arguments[1])));
  }
  if (!std::isfinite(amountOf(*result))) return arguments.failure("the result is not a number");
  return written(*result);
}

Result<json::value> add(Args all, const Scope&) {
  return combined(Arguments("add", all), false,
                  [](const auto& a, const auto& b) { return sumOf(a, b, 1); });
}
Result<json::value> subtract(Args all, const Scope&) {
  return combined(Arguments("subtract", all), false,
                  [](const auto& a, const auto& b) { return sumOf(a, b, -1); });
}
Result<json::value> multiply(Args all, const Scope&) {
  return combined(Arguments("multiply", all), false, productOf);
}
Result<json::value> divide(Args all, const Scope&) {
  return combined(Arguments("divide", all), true, quotientOf);
}
Result<json::value> modulo(Args all, const Scope&) {
  return combined(Arguments("modulo", all), true, remainderOf);
}

Result<json::value> sum(Args all, const Scope&) {
  const Arguments arguments("sum", all);
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  std::optional<Operand> total;
  for (const auto& item : **array) {
    const auto operand = operandOf(arguments, item);
    if (!operand) return fail(operand.error());
    total = total ? sumOf(*total, *operand, 1) : *operand;
    if (!total) return arguments.failure("numbers, quantities and durations cannot be combined");
  }
  return total ? written(*total) : json::value(0);
}

// Our extension: -1, 0 or 1 for two quantities by amount, so that '1Gi' and '1024Mi' are equal.
Result<json::value> compareQuantities(Args all, const Scope&) {
  const Arguments arguments("x_quantity_compare", all);
  const auto a = Quantity::parse(plainText(arguments[0]));
  if (!a) return arguments.wrong(0, "a quantity");
  const auto b = Quantity::parse(plainText(arguments[1]));
  if (!b) return arguments.wrong(1, "a quantity");
  return json::value(*a < *b ? -1 : *a == *b ? 0 : 1);
}

constexpr FunctionEntry kMathFunctions[] = {
    {"abs", 1, 1, abs},       {"add", 2, 2, add},
    {"avg", 1, 1, avg},       {"ceil", 1, 1, ceil},
    {"divide", 2, 2, divide}, {"floor", 1, 1, floor},
    {"modulo", 2, 2, modulo}, {"multiply", 2, 2, multiply},
    {"round", 2, 2, round},   {"subtract", 2, 2, subtract},
    {"sum", 1, 1, sum},       {"x_quantity_compare", 2, 2, compareQuantities},
};

}  // namespace

std::span<const FunctionEntry> mathFunctions() {
  return kMathFunctions;
}

}  // namespace koord::scenario::jmespath
