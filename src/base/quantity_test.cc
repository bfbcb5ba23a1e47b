#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace koord {
namespace {

using Format = Quantity::Format;
using ::testing::HasSubstr;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

Quantity quantity(std::string_view text) {
  auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(Quantity());
}

TEST(Quantity, StaysSmall) {
  EXPECT_LE(sizeof(Quantity), 32u);
}

struct Written {
  std::string_view text;
  std::string_view canonical;
  std::int64_t value;
  std::int64_t milli;
};

TEST(Quantity, PrintsItsCanonicalFormAndConvertsRoundingUp) {
  for (const Written& row : std::initializer_list<Written>{
           {"0", "0", 0, 0},
           {"1.5", "1500m", 2, 1500},
           {"1.500", "1500m", 2, 1500},
           {"+5", "5", 5, 5000},
           {".5", "500m", 1, 500},
           {"5.", "5", 5, 5000},
           {"0.1m", "100u", 1, 1},
           {"1000m", "1", 1, 1000},
           {"1500k", "1500k", 1500000, 1500000000},
           {"100000", "100k", 100000, 100000000},
           {"1.5Gi", "1536Mi", 1610612736, 1610612736000},
           {"1024Ki", "1Mi", 1048576, 1048576000},
           {"1.5Ki", "1536", 1536, 1536000},
           {"0.5Ki", "512", 512, 512000},
           {"1000Ki", "1000Ki", 1024000, 1024000000},
           {"12e6", "12e6", 12000000, 12000000000},
           {"1E3", "1e3", 1000, 1000000},
           {"1E", "1E", 1000000000000000000, kMax},
           {"-0.5", "-500m", -1, -500},
           {"1.0000000001", "1000000001n", 2, 1001},
           {"0.0001Ki", "102400u", 1, 103},
           {"-1.3Ki", "-1331200m", -1332, -1331200},
           {"18Ei", "9223372036854775807", kMax, kMax},
           {"9223372036854775808", "9223372036854775808", kMax, kMax},
           {"-9223372036854775809", "-9223372036854775809", kMin, kMin},
           {"123456789012345678901234567890", "123456789012345678901234567890", kMax, kMax},
           {"1000000000000000T", "1000000000E", kMax, kMax},
           {"1e-5000", "1e-9", 1, 1},
       }) {
    const Quantity parsed = quantity(row.text);
    EXPECT_EQ(parsed.toString(), row.canonical) << row.text;
    EXPECT_EQ(parsed.value(), row.value) << row.text;
    EXPECT_EQ(parsed.milliValue(), row.milli) << row.text;
    const Quantity again = quantity(parsed.toString());
    EXPECT_EQ(again, parsed) << row.text;
    EXPECT_EQ(again.toString(), row.canonical) << row.text;
  }
}

TEST(Quantity, RefusesWhatKubernetesRefusesAndSaysWhy) {
  for (std::string_view text : {"", " 1", "1 ", "1 Gi", "1.2.3", "1e+-5", "1e-+5", "1e++5", "--1",
                                "0x10", "1,000", "1_000", "NaN", "1e1.5", "1\n", "Mi1", "1e5m"}) {
    const auto parsed = Quantity::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("regular expression")) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::BadRequest);
  }
  for (std::string_view text : {"1K", "1ki", "1mi", "1e", "1e+", "1Em", "1mm"}) {
    const auto parsed = Quantity::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("unable to parse quantity's suffix")) << text;
  }
}

TEST(Quantity, RefusesAbsurdLengthsAndExponents) {
  EXPECT_TRUE(Quantity::parse("1e10000"));
  EXPECT_THAT(Quantity::parse("1e10001").error().message, HasSubstr("exponent is above 10000"));
  EXPECT_FALSE(Quantity::parse("1e2147483647"));
  EXPECT_FALSE(Quantity::parse("1e99999999999999999999"));
  EXPECT_TRUE(Quantity::parse(std::string(4096, '9')));
  EXPECT_THAT(Quantity::parse(std::string(4097, '9')).error().message,
              HasSubstr("longer than 4096"));
}

TEST(Quantity, KeepsTheFormatOfTheLeftOperandUnlessItIsZero) {
  Quantity sum = quantity("1Gi");
  sum.add(quantity("1k"));
  EXPECT_EQ(sum.format(), Format::BinarySI);
  EXPECT_EQ(sum.toString(), "1073742824");
  sum.sub(quantity("1000"));
  EXPECT_EQ(sum.toString(), "1Gi");

  Quantity zero;
  zero.add(quantity("1Gi"));
  EXPECT_EQ(zero.toString(), "1Gi");
  Quantity negative;
  negative.sub(quantity("2e3"));
  EXPECT_EQ(negative.toString(), "-2e3");
}

TEST(Quantity, AddsAndSubtractsExactlyBeyond64Bits) {
  Quantity sum = Quantity::of(kMax);
  sum.add(Quantity::ofScaled(1, -9));
  EXPECT_EQ(sum.toString(), "9223372036854775807000000001n");
  EXPECT_EQ(sum.value(), kMax);
  sum.sub(Quantity::ofScaled(1, -9));
  EXPECT_EQ(sum, Quantity::of(kMax));
  EXPECT_EQ(sum.asInt64(), kMax);

  Quantity far = quantity("1e100");
  far.add(Quantity::of(1));
  far.sub(quantity("1e100"));
  EXPECT_EQ(far, Quantity::of(1));
  far.sub(Quantity::of(1));
  EXPECT_TRUE(far.isZero());
  EXPECT_EQ(far.sign(), 0);
}

TEST(Quantity, NegatesTheSmallestInteger) {
  Quantity smallest = Quantity::of(kMin);
  EXPECT_EQ(smallest.toString(), "-9223372036854775808");
  smallest.neg();
  EXPECT_EQ(smallest.toString(), "9223372036854775808");
  EXPECT_EQ(smallest.value(), kMax);
  smallest.neg();
  EXPECT_EQ(smallest.value(), kMin);
}

TEST(Quantity, MultipliesExactlyAndTellsWhenItNoLongerFits) {
  Quantity product = quantity("200m");
  EXPECT_TRUE(product.mul(7));
  EXPECT_EQ(product.toString(), "1400m");
  product = quantity("9223372036854775807");
  EXPECT_FALSE(product.mul(3));
  EXPECT_EQ(product.toString(), "27670116110564327421");
  product = quantity("9223372036854775807");
  EXPECT_FALSE(product.mul(kMin));
  EXPECT_TRUE(product.mul(0));
  EXPECT_TRUE(product.isZero());
  product = quantity("1E");
  EXPECT_TRUE(product.mul(100));
  EXPECT_EQ(product.toString(), "100E");
}

TEST(Quantity, RoundsAwayFromZero) {
  Quantity amount = quantity("1234m");
  EXPECT_TRUE(amount.roundUp(-3));
  EXPECT_FALSE(amount.roundUp(0));
  EXPECT_EQ(amount.toString(), "2");
  amount = quantity("-1234m");
  EXPECT_FALSE(amount.roundUp(0));
  EXPECT_EQ(amount.toString(), "-2");
  amount = quantity("123456789012345678901");
  EXPECT_FALSE(amount.roundUp(3));
  EXPECT_EQ(amount.toString(), "123456789012345679k");
  amount = quantity("1n");
  EXPECT_FALSE(amount.roundUp(30));
  EXPECT_EQ(amount, quantity("1e30"));
}

TEST(Quantity, ScalesWithSaturation) {
  EXPECT_EQ(quantity("1500m").scaledValue(0), 2);
  EXPECT_EQ(quantity("1500").scaledValue(3), 2);
  EXPECT_EQ(quantity("-1500").scaledValue(3), -2);
  EXPECT_EQ(quantity("1").scaledValue(40), 1);
  EXPECT_EQ(quantity("-1").scaledValue(40), -1);
  EXPECT_EQ(quantity("10E").scaledValue(-9), kMax);
  EXPECT_EQ(quantity("-10E").scaledValue(-9), kMin);
  EXPECT_EQ(quantity("99999999999999999999").scaledValue(1), kMax);
  EXPECT_EQ(quantity("99999999999999999999").scaledValue(2), 1000000000000000000);
  EXPECT_EQ(quantity("99999999999999999999").scaledValue(60), 1);
  EXPECT_EQ(quantity("1e5000").value(), kMax);
}

TEST(Quantity, IsAnIntegerOnlyWhenNothingIsLost) {
  EXPECT_EQ(quantity("2k").asInt64(), 2000);
  EXPECT_EQ(quantity("3000m").asInt64(), 3);
  EXPECT_EQ(quantity("3001m").asInt64(), std::nullopt);
  EXPECT_EQ(quantity("10E").asInt64(), std::nullopt);
}

TEST(Quantity, ComparesByNumber) {
  EXPECT_EQ(quantity("1000m"), quantity("1"));
  EXPECT_EQ(quantity("1Ki"), quantity("1024"));
  EXPECT_LT(quantity("999m"), quantity("1"));
  EXPECT_GT(quantity("1e30"), quantity("1n"));
  EXPECT_LT(quantity("-1e30"), quantity("-1n"));
  EXPECT_LT(quantity("-1"), quantity("0"));
  EXPECT_GT(quantity("9223372036854775808"), quantity("9223372036854775807"));
  EXPECT_LT(quantity("1e18"), quantity("1000000000000000000000000001n"));
  EXPECT_NE(quantity("1e19"), quantity("10000000000000000001"));
}

TEST(Quantity, MakesQuantitiesFromNumbers) {
  EXPECT_EQ(Quantity::of(2048, Format::BinarySI).toString(), "2Ki");
  EXPECT_EQ(Quantity::ofMilli(1500).toString(), "1500m");
  EXPECT_EQ(Quantity::ofMilli(2000).toString(), "2");
  EXPECT_EQ(Quantity::ofScaled(5, 6, Format::DecimalExponent).toString(), "5e6");
  EXPECT_EQ(Quantity::ofScaled(-5, -12).toString(), "-1n");
  EXPECT_EQ(Quantity::ofScaled(1, 20, Format::BinarySI).toString(), "95367431640625Mi");
  EXPECT_EQ(Quantity().toString(), "0");
  EXPECT_DOUBLE_EQ(quantity("250m").toDouble(), 0.25);
  EXPECT_DOUBLE_EQ(quantity("1e30").toDouble(), 1e30);
}

TEST(Quantity, LeavesCopiesOfAHugeAmountAlone) {
  const Quantity huge = quantity(std::string(4000, '7'));
  Quantity copy = huge;
  EXPECT_EQ(copy, huge);
  copy.add(Quantity::of(1));
  EXPECT_GT(copy, huge);
}

}  // namespace
}  // namespace koord
