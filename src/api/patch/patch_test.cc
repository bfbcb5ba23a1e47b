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
