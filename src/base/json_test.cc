#include "base/json.h"

#include "base/brief_json.h"
#include "base/json_edit.h"
#include "base/json_equal.h"
#include "base/json_measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

using testing::HasSubstr;

TEST(JsonTest, NumbersThatCannotBeWrittenAgainAreRefused) {
  for (const char* text :
       {"1e400", "[1, -1e309]", R"({"a": {"b": [1e999]}})", "[0e400]", "-0e999"}) {
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

TEST(JsonEqualTest, DocumentsAreEqualInAnyOrderOfMembers) {
  const auto same = [](const char* a, const char* b) {
    return sameJson(*parseJson(a), *parseJson(b));
  };
  EXPECT_TRUE(same(R"({"a":1,"b":[{"c":null},2.5,"x"]})", R"({"b":[{"c":null},2.5,"x"],"a":1})"));
  EXPECT_TRUE(same("{}", "{}"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"a":1,"b":null})"));
  EXPECT_FALSE(same(R"({"a":1,"b":null})", R"({"a":1,"c":null})"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("[1]", "[1,1]"));
  EXPECT_FALSE(same("[]", "{}"));
  EXPECT_FALSE(same(R"({"a":{"b":[{"c":1}]}})", R"({"a":{"b":[{"c":2}]}})"));
  EXPECT_FALSE(same(R"("1")", "1"));
}

TEST(JsonMeasureTest, BytesAreThoseOfTheText) {
  for (const char* text : {"{}", "[]", "null", "true", "false", "-12", "1.5", R"("")", R"({"a":1})",
                           R"({"a":[1,2,{"b":"x\"\\\n\u0001y"}],"c\t":null})", R"([[],{},[[]]])"}) {
    const auto value = parseJson(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(measureJson(*value).bytes, toJson(*value).size()) << text;
  }
  const auto size = measureJson(*parseJson(R"({"a":[1,{"b":2}],"c":3})"));
  EXPECT_EQ(size.values, 6u);
  EXPECT_EQ(size.depth, 3u);
  EXPECT_EQ(measureJson(json::value(1)).depth, 0u);
}

TEST(JsonEditTest, MembersGoInOneSweepAndTheRestStaysInOrder) {
  for (const int count : {5, 1'000}) {
    json::object object;
    for (int i = 0; i < count; ++i) object[std::to_string(i)] = i;
    eraseMembersIf(object,
                   [](const json::key_value_pair& m) { return m.value().get_int64() % 3 != 1; });
    int expected = 1;
    for (const auto& member : object) {
      EXPECT_EQ(member.value(), expected);
      EXPECT_EQ(member.key(), std::to_string(expected));
      expected += 3;
    }
    EXPECT_EQ(object.size(), static_cast<std::size_t>((count + 1) / 3));
    EXPECT_EQ(object.contains("1"), true);
    EXPECT_EQ(object.contains("0"), false);
  }
}

TEST(BriefJsonTest, ReadsWhatParseJsonReadsAndItsCopiesOutliveIt) {
  json::object large;
  for (int i = 0; i < 2'000; ++i)
    large["key-" + std::to_string(i)] = json::array{i, std::string(40, 'x'), nullptr};
  for (const std::string& text : {std::string("7"), std::string(R"({"a":[1,{"b":"c"}],"d":null})"),
                                  toJson(json::value(large))}) {
    json::value copy;
    {
      const BriefJson document(text);
      ASSERT_TRUE(document) << document.error().message;
      EXPECT_EQ(toJson(*document), text);
      copy = *document;
    }
    EXPECT_TRUE(sameJson(copy, parseJson(text).value()));
  }
}

TEST(BriefJsonTest, ReportsTheErrorsOfParseJson) {
  for (const char* text : {"", "{", "{} x", "[1e400]"}) {
    const BriefJson document(text);
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().message, parseJson(text).error().message);
  }
}

}  // namespace
}  // namespace koord
