#include "base/quantity.h"
#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

// An amount is mantissa * 10^scale with a 64-bit mantissa, and in the rare case that this is not
// enough a big integer in place of the mantissa, shared between copies. A real cluster never leaves
// the first form: parsing, adding and comparing are then a few integer instructions, with 128 bits
// in between for products, and no allocation. The second form is there to be right where Go's
// inf.Dec is, not to be fast.
//
// Binary suffixes are multiplied out when the text is read ("1Ki" is 1024 * 10^0), so that there is
// one arithmetic; the format only says how to print. Printing in BinarySI takes out factors of
// 1024, in DecimalSI factors of 1000, and gives the shortest text with a whole number in front of
// the suffix: the canonical form that the API stores.
//
// Rounding is away from zero everywhere: at nine digits after the point (nano), and in conversions
// to integers. A pod that requests 0.1 m of CPU must not count as a pod without a request.
//
// Adding brings both to the smaller scale; the result takes the format of the left side unless that
// is zero. Rules: k8s.io/apimachinery/pkg/api/resource, of which tests/data/vectors has recorded
// outputs.

namespace koord {

using boost::multiprecision::cpp_int;

struct Quantity::Big {
  cpp_int number;
};

namespace {

using Format = Quantity::Format;
using Wide = __int128;  // holds any int64 times 10^19

constexpr int kNano = -9;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr int kMaxWideShift = 19;

constexpr auto kPowersOfTen = [] {
  std::array<std::uint64_t, kMaxWideShift + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

cpp_int bigPowerOfTen(std::int64_t exponent) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent));
}

bool fits64(Wide number) {
  return number >= kMin && number <= kMax;
}
bool fits64(const cpp_int& number) {
  return number >= kMin && number <= kMax;
}

std::uint64_t magnitude(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

std::int64_t saturated(bool negative) {
  return negative ? kMin : kMax;
}

// number / divisor, rounded away from zero. The divisor is positive.
template <class Number>
Number divideUp(const Number& number, const Number& divisor) {
  Number quotient = number / divisor;
  if (quotient * divisor != number) quotient += number < 0 ? -1 : 1;
  return quotient;
}

struct Suffix {
  Format format = Format::DecimalSI;
  int power = 0;  // of ten, or of two for BinarySI
};

std::optional<int> decimalPower(char letter) {
  switch (letter) {
    case 'n':
      return -9;
    case 'u':
      return -6;
    case 'm':
      return -3;
    case 'k':
      return 3;
    case 'M':
      return 6;
    case 'G':
      return 9;
    case 'T':
      return 12;
    case 'P':
      return 15;
    case 'E':
      return 18;
    default:
      return std::nullopt;
  }
}

std::optional<int> binaryPower(char letter) {
  constexpr std::string_view kLetters = "KMGTPE";
  const std::size_t index = kLetters.find(letter);
  if (index == std::string_view::npos) return std::nullopt;
  return 10 * static_cast<int>(index + 1);
}

// What follows the 'e' of an exponent. Exponents too small to matter are all the same.
std::optional<int> exponentPower(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t power = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, power);
  if (ec != std::errc() || stop != end) return std::nullopt;
  constexpr std::uint64_t kLimit = 2 * Quantity::kMaxExponent;
  const auto held = static_cast<int>(std::min(power, kLimit));
  return negative ? -held : held;
}

std::optional<Suffix> parseSuffix(std::string_view text) {
  if (text.empty()) return Suffix{};
  if (text.size() == 1) {
    const auto power = decimalPower(text[0]);
    if (!power) return std::nullopt;
    return Suffix{Format::DecimalSI, *power};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const auto power = binaryPower(text[0]);
    if (!power) return std::nullopt;
    return Suffix{Format::BinarySI, *power};
  }
  if (text[0] == 'e' || text[0] == 'E') {
    const auto power = exponentPower(text.substr(1));
    if (!power) return std::nullopt;
    return Suffix{Format::DecimalExponent, *power};
  }
  return std::nullopt;
}

// The pieces of a quantity's text: [sign] digits [. digits] [suffix].
struct Scanned {
  bool negative = false;
  bool small = true;         // all digits are in `digits`
  std::uint64_t digits = 0;  // without the point; below 2^63
  int fractionDigits = 0;
  std::string_view number;  // digits and point
  std::string_view suffix;
};

Scanned scan(std::string_view text) {
  Scanned result;
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at != end && (*at == '+' || *at == '-')) result.negative = *at++ == '-';
  const char* const begin = at;
  bool point = false;
  for (; at != end; ++at) {
    const unsigned digit = static_cast<unsigned char>(*at) - unsigned{'0'};
    if (digit <= 9) {
      if (result.digits > (static_cast<std::uint64_t>(kMax) - 9) / 10) result.small = false;
      result.digits = result.digits * 10 + digit;
      result.fractionDigits += point;
    } else if (*at == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  result.number = {begin, static_cast<std::size_t>(at - begin)};
  result.suffix = {at, static_cast<std::size_t>(end - at)};
  return result;
}

// The suffix has the characters and the order that some suffix could have; Kubernetes tells this
// kind of mistake from a suffix that merely does not exist.
bool looksLikeSuffix(std::string_view text) {
  const std::size_t letters = std::min(text.find_first_not_of("eEinumkKMGTP"), text.size());
  std::string_view rest = text.substr(letters);
  if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
  return rest.find_first_not_of("0123456789") == std::string_view::npos;
}

std::unexpected<Error> parseError(std::string_view text, std::string_view why) {
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a quantity: {}", shortened(text, 64), why));
}

std::unexpected<Error> badSuffix(std::string_view text, const Scanned& scanned) {
  if (scanned.number.empty() || !looksLikeSuffix(scanned.suffix)) {
    return parseError(text,
                      "quantities must match the regular expression "
                      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return parseError(
      text, fmt::format("unable to parse quantity's suffix: \"{}\" is none of n, u, m, k, M, "
                        "G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent like e3",
                        shortened(scanned.suffix, 64)));
}

// digits * 10^scale in decimal form. digits has no leading zero.
std::string decimalText(bool negative, std::string_view digits, int scale, Format format) {
  while (digits.ends_with('0')) {
    digits.remove_suffix(1);
    ++scale;
  }
  int exponent = scale - ((scale % 3) + 3) % 3;
  if (format != Format::DecimalExponent) exponent = std::min(exponent, 18);

  std::string text;
  const auto zeros = static_cast<std::size_t>(scale - exponent);
  if (negative) text += '-';
  text += digits;
  text.append(zeros, '0');
  if (exponent == 0) return text;
  if (format == Format::DecimalExponent) {
    text += 'e';
    text += std::to_string(exponent);
  } else {
    text += "num kMGTPE"[exponent / 3 + 3];
  }
  return text;
}

std::string binaryText(bool negative, std::string_view digits, int power1024) {
  std::string text;
  if (negative) text += '-';
  text += digits;
  if (power1024 > 0) {
    text += "KMGTPE"[power1024 - 1];
    text += 'i';
  }
  return text;
}

struct DigitBuffer {
  explicit DigitBuffer(std::uint64_t number)
      : end(std::to_chars(chars.begin(), chars.end(), number).ptr) {}
  std::string_view view() const {
    return {chars.data(), static_cast<std::size_t>(end - chars.data())};
  }
  std::array<char, 20> chars;
  char* end;
};

}  // namespace

Quantity Quantity::of(std::int64_t value, Format format) {
  return ofScaled(value, 0, format);
}

Quantity Quantity::ofMilli(std::int64_t milli, Format format) {
  return ofScaled(milli, -3, format);
}

Quantity Quantity::ofScaled(std::int64_t value, int scale10, Format format) {
  Quantity result;
  result.mantissa_ = value;
  result.scale_ = scale10;
  result.format_ = format;
  if (scale10 < kNano) result.roundUp(kNano);
  return result;
}

Quantity Quantity::fromBig(Big amount, int scale10, Format format) {
  Quantity result;
  result.format_ = format;
  cpp_int& number = amount.number;
  if (number == 0) return result;
  if (scale10 < kNano) {
    number = divideUp(number, bigPowerOfTen(kNano - scale10));
    scale10 = kNano;
  }
  while (!fits64(number)) {
    cpp_int quotient;
    cpp_int remainder;
    divide_qr(number, cpp_int(10), quotient, remainder);
    if (remainder != 0) break;
    number = std::move(quotient);
    ++scale10;
  }
  result.scale_ = scale10;
  if (fits64(number)) {
    result.mantissa_ = number.convert_to<std::int64_t>();
  } else {
    result.big_ = std::make_shared<const Big>(std::move(amount));
  }
  return result;
}

Quantity::Big Quantity::bigMantissa() const {
  return big_ ? *big_ : Big{cpp_int(mantissa_)};
}

Result<Quantity> Quantity::parse(std::string_view text) {
  const Scanned scanned = scan(text);
  const std::optional<Suffix> suffix = parseSuffix(scanned.suffix);
  if (!suffix || text.empty()) [[unlikely]]
    return badSuffix(text, scanned);
  if (text.size() > kMaxText) [[unlikely]] {
    return parseError(text, fmt::format("it is longer than {} characters", kMaxText));
  }

  Quantity result;
  result.format_ = suffix->format;
  if (suffix->format != Format::BinarySI) {
    if (suffix->power > kMaxExponent) [[unlikely]] {
      return parseError(text, fmt::format("its exponent is above {}", kMaxExponent));
    }
    if (scanned.small) [[likely]] {
      const auto digits = static_cast<std::int64_t>(scanned.digits);
      result.mantissa_ = scanned.negative ? -digits : digits;
      result.scale_ = digits == 0 ? 0 : suffix->power - scanned.fractionDigits;
      if (result.scale_ < kNano) result.roundUp(kNano);
      return result;
    }
  } else if (scanned.small && scanned.fractionDigits == 0) {
    const auto digits = static_cast<std::int64_t>(scanned.digits);
    const std::int64_t amount = digits > kMax >> suffix->power ? kMax : digits << suffix->power;
    result.mantissa_ = scanned.negative ? -amount : amount;
    return result;
  } else if (scanned.small && scanned.fractionDigits < kMaxWideShift) {
    const Wide scaled = Wide{scanned.digits} << suffix->power;
    const Wide divisor = kPowersOfTen[static_cast<std::size_t>(scanned.fractionDigits)];
    if (const Wide amount = scaled / divisor; amount * divisor == scaled && fits64(amount)) {
      const auto integer = static_cast<std::int64_t>(amount);
      result.mantissa_ = scanned.negative ? -integer : integer;
      return result;
    }
  }

  std::string allDigits(scanned.number);
  std::erase(allDigits, '.');
  allDigits.erase(0, std::min(allDigits.find_first_not_of('0'), allDigits.size()));
  Big amount{cpp_int(allDigits.empty() ? "0" : allDigits)};
  int scale = -scanned.fractionDigits;
  if (suffix->format != Format::BinarySI) {
    scale += suffix->power;
  } else {
    amount.number <<= suffix->power;
  }
  result = fromBig(std::move(amount), scale, suffix->format);
  if (suffix->format == Format::BinarySI && !result.isZero()) {
    if (result > of(kMax)) result = of(kMax, Format::BinarySI);
    // An amount below one has no binary form; Kubernetes turns to the decimal format for good.
    if (result < of(1)) result.format_ = Format::DecimalSI;
  }
  if (scanned.negative) result.neg();
  return result;
}

std::string Quantity::toString() const {
  if (isZero()) return "0";
  const bool negative = sign() < 0;
  if (!big_) {
    if (format_ == Format::BinarySI) {
      if (const auto integer = asInt64(); integer && (*integer >= 1024 || *integer <= -1024)) {
        const std::uint64_t whole = magnitude(*integer);
        const int power = std::min(std::countr_zero(whole) / 10, 6);
        return binaryText(negative, DigitBuffer(whole >> (10 * power)).view(), power);
      }
    }
    if (format_ != Format::BinarySI || scale_ <= 0) {
      return decimalText(negative, DigitBuffer(magnitude(mantissa_)).view(), scale_, format_);
    }
  }

  cpp_int number = abs(bigMantissa().number);
  if (format_ == Format::BinarySI) {
    cpp_int whole = number;
    bool integer = true;
    if (scale_ >= 0) {
      whole *= bigPowerOfTen(scale_);
    } else {
      whole /= bigPowerOfTen(-scale_);
      integer = whole * bigPowerOfTen(-scale_) == number;
    }
    if (integer && whole >= 1024) {
      const int power = std::min(static_cast<int>(lsb(whole)) / 10, 6);
      whole >>= 10 * power;
      return binaryText(negative, whole.str(), power);
    }
  }
  return decimalText(negative, number.str(), scale_, format_);
}

std::int64_t Quantity::scaledValue(int scale10) const {
  const std::int64_t shift = std::int64_t{scale_} - scale10;
  if (!big_) {
    if (shift == 0 || mantissa_ == 0) return mantissa_;
    if (shift > 0) {
      if (shift > kMaxWideShift) return saturated(mantissa_ < 0);
      const Wide scaled = Wide{mantissa_} * kPowersOfTen[static_cast<std::size_t>(shift)];
      return fits64(scaled) ? static_cast<std::int64_t>(scaled) : saturated(mantissa_ < 0);
    }
    if (shift < -18) return mantissa_ < 0 ? -1 : 1;
    return divideUp(mantissa_,
                    static_cast<std::int64_t>(kPowersOfTen[static_cast<std::size_t>(-shift)]));
  }
  const bool negative = sign() < 0;
  if (shift >= 0) return saturated(negative);
  // 10^shift has more than 3 * shift bits.
  if (3 * -shift > static_cast<std::int64_t>(msb(abs(big_->number)) + 1)) return negative ? -1 : 1;
  const cpp_int scaled = divideUp(big_->number, bigPowerOfTen(-shift));
  return fits64(scaled) ? scaled.convert_to<std::int64_t>() : saturated(negative);
}

std::optional<std::int64_t> Quantity::asInt64() const {
  if (!big_ && scale_ == 0) return mantissa_;
  const std::int64_t integer = value();
  if (*this != of(integer)) return std::nullopt;
  return integer;
}

double Quantity::toDouble() const {
  const double number = big_ ? big_->number.convert_to<double>() : static_cast<double>(mantissa_);
  return scale_ < 0 ? number / std::pow(10.0, -scale_) : number * std::pow(10.0, scale_);
}

int Quantity::sign() const {
  if (big_) return big_->number.sign();
  return (mantissa_ > 0) - (mantissa_ < 0);
}

void Quantity::add(const Quantity& other) {
  addSigned(other, false);
}

void Quantity::sub(const Quantity& other) {
  addSigned(other, true);
}

void Quantity::addSigned(const Quantity& other, bool negated) {
  const Format format = isZero() ? other.format_ : format_;
  format_ = format;
  if (other.isZero()) return;
  if (isZero()) scale_ = other.scale_;

  const int shift = scale_ - other.scale_;
  const int scale = std::min(scale_, other.scale_);
  if (!big_ && !other.big_ && std::abs(shift) <= kMaxWideShift) {
    Wide left = mantissa_;
    Wide right = negated ? -Wide{other.mantissa_} : Wide{other.mantissa_};
    (shift > 0 ? left : right) *= kPowersOfTen[static_cast<std::size_t>(std::abs(shift))];
    Wide sum = 0;
    if (!__builtin_add_overflow(left, right, &sum) && fits64(sum)) {
      mantissa_ = static_cast<std::int64_t>(sum);
      scale_ = mantissa_ == 0 ? 0 : scale;
      return;
    }
  }
  cpp_int left = bigMantissa().number;
  cpp_int right = other.bigMantissa().number;
  (shift > 0 ? left : right) *= bigPowerOfTen(std::abs(shift));
  if (negated) right = -right;
  *this = fromBig(Big{left + right}, scale, format);
}

void Quantity::neg() {
  if (!big_ && mantissa_ != kMin) {
    mantissa_ = -mantissa_;
  } else {
    *this = fromBig(Big{-bigMantissa().number}, scale_, format_);
  }
}

bool Quantity::mul(std::int64_t factor) {
  if (std::int64_t product = 0; !big_ && !__builtin_mul_overflow(mantissa_, factor, &product)) {
    mantissa_ = product;
  } else {
    *this = fromBig(Big{bigMantissa().number * factor}, scale_, format_);
  }
  return !big_;
}

bool Quantity::roundUp(int scale10) {
  if (scale10 <= scale_ || isZero()) return true;
  Quantity rounded;
  if (!big_) {
    rounded = ofScaled(scaledValue(scale10), std::max(scale10, kNano), format_);
  } else {
    const cpp_int divisor = bigPowerOfTen(scale10 - scale_);
    rounded = fromBig(Big{divideUp(big_->number, divisor)}, scale10, format_);
  }
  const bool exact = rounded == *this;
  *this = std::move(rounded);
  return exact;
}

std::strong_ordering Quantity::compare(const Quantity& a, const Quantity& b) {
  const int signA = a.sign();
  if (const int signB = b.sign(); signA != signB || signA == 0) return signA <=> signB;
  const int shift = a.scale_ - b.scale_;
  if (!a.big_ && !b.big_) {
    // Beyond this shift, the one of higher scale is farther from zero.
    if (shift > kMaxWideShift) return signA <=> 0;
    if (shift < -kMaxWideShift) return 0 <=> signA;
    Wide left = a.mantissa_;
    Wide right = b.mantissa_;
    (shift > 0 ? left : right) *= kPowersOfTen[static_cast<std::size_t>(std::abs(shift))];
    return left <=> right;
  }
  cpp_int left = a.bigMantissa().number;
  cpp_int right = b.bigMantissa().number;
  (shift > 0 ? left : right) *= bigPowerOfTen(std::abs(shift));
  return left.compare(right) <=> 0;
}

}  // namespace koord
