#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

using testing::HasSubstr;

TEST(JsonTest, NumbersThatCannotBeWrittenAgainAreRefused) {
  for (const char* text : {"1e400", "[1, -1e309]", R"({"a": {"b": [1e999]}})", "[0e400]", "-0e999"}) {
    const auto value = parseJson(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::BadRequest);
    EXPECT_THAT(value.error().message, HasSubstr("out of range"));
  }
  for (const char* text : {"1e308", "1e-400", "18446744073709551615", "-9223372036854775808"})
    EXPECT_TRUE(parseJson(text)) << text;
}

TEST(JsonTest, ErrorsNameThePlace) {
  EXPECT_EQ(parseJson("{\n \"a\": x}").error().message,
            "not valid JSON: line 2 column 7: syntax error");
  EXPECT_THAT(parseJson("{} {}").error().message, HasSubstr("line 1 column 4"));
}

}  // namespace
}  // namespace koord
