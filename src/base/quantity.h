#pragma once

// Quantity: an amount of a resource as Kubernetes writes it ("100m", "1.5Gi", "12e6"): an exact
// decimal number with at most nine digits after the point, and its output format. Text with more
// digits is rounded away from zero, so that a non-zero request never becomes zero.
//
// Values that fit 64 bits times a power of ten (all real ones) are plain integers and never
// allocate; larger values are exact, too, and shared between copies. Conversions to integers round
// away from zero and saturate at the limits of the type. Comparison is by number: 1000m == 1, 1Ki
// == 1024.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord {

class Quantity {
 public:
  enum class Format : std::uint8_t { DecimalSI, BinarySI, DecimalExponent };

  Quantity() = default;  // 0
  static Quantity of(std::int64_t value, Format format = Format::DecimalSI);
  static Quantity ofMilli(std::int64_t milli, Format format = Format::DecimalSI);
  // value * 10^scale10
  static Quantity ofScaled(std::int64_t value, int scale10, Format format = Format::DecimalSI);
  // Accepts what Kubernetes accepts (without spaces), up to kMaxText characters and an exponent of
  // kMaxExponent. Limits binary amounts to 64 bits, as Kubernetes does.
  static Result<Quantity> parse(std::string_view text);

  // The canonical text: the same for all spellings of an amount in one format.
  std::string toString() const;

  std::int64_t value() const { return scaledValue(0); }
  std::int64_t milliValue() const { return scaledValue(-3); }
  // The amount in units of 10^scale10.
  std::int64_t scaledValue(int scale10) const;
  // The amount, if it is an integer of 64 bits.
  std::optional<std::int64_t> asInt64() const;
  double toDouble() const;

  bool isZero() const { return !big_ && mantissa_ == 0; }
  int sign() const;
  Format format() const { return format_; }

  // The result keeps this quantity's format; if this quantity is zero, it takes the other's.
  void add(const Quantity& other);
  void sub(const Quantity& other);
  void neg();
  // Returns false if the product needs more than 64 bits (times a power of ten); the product is
  // exact in any case.
  bool mul(std::int64_t factor);
  // Rounds away from zero to a multiple of 10^scale10. Returns true if the amount did not change.
  bool roundUp(int scale10);

  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    if (!a.big_ && !b.big_ && a.scale_ == b.scale_) return a.mantissa_ <=> b.mantissa_;
    return compare(a, b);
  }
  friend bool operator==(const Quantity& a, const Quantity& b) { return (a <=> b) == 0; }

  static constexpr std::size_t kMaxText = 4096;
  static constexpr int kMaxExponent = 10'000;

 private:
  struct Big;  // an integer of any size
  static std::strong_ordering compare(const Quantity& a, const Quantity& b);
  static Quantity fromBig(Big amount, int scale10, Format format);
  Big bigMantissa() const;
  void addSigned(const Quantity& other, bool negated);

  // amount = (big_ ? *big_ : mantissa_) * 10^scale_, with -9 <= scale_. big_ is set only if the
  // amount does not fit mantissa_, which is then 0.
  std::int64_t mantissa_ = 0;
  std::shared_ptr<const Big> big_;
  std::int32_t scale_ = 0;
  Format format_ = Format::DecimalSI;
};

}  // namespace koord
