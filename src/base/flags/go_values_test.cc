#include "base/flags/go_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace koord::flags {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();

TEST(GoValuesTest, WholeNumbersHaveGosBasesAndUnderscores) {
  const std::pair<const char*, std::int64_t> rows[] = {{"0", 0},
                                                       {"-7", -7},
                                                       {"+7", 7},
                                                       {"0x1F", 31},
                                                       {"-0x10", -16},
                                                       {"0b101", 5},
                                                       {"0o17", 15},
                                                       {"017", 15},
                                                       {"1_000", 1000},
                                                       {"0x_ff", 255},
                                                       {"00", 0},
                                                       {"-9223372036854775808", kLeast},
                                                       {"9223372036854775807", kGreatest}};
  for (const auto& [text, value] : rows) {
    const auto parsed = parseInteger(text, kLeast, kGreatest);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const char* bad :
       {"", "-", "+-1", "--1", "1.5", " 1", "1 ", "0x", "08", "1__0", "_1", "1_", "0b2", "x"})
    EXPECT_THAT(parseInteger(bad, kLeast, kGreatest).error().message, HasSubstr("invalid syntax"))
        << bad;
  for (const char* far : {"9223372036854775808", "-9223372036854775809"})
    EXPECT_THAT(parseInteger(far, kLeast, kGreatest).error().message,
                HasSubstr("value out of range"));
}

TEST(GoValuesTest, RealNumbersAreWholeTextsOnly) {
  EXPECT_EQ(parseReal("+1.5").value(), 1.5);
  EXPECT_EQ(parseReal("1e3").value(), 1000);
  for (const char* bad : {"", "+-1", "1,5", "1.5x", "one"}) EXPECT_FALSE(parseReal(bad)) << bad;
}

TEST(GoValuesTest, ListsAreOneLineOfCsv) {
  EXPECT_THAT(parseList("a,b").value(), ElementsAre("a", "b"));
  EXPECT_THAT(parseList("a,").value(), ElementsAre("a", ""));
  EXPECT_THAT(parseList(R"("a,b","c ""d""",e)").value(), ElementsAre("a,b", "c \"d\"", "e"));
  EXPECT_THAT(parseList("").value(), ElementsAre());
  for (const char* bad : {"\"a", "a\"b", "\"a\"b", "\""}) EXPECT_FALSE(parseList(bad)) << bad;
}

TEST(GoValuesTest, QuotedTextIsReadable) {
  EXPECT_EQ(quoted("a \"b\"\n\\"), R"("a \"b\"\n\\")");
  EXPECT_EQ(quoted(std::string_view("\x01", 1)), R"("\x01")");
}

}  // namespace
}  // namespace koord::flags
