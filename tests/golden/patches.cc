#include <fmt/format.h>

#include <memory>

#include "api/patch/create_strategic_patch.h"
#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/strategic_patch.h"
#include "api/schema/builtin.h"
#include "golden/checkers.h"

namespace koord::golden {
namespace {

// A result, or the fact that there is none. "valid" distinguishes null results from absent ones.
json::object outcome(const json::object& testCase, std::string_view name,
                     const Result<json::value>& result) {
  json::object out{{"valid", result.has_value()}};
  // The patch is given to some operations and made by others.
  if (name != "patch") out["patch"] = testCase.at("patch");
  if (result) out[json::string_view(name.data(), name.size())] = *result;
  return out;
}

Result<json::object> evaluatePatches(const api::SchemaSet& types, const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  const auto& original = testCase.at("original");
  if (op == "merge")
    return outcome(testCase, "result", api::applyMergePatch(original, testCase.at("patch")));
  if (op == "json")
    return outcome(testCase, "result", api::applyJsonPatch(original, testCase.at("patch")));
  if (op == "createMerge")
    return outcome(testCase, "patch", api::createMergePatch(original, testCase.at("modified")));
  if (op == "createThreeWayMerge")
    return outcome(
        testCase, "patch",
        api::createThreeWayMergePatch(original, testCase.at("modified"), testCase.at("current")));
  const auto* schema = types.find(std::string_view(testCase.at("kind").as_string()));
  if (!schema) return fail(ErrorCode::Invalid, "unknown kind");
  if (op == "strategic")
    return outcome(testCase, "result",
                   api::applyStrategicPatch(original, testCase.at("patch"), *schema));
  if (op == "createTwoWay") {
    const auto patch = api::createTwoWayPatch(original, testCase.at("modified"), *schema);
    auto out = outcome(testCase, "patch", patch);
    const auto result = patch ? api::applyStrategicPatch(original, *patch, *schema) : patch;
    out["applied"] = result.has_value();
    if (result) out["result"] = *result;
    return out;
  }
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker patchesChecker() {
  return {
      .file = "patches",
      .inputs = {"op", "kind", "original", "modified", "current"},
      .open = [](const json::array&) -> Result<Evaluate> {
        auto types = std::make_shared<const api::SchemaSet>(api::builtinTypes());
        return [types](const json::object& testCase) { return evaluatePatches(*types, testCase); };
      },
  };
}

}  // namespace koord::golden
