#include "base/quantity.h"

#include <fmt/format.h>

#include "golden/checkers.h"
#include "golden/quantity_oracle.h"

namespace koord::golden {
namespace {

std::int64_t number(const json::object& testCase, std::string_view name) {
  const json::value& value = testCase.at(name);
  if (value.is_string()) return std::stoll(std::string(value.get_string()));
  return value.to_number<std::int64_t>();
}

std::string_view formatName(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::BinarySI:
      return "BinarySI";
    case Quantity::Format::DecimalExponent:
      return "DecimalExponent";
    case Quantity::Format::DecimalSI:
      break;
  }
  return "DecimalSI";
}

Quantity::Format formatOf(std::string_view name) {
  using Format = Quantity::Format;
  for (const Format format : {Format::BinarySI, Format::DecimalExponent}) {
    if (name == formatName(format)) return format;
  }
  return Format::DecimalSI;
}

json::object parseQuantity(const json::object& testCase) {
  const auto parsed = Quantity::parse(textOf(testCase, "in"));
  if (!parsed) return {{"valid", false}};
  const Quantity& quantity = *parsed;
  const std::string canonical = quantity.toString();
  json::object result{
      {"valid", true},
      {"string", canonical},
      {"canonical", canonical},
      {"format", formatName(quantity.format())},
      {"sign", quantity.sign()},
      {"isZero", quantity.isZero()},
      {"value", std::to_string(quantity.value())},
      {"milliValue", std::to_string(quantity.milliValue())},
      {"scaledNano", std::to_string(quantity.scaledValue(-9))},
      {"scaledMicro", std::to_string(quantity.scaledValue(-6))},
      {"scaledKilo", std::to_string(quantity.scaledValue(3))},
      {"scaledMega", std::to_string(quantity.scaledValue(6))},
      {"asInt64Ok", quantity.asInt64().has_value()},
      {"roundTripEqual", Quantity::parse(canonical) == quantity},
  };
  if (const auto integer = quantity.asInt64()) result["asInt64"] = std::to_string(*integer);
  return result;
}

Result<json::object> arith(const json::object& testCase) {
  const auto a = Quantity::parse(textOf(testCase, "a"));
  const auto b = Quantity::parse(textOf(testCase, "b"));
  if (!a) return fail(a.error());
  if (!b) return fail(b.error());
  Quantity sum = *a;
  sum.add(*b);
  Quantity difference = *a;
  difference.sub(*b);
  Quantity negated = *a;
  negated.neg();
  Quantity product = *a;
  const bool exact = product.mul(number(testCase, "mulBy"));
  const auto order = *a <=> *b;
  return json::object{
      {"add", sum.toString()},
      {"sub", difference.toString()},
      {"neg", negated.toString()},
      {"mul", product.toString()},
      {"mulExact", exact},
      {"equal", *a == *b},
      {"cmp", order < 0    ? -1
              : order == 0 ? 0
                           : 1},
  };
}

json::object make(const json::object& testCase) {
  const std::int64_t value = number(testCase, "v");
  const Quantity::Format format = formatOf(textOf(testCase, "format"));
  const Quantity milli = Quantity::ofMilli(value, format);

  Quantity rounded = milli;
  const auto roundScale =
      static_cast<int>(number(testCase.at("roundUpMilliQuantity").as_object(), "scale"));
  const bool exact = rounded.roundUp(roundScale);

  const json::object& scaledCase = testCase.at("scaled").as_object();
  const auto scale = static_cast<int>(number(scaledCase, "scale"));
  const Quantity scaled = Quantity::ofScaled(number(scaledCase, "v"), scale);
  return {
      {"quantity", Quantity::of(value, format).toString()},
      {"milliQuantity", milli.toString()},
      {"milliQuantityValue", std::to_string(milli.value())},
      {"roundUpMilliQuantity",
       {{"exact", exact}, {"scale", roundScale}, {"string", rounded.toString()}}},
      {"scaled", {{"scale", scale}, {"string", scaled.toString()}, {"v", scaledCase.at("v")}}},
  };
}

Result<json::object> evaluateQuantity(const json::object& testCase) {
  const std::string_view op = textOf(testCase, "op");
  if (op == "parse") return parseQuantity(testCase);
  if (op == "arith") return arith(testCase);
  if (op == "new") return make(testCase);
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker quantityChecker() {
  return {
      .file = "quantity",
      .inputs = {"op", "in", "a", "b", "mulBy", "v", "format"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateQuantity; },
      .oracles = quantityOracles(),
  };
}

}  // namespace koord::golden
