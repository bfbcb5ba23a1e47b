// The golden vectors check results; these check that mistakes are explained and inputs stay as they
// were.

#include <gmock/gmock.h>

#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/strategic_patch.h"
#include "api/schema/builtin.h"

namespace koord::api {
namespace {

using ::testing::HasSubstr;

json::value parsed(std::string_view text) {
  return parseJson(text).value();
}

TEST(JsonPatchTest, aFailedOperationSaysWhichAndWhere) {
  const auto document = parsed(R"({"a":[1],"b":{"c":1}})");
  const auto error = [&](const char* patch) {
    return applyJsonPatch(document, parsed(patch)).error().message;
  };
  EXPECT_EQ(error(R"([{"op":"remove","path":"/b/x"}])"),
            "remove operation does not apply: path \"x\": unable to remove nonexistent key");
  EXPECT_EQ(error(R"([{"op":"test","path":"/b/c","value":2}])"),
            "test operation does not apply: path \"/b/c\": testing value failed");
  EXPECT_EQ(error(R"([{"op":"add","path":"/a/7","value":2}])"),
            "add operation does not apply: path \"7\": invalid index");
  EXPECT_EQ(error(R"([{"op":"jump","path":"/a"}])"), "unexpected operation \"jump\"");
  EXPECT_EQ(error(R"({})"), "a JSON patch must be a list of operations");
}

// `count` times the operation, behind those that come first.
std::string patchOf(const std::string& first, const std::string& operation, int count) {
  std::string patch = "[" + first;
  for (int i = 0; i < count; ++i) patch += (patch.size() > 1 ? "," : "") + operation;
  return patch + "]";
}

TEST(JsonPatchTest, copiesTogetherAreNoLargerThanThreeMebibytes) {
  // Each copy into itself doubles: 40 of them would be a terabyte.
  const auto bomb = parsed(patchOf(R"({"op":"add","path":"/a","value":{"x":"y"}})",
                                   R"({"op":"copy","from":"/a","path":"/a/b"},
                                      {"op":"copy","from":"/a","path":"/a/c"})",
                                   40));
  const auto result = applyJsonPatch(parsed("{}"), bomb);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Invalid);
  EXPECT_THAT(
      result.error().message,
      ::testing::MatchesRegex("Unable to complete the copy, the accumulated size increase of "
                              "copy is [0-9]+, exceeding the limit 3145728"));
  // The bytes of the JSON text count, quotes included: 51 for each of these.
  const auto list = parsed(R"({"foo":["A",")" + std::string(49, 'A') + "\"]}");
  const char* copy = R"({"op":"copy","path":"/foo/-","from":"/foo/1"})";
  const int fits = 10'000;  // 510,000 bytes
  EXPECT_TRUE(applyJsonPatch(list, parsed(patchOf("", copy, fits))));
  const auto large = parsed(R"({"foo":["A",")" + std::string((1 << 20) - 2, 'A') + "\"]}");
  EXPECT_TRUE(applyJsonPatch(large, parsed(patchOf("", copy, 3))));
  EXPECT_THAT(applyJsonPatch(large, parsed(patchOf("", copy, 4))).error().message,
              HasSubstr("copy is 4194304, exceeding the limit 3145728"));
}

TEST(JsonPatchTest, tenThousandOperationsAreTheMost) {
  const auto result = applyJsonPatch(
      parsed("{}"), parsed(patchOf("", R"({"op":"add","path":"/a","value":1})", 10'001)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::RequestEntityTooLarge);
  EXPECT_EQ(result.error().message,
            "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

TEST(JsonPatchTest, noPatchMakesADocumentDeeperThanAParserTakes) {
  const auto result = applyJsonPatch(
      parsed(R"({"a":{}})"), parsed(patchOf("", R"({"op":"add","path":"/t","value":{"x":{}}},
                            {"op":"move","from":"/a","path":"/t/x/y"},
                            {"op":"move","from":"/t","path":"/a"})",
                                            3'000)));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("nested more than 256 levels deep"));
  // 255 levels below the document are fine, by value as well as by moves.
  const auto deepest = parsed(std::string(255, '[') + std::string(255, ']'));
  const auto add = [&](const char* path) {
    return json::value{{{"op", "add"}, {"path", path}, {"value", deepest}}};
  };
  EXPECT_TRUE(applyJsonPatch(parsed(R"({"a":{}})"), add("/b")));
  EXPECT_FALSE(applyJsonPatch(parsed(R"({"a":{}})"), add("/a/b")));
}

TEST(JsonPatchTest, movesOfLargePartsAndShiftsOfLongListsHaveABudget) {
  std::string list = "[0";
  for (int i = 1; i < 100'000; ++i) list += ",0";
  const auto document = parsed("{\"a\":" + list + "]}");
  for (const char* operation :
       {R"({"op":"move","from":"/a","path":"/b"},{"op":"move","from":"/b","path":"/a"})",
        R"({"op":"add","path":"/a/0","value":1})",
        R"({"op":"remove","path":"/a/0"},{"op":"add","path":"/a/0","value":1})"}) {
    const auto result = applyJsonPatch(document, parsed(patchOf("", operation, 1'000)));
    ASSERT_FALSE(result) << operation;
    EXPECT_EQ(result.error().code, ErrorCode::RequestEntityTooLarge);
    EXPECT_THAT(result.error().message, HasSubstr("walk or shift more than 50000000 values"));
    EXPECT_TRUE(applyJsonPatch(document, parsed(patchOf("", operation, 50)))) << operation;
  }
}

TEST(JsonPatchTest, aMoveTakesTheValueAlong) {
  EXPECT_EQ(*applyJsonPatch(parsed(R"({"a":{"b":[1,2,3]},"c":{}})"),
                            parsed(R"([{"op":"move","from":"/a/b/1","path":"/c/x"},
                                       {"op":"move","from":"/a","path":"/c/y"}])")),
            parsed(R"({"c":{"x":2,"y":{"b":[1,3]}}})"));
  EXPECT_FALSE(applyJsonPatch(parsed(R"({"a":{}})"),
                              parsed(R"([{"op":"move","from":"/a","path":"/a/b"}])")));
}

// One by one, the deletions would shift 20 thousand million members.
TEST(MergePatchTest, aHundredThousandDeletionsAreOneSweep) {
  json::object document, patch, kept;
  for (int i = 0; i < 200'000; ++i) {
    const auto name = "m" + std::to_string(i);
    document[name] = i;
    if (i % 2 == 0) {
      patch[name] = nullptr;
    } else {
      kept[name] = i;
    }
  }
  patch["fresh"] = json::object{{"a", nullptr}};
  kept["fresh"] = json::object{};
  const auto merged = applyMergePatch(document, patch);
  ASSERT_TRUE(merged);
  EXPECT_TRUE(*merged == json::value(kept));
  EXPECT_EQ(merged->get_object().begin()->key(), "m1");
  const auto types = builtinTypes();
  EXPECT_TRUE(*applyStrategicPatch(document, patch, *types.find("Pod")) == json::value(kept));
}

TEST(MergePatchTest, creationIsTheInverseOfApplication) {
  const auto before = parsed(R"({"a":1,"b":{"c":[1,2],"d":2},"e":3})");
  const auto after = parsed(R"({"a":1,"b":{"c":[1]},"f":{"g":{}}})");
  const auto patch = createMergePatch(before, after);
  ASSERT_TRUE(patch);
  EXPECT_EQ(*patch, parsed(R"({"b":{"c":[1],"d":null},"e":null,"f":{"g":{}}})"));
  EXPECT_EQ(*applyMergePatch(before, *patch), after);
}

TEST(StrategicPatchTest, elementsMergeByTheirKey) {
  const auto types = builtinTypes();
  const auto pod = parsed(
      R"({"spec":{"containers":[{"name":"a","image":"1","env":[{"name":"X","value":"1"}]},{"name":"b","image":"1"}]}})");
  const auto patch = parsed(
      R"({"spec":{"containers":[{"name":"a","image":"2"},{"$patch":"delete","name":"b"}]}})");
  EXPECT_EQ(
      *applyStrategicPatch(pod, patch, *types.find("Pod")),
      parsed(
          R"({"spec":{"containers":[{"name":"a","image":"2","env":[{"name":"X","value":"1"}]}]}})"));
}

TEST(StrategicPatchTest, listsThatAreTooLongToMergeAreRefused) {
  const auto types = builtinTypes();
  const auto labels = [](int from, int count) {
    json::array list;
    for (int i = from; i < from + count; ++i)
      list.push_back(json::string("f/" + std::to_string(i)));
    return json::value{{"metadata", {{"finalizers", std::move(list)}}}};
  };
  const auto& pod = *types.find("Pod");
  EXPECT_TRUE(applyStrategicPatch(labels(0, 1'000), labels(500, 1'000), pod));
  const auto refused = applyStrategicPatch(labels(0, 1'000), labels(500, 300'000), pod);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::RequestEntityTooLarge);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 50000000 comparisons"));
}

TEST(StrategicPatchTest, mistakesNameThePath) {
  const auto types = builtinTypes();
  const auto error = [&](const char* patch) {
    return applyStrategicPatch(
               parsed(R"({"spec":{"containers":[{"name":"a"}],"volumes":[{"name":"v"}]}})"),
               parsed(patch), *types.find("Pod"))
        .error()
        .message;
  };
  EXPECT_EQ(error(R"({"spec":{"containers":[{"image":"x"}]}})"),
            "spec: containers: map: {\"image\":\"x\"} does not contain declared merge key: name");
  EXPECT_THAT(error(R"({"spec":{"$patch":"swap"}})"), HasSubstr("unknown patch type \"swap\""));
  EXPECT_THAT(
      error(
          R"({"spec":{"$setElementOrder/containers":[{"name":"z"}],"containers":[{"name":"a","image":"i"}]}})"),
      HasSubstr("does not match $setElementOrder"));
}

}  // namespace
}  // namespace koord::api
