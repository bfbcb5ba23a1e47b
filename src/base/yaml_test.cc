#include "base/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

std::string asJson(std::string_view yaml) {
  auto value = parseYaml(yaml);
  return value ? toJson(*value) : value.error().message;
}

struct ScalarCase {
  const char* yaml;
  const char* json;
};

TEST(YamlTest, ScalarsAreTypedAsKubernetesToolsDo) {
  const ScalarCase cases[] = {
      {"a: 1", R"({"a":1})"},
      {"a: -17", R"({"a":-17})"},
      {"a: +17", R"({"a":17})"},
      {"a: '1'", R"({"a":"1"})"},
      {"a: \"true\"", R"({"a":"true"})"},
      {"a: true", R"({"a":true})"},
      {"a: Yes", R"({"a":true})"},
      {"a: off", R"({"a":false})"},
      {"a: yEs", R"({"a":"yEs"})"},
      {"a: null", R"({"a":null})"},
      {"a: ~", R"({"a":null})"},
      {"a:", R"({"a":null})"},
      {"a: ''", R"({"a":""})"},
      {"a: 0x10", R"({"a":16})"},
      {"a: 0o17", R"({"a":15})"},
      {"a: 0644", R"({"a":420})"},
      {"a: 0b11", R"({"a":3})"},
      {"a: 09", R"({"a":9})"},
      {"a: 1_000", R"({"a":1000})"},
      {"a: 18446744073709551615", R"({"a":18446744073709551615})"},
      {"a: -9223372036854775808", R"({"a":-9223372036854775808})"},
      {"a: 1.5", R"({"a":1.5E0})"},
      {"a: 1e3", R"({"a":1000})"},
      {"a: 1.0", R"({"a":1})"},
      {"a: .5", R"({"a":5E-1})"},
      {"a: 1.2.3", R"({"a":"1.2.3"})"},
      {"a: 100m", R"({"a":"100m"})"},
      {"a: 1Gi", R"({"a":"1Gi"})"},
      {"a: 10.0.0.1", R"({"a":"10.0.0.1"})"},
      {"a: 2024-01-01T00:00:00Z", R"({"a":"2024-01-01T00:00:00Z"})"},
      {"a: 2024-01-01", R"({"a":"2024-01-01"})"},
      {"a: 12:30", R"({"a":"12:30"})"},
      {"a: !!str 12", R"({"a":"12"})"},
      {"a: !!int '12'", R"({"a":12})"},
      {"a: !!float 2.5", R"({"a":2.5E0})"},
      {"1: a", R"({"1":"a"})"},
      {"on: a", R"({"true":"a"})"},
      {"a: |\n  x\n  y\n", R"({"a":"x\ny\n"})"},
      {"a: >-\n  x\n  y\n", R"({"a":"x y"})"},
      {"{\"a\": [1, \"x\"]}", R"({"a":[1,"x"]})"},
      {"{a: [1, x]}", R"({"a":[1,"x"]})"},
      {"", "null"},
      {"# nothing\n", "null"},
  };
  for (const auto& c : cases) EXPECT_EQ(asJson(c.yaml), c.json) << c.yaml;
}

TEST(YamlTest, AnchorsAreCopiedAndMergeKeysGiveWay) {
  EXPECT_EQ(asJson("a: &x {b: 1}\nc: *x\n"), R"({"a":{"b":1},"c":{"b":1}})");
  EXPECT_EQ(asJson("a: &x hello\nb: [*x, *x]\n"), R"({"a":"hello","b":["hello","hello"]})");
  EXPECT_EQ(asJson("base: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n"),
            R"({"base":{"b":1,"c":2},"d":{"c":3,"b":1}})");
  EXPECT_EQ(asJson("x: &x {a: 1}\nv: &v {a: 2, b: 2}\nz:\n  <<: [*x, *v]\n"),
            R"({"x":{"a":1},"v":{"a":2,"b":2},"z":{"a":1,"b":2}})");
}

TEST(YamlTest, PlainKeysAreTypedAndBecomeTextAgain) {
  EXPECT_EQ(asJson("yes: 1\nNo: 2\n7: 3\n0x10: 4\n1.5: 5\nname: 6\n"),
            R"({"true":1,"false":2,"7":3,"16":4,"1.5":5,"name":6})");
  EXPECT_EQ(asJson("\"yes\": 1\n'0x10': 2\n"), R"({"yes":1,"0x10":2})");
}

TEST(YamlTest, TextThatNoDocumentCanBeginWithIsRefused) {
  EXPECT_EQ(parseYaml(",[:a {1 \"x\"").error().message,
            "not valid YAML: line 1 column 1: no document can begin here");
  EXPECT_FALSE(parseYaml("a: 1\n...\n, b"));
}

TEST(YamlTest, WhatIsNoTextIsRefused) {
  const std::vector<std::pair<std::string_view, const char*>> cases{
      {{",a:\xd7\xa2\b\0b", 8}, "line 1 column 5: a control character"},
      {"a: 1\nb: \x01", "line 2 column 4: a control character"},
      {"a: \xff", "line 1 column 4: not valid UTF-8"},
      {"a: \xc0\xaf", "not valid UTF-8"},
      {"a: \xed\xa0\x80", "not valid UTF-8"},
      {"a: \xe2\x82", "not valid UTF-8"},
  };
  for (const auto& [text, message] : cases) {
    const auto parsed = parseYaml(text);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(message));
  }
  EXPECT_EQ(asJson("a: \xc3\xa9\xf0\x9f\x98\x80\n"), "{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\"}");
}

TEST(YamlTest, DocumentsAreSplitAndEmptyOnesLeftOut) {
  const auto documents = parseYamlDocuments("---\na: 1\n---\n# none\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(toJson((*documents)[1]), R"({"b":2})");
  EXPECT_FALSE(parseYaml("a: 1\n---\nb: 2\n"));
}

TEST(YamlTest, ErrorsNameThePlace) {
  const ScalarCase cases[] = {
      {"a: 1\na: 2\n", "line 2 column 1: duplicate key \"a\""},
      {"a:\n  b: [1\n", "line 3 column 1: end of sequence flow not found"},
      {"a: &x [*x]\n", "line 1 column 8: an alias must not refer to what contains it"},
      {"a: -\n", "line 1 column 4: illegal block entry"},
      {"a: *nope\n", "line 1 column 4: the referenced anchor is not defined"},
      {"? [a]\n: 1\n", "line 1 column 3: a key must be text"},
      {"a: .inf\n", "line 1 column 4: JSON has no number .inf"},
      {"a: !!int x\n", "line 1 column 4: \"x\" is not an integer"},
      {"a: !secret x\n", "line 1 column 4: unsupported tag !secret"},
      {"{\"a\": 1,, }", "line 1 column 9:"},
  };
  for (const auto& c : cases) {
    const auto value = parseYaml(c.yaml);
    ASSERT_FALSE(value) << c.yaml;
    EXPECT_EQ(value.error().code, ErrorCode::BadRequest);
    EXPECT_NE(value.error().message.find(c.json), std::string::npos) << value.error().message;
  }
}

TEST(YamlTest, DepthAndAliasBombsAreRefused) {
  EXPECT_FALSE(parseYaml("a: " + std::string(300, '[') + std::string(300, ']')));
  EXPECT_FALSE(parseYaml(std::string(100'000, '[')));
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j ? ",*a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_FALSE(parseYaml(bomb));
}

TEST(YamlTest, AnchorsAndAliasesMayCopyThirtyTwoMebibytes) {
  const auto refused = [](const std::string& text) {
    const auto value = parseYaml(text);
    return !value && value.error().message.find("copy more than 32 MiB") != std::string::npos;
  };
  // One long text, many times.
  std::string text = "a: &a " + std::string(100'000, 'x') + "\nb: [0";
  for (int i = 0; i < 1'000; ++i) text += ",*a";
  EXPECT_TRUE(refused(text + "]\n"));
  // As a key of a map that is referred to.
  text = "a: &a {" + std::string(1'000, 'k') + ": 1}\nb: [0";
  for (int i = 0; i < 100'000; ++i) text += ",*a";
  EXPECT_TRUE(refused(text + "]\n"));
  // Anchors inside of anchors: every one keeps all that is in it.
  text.clear();
  for (int i = 0; i < 200; ++i) text += "&a" + std::to_string(i) + " [";
  text += "1";
  for (int i = 0; i < 100'000; ++i) text += ",1";
  EXPECT_TRUE(refused(text + std::string(200, ']')));
  // What people write is far below.
  text = "a: &a {cpu: 500m, memory: 1Gi}\nb: [0";
  for (int i = 0; i < 10'000; ++i) text += ",*a";
  EXPECT_TRUE(parseYaml(text + "]\n"));
}

TEST(YamlTest, WrittenYamlReadsBackAsTheSameValue) {
  const char* const cases[] = {
      R"({"a":1,"b":[1,2,{"c":"d"}],"e":{},"f":[],"g":null,"h":true,"i":2.5})",
      R"({"text":"true","n":"12","empty":"","colon":"a: b","hash":"a #b","nl":"x\ny\n","nl2":"x\ny"})",
      R"({"deep":{"list":[["a","b"],[{"x":{"y":[1]}}]]},"- odd":"- x","tab":"a\tb","trail":"x\n\n"})",
      R"([{"a":"multi\n  indented\nline"},"* x","& y","!z","@at","`tick","%p","10m"])",
      R"("plain")",
  };
  const std::string key(1'100, 'k');
  for (const std::string value :
       {R"("text")", "[1,[2]]", R"({"a":[1],"b":{}})", R"("two\nlines")", "{}"}) {
    const auto document = parseJson(R"({"before":1,")" + key + "\":" + value + R"(,"list":[{")" +
                                    key + ":\":" + value + R"(}],"after":[1]})");
    ASSERT_TRUE(document);
    const auto back = parseYaml(toYaml(*document));
    ASSERT_TRUE(back) << value << back.error().message;
    EXPECT_EQ(toJson(*back), toJson(*document)) << value;
  }
  for (const char* text : cases) {
    const auto value = parseJson(text);
    ASSERT_TRUE(value);
    const auto yaml = toYaml(*value);
    const auto back = parseYaml(yaml);
    ASSERT_TRUE(back) << yaml << back.error().message;
    EXPECT_EQ(toJson(*back), toJson(*value)) << yaml;
  }
  EXPECT_EQ(toYaml(json::object{{"whole", 10.0}, {"part", 0.15}}), "whole: 10\npart: 0.15\n");
}

}  // namespace
}  // namespace koord
