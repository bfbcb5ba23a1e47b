#include "golden/quantity_oracle.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace koord::golden {
namespace {

using Format = ExactQuantity::Format;

const BigInt kMax = std::numeric_limits<std::int64_t>::max();
const BigInt kMin = std::numeric_limits<std::int64_t>::min();

BigInt tenTo(int exponent) {
  return boost::multiprecision::pow(BigInt(10), static_cast<unsigned>(exponent));
}

BigInt divideAwayFromZero(const BigInt& number, const BigInt& divisor) {
  const BigInt magnitude = (abs(number) + divisor - 1) / divisor;
  return number < 0 ? BigInt(-magnitude) : magnitude;
}

std::string_view member(const json::object& testCase, std::string_view name) {
  const json::value* value = testCase.if_contains(name);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::optional<int> scaleOfField(std::string_view field) {
  if (field == "value") return 0;
  if (field == "milliValue") return -3;
  if (field == "scaledNano") return -9;
  if (field == "scaledMicro") return -6;
  if (field == "scaledKilo") return 3;
  if (field == "scaledMega") return 6;
  return std::nullopt;
}

// The right amount of an output that is a quantity.
std::optional<ExactQuantity> amountOfField(const json::object& testCase, std::string_view field) {
  if (field == "string" || field == "canonical") return exactQuantity(member(testCase, "in"));
  ExactQuantity a = exactQuantity(member(testCase, "a"));
  const ExactQuantity b = exactQuantity(member(testCase, "b"));
  const Format sumFormat = a.nano == 0 ? b.format : a.format;
  if (field == "add") return ExactQuantity{a.nano + b.nano, sumFormat};
  if (field == "sub") return ExactQuantity{a.nano - b.nano, sumFormat};
  if (field == "neg") return ExactQuantity{-a.nano, a.format};
  if (field == "mul") {
    return ExactQuantity{a.nano * testCase.at("mulBy").to_number<std::int64_t>(), a.format};
  }
  return std::nullopt;
}

std::optional<json::value> saturated(const json::object& testCase, std::string_view field) {
  const auto scale = scaleOfField(field);
  if (!scale) return std::nullopt;
  const BigInt exact = exactScaled(exactQuantity(member(testCase, "in")), *scale);
  if (exact > kMax) return json::value(kMax.str());
  if (exact < kMin) return json::value(kMin.str());
  return std::nullopt;
}

std::optional<json::value> roundedAwayFromZero(const json::object& testCase,
                                               std::string_view field) {
  const auto scale = scaleOfField(field);
  if (!scale) return std::nullopt;
  const BigInt exact = exactScaled(exactQuantity(member(testCase, "in")), *scale);
  return json::value(std::clamp(exact, kMin, kMax).str());
}

std::optional<json::value> textWithSuffix(const json::object& testCase, std::string_view field) {
  const auto amount = amountOfField(testCase, field);
  if (!amount || abs(amount->nano) < tenTo(9 + 21)) return std::nullopt;
  return json::value(canonicalText(*amount));
}

std::optional<json::value> integerAnyway(const json::object& testCase, std::string_view field) {
  const BigInt nano = exactQuantity(member(testCase, "in")).nano;
  const BigInt integer = nano / tenTo(9);
  if (integer * tenTo(9) != nano || integer > kMax || integer < kMin) return std::nullopt;
  return field == "asInt64Ok" ? json::value(true) : json::value(integer.str());
}

std::optional<json::value> productFits(const json::object& testCase, std::string_view) {
  BigInt mantissa = amountOfField(testCase, "mul")->nano;
  while (mantissa != 0 && mantissa % 10 == 0) mantissa /= 10;
  if (mantissa > kMax || mantissa < kMin) return std::nullopt;
  return json::value(true);
}

}  // namespace

ExactQuantity exactQuantity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t numberEnd = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, numberEnd);
  const std::string suffix(text.substr(numberEnd));

  ExactQuantity result;
  int exponent = 9;
  bool fraction = false;
  for (const char c : number) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    result.nano = result.nano * 10 + (c - '0');
    exponent -= fraction;
  }
  if (suffix.ends_with('i')) {
    result.format = Format::BinarySI;
    result.nano <<= 10 * (std::string_view("KMGTPE").find(suffix[0]) + 1);
  } else if (suffix.size() > 1) {
    result.format = Format::DecimalExponent;
    exponent += std::stoi(suffix.substr(1));
  } else if (!suffix.empty()) {
    exponent += 3 * static_cast<int>(std::string_view("num kMGTPE").find(suffix[0])) - 9;
  }
  if (exponent >= 0) {
    result.nano *= tenTo(exponent);
  } else {
    result.nano = divideAwayFromZero(result.nano, tenTo(-exponent));
  }
  if (result.format == Format::BinarySI && result.nano != 0) {
    result.nano = std::min(result.nano, BigInt(kMax * tenTo(9)));
    if (result.nano < tenTo(9)) result.format = Format::DecimalSI;
  }
  if (negative) result.nano = -result.nano;
  return result;
}

std::string canonicalText(const ExactQuantity& quantity) {
  BigInt number = quantity.nano;
  if (number == 0) return "0";
  if (quantity.format == Format::BinarySI && number % tenTo(9) == 0 &&
      abs(number) >= 1024 * tenTo(9)) {
    number /= tenTo(9);
    std::size_t power = 0;
    for (; power < 6 && number % 1024 == 0; ++power) number /= 1024;
    return number.str() + (power == 0 ? "" : std::string{"KMGTPE"[power - 1], 'i'});
  }
  int exponent = -9;
  while ((quantity.format == Format::DecimalExponent || exponent < 18) && number % 1000 == 0) {
    number /= 1000;
    exponent += 3;
  }
  if (exponent == 0) return number.str();
  if (quantity.format == Format::DecimalExponent)
    return number.str() + "e" + std::to_string(exponent);
  return number.str() + "num kMGTPE"[exponent / 3 + 3];
}

BigInt exactScaled(const ExactQuantity& quantity, int scale) {
  return divideAwayFromZero(quantity.nano, tenTo(9 + scale));
}

std::vector<Oracle> quantityOracles() {
  return {
      {"saturated", saturated},
      {"rounded away from zero", roundedAwayFromZero},
      {"text with suffix", textWithSuffix},
      {"integer", integerAnyway},
      {"product fits", productFits},
  };
}

}  // namespace koord::golden
