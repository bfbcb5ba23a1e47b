#include "koordctl/tune/json_edit.h"

#include <gtest/gtest.h>

#include <vector>

namespace koord::koordctl {
namespace {

TEST(JsonEditTest, only_the_value_changes) {
  struct Case {
    std::string_view text;
    std::vector<std::string_view> path;
    std::string_view expected;
  };
  const Case kCases[] = {
      {R"({"a":1})", {"a"}, R"({"a":7})"},
      {R"( { "a" : 1.50 , "b":0.10 } )", {"b"}, R"( { "a" : 1.50 , "b":7 } )"},
      {R"({"x":{"a":1},"a":2})", {"a"}, R"({"x":{"a":1},"a":7})"},
      {R"({"x":"{\"a\": 1}\\","a":2})", {"a"}, R"({"x":"{\"a\": 1}\\","a":7})"},
      {R"({"x":[{"a":1},["}"]],"a":-2e3})", {"a"}, R"({"x":[{"a":1},["}"]],"a":7})"},
      {R"({"\u0061":1})", {"a"}, R"({"\u0061":7})"},
      {R"({"a":1,"a":2})", {"a"}, R"({"a":1,"a":7})"},
      {R"({"a":null})", {"a"}, R"({"a":7})"},
      {R"({"b":true})", {"a"}, R"({"b":true,"a":7})"},
      {R"({ })", {"a"}, R"({"a":7 })"},
      {R"({"s":{"a":1}})", {"s", "a"}, R"({"s":{"a":7}})"},
      {R"({"s":null,"t":1})", {"s", "a"}, R"({"s":{"a":7},"t":1})"},
      {R"({"t":1})", {"s", "a"}, R"({"t":1,"s":{"a":7}})"},
      {"", {"s", "a"}, R"({"s":{"a":7}})"},
      {"[1]", {"a"}, R"({"a":7})"},
  };
  for (const Case& each : kCases) EXPECT_EQ(withMember(each.text, each.path, "7"), each.expected);
}

}  // namespace
}  // namespace koord::koordctl
