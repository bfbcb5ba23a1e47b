// Objects that expressions make without a schema. The rows are those of apiserver's
// typeresolver_test.go.

#include "cel/dynamic_object.h"

#include <gmock/gmock.h>

#include "cel/cel.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_patch.h"

namespace koord::cel {
namespace {

using ::testing::HasSubstr;

// The value as JSON, or the error.
std::string patchResult(std::string_view expression) {
  DynamicTypes types;
  EnvironmentOptions options;
  options.libraries = kubernetesLibraries();
  options.libraries.push_back(&jsonPatchLibrary());
  options.resolver = &types;
  options.homogeneousLiterals = true;
  const auto environment = Environment::create(std::move(options));
  if (!environment) return environment.error().message;
  const auto program = environment->compile(expression);
  if (!program) return program.error().message;
  const auto value = program->evaluate(Activation(*environment));
  if (!value) return value.error().message;
  if (const auto* object = fieldsOf(*value); object && object->type().name() == "JSONPatch") {
    std::string text = "JSONPatch";
    for (const auto& [name, field] : object->fields()) text += " " + name + "=" + field.toString();
    return text;
  }
  const auto json = value->toJson();
  return json ? toJson(*json) : json.error().message;
}

TEST(DynamicObject, HasTheFieldsThatAnExpressionGives) {
  const struct {
    const char *expression, *result;
  } rows[] = {
      {"string(114514)", R"("114514")"},
      {"Object{}", "{}"},
      {"Object{spec: Object.spec{replicas: 3}}", R"({"spec":{"replicas":3}})"},
      {R"(Object{spec: Object.spec{template: Object.spec.template{containers: [
            Object.spec.template.containers.item{name: "nginx", image: "nginx", args: ["-g"]}]}}})",
       R"({"spec":{"template":{"containers":[{"args":["-g"],"image":"nginx","name":"nginx"}]}}})"},
      {"Object{intList: [1, 2, 3]}", R"({"intList":[1,2,3]})"},
      {R"(Object{annotations: {"foo": "bar"}})", R"({"annotations":{"foo":"bar"}})"},
      {"Object{intList: [1, 2, 3]}.intList.sum()", "6"},
      {"Object{spec: Object.spec{replicas: 3}} == Object{spec: Object.spec{replicas: 1 + 2}}",
       "true"},
      {"Object{spec: Object.spec{replicas: 3}} == Object{spec: Object.other{replicas: 3}}",
       "false"},
      {"Object{?existing: optional.none()}", "{}"},
      {"Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})}", "{}"},
      {"Object{}.?existing.hasValue()", "false"},
      {"has(Object{a: 1}.a) && !has(Object{a: 1}.b)", "true"},
      {"Object{a: 1}.b", "no such key: b"},
      {R"({"foo": 1}[?"bar"].hasValue())", "false"},
      {"Object{spec: dyn(1)}.spec == 1", "true"},
  };
  for (const auto& row : rows) EXPECT_EQ(patchResult(row.expression), row.result) << row.expression;
}

TEST(DynamicObject, JsonPatchesAreRecords) {
  const struct {
    const char *expression, *result;
  } rows[] = {
      {R"(true ? JSONPatch{op: "add", path: "/spec/replicas", value: 3}
              : JSONPatch{op: "remove", path: "/spec/replicas"})",
       R"(JSONPatch op="add" path="/spec/replicas" value=3)"},
      {R"(JSONPatch{op: "move", from: "/spec/a", path: "/spec/b"})",
       R"(JSONPatch from="/spec/a" op="move" path="/spec/b")"},
      {R"(JSONPatch{op: "invalid", path: "/spec/replicas", value: 3})",
       R"(JSONPatch op="invalid" path="/spec/replicas" value=3)"},
      {R"(JSONPatch{op: "add", value: 3})", R"(JSONPatch op="add" value=3)"},
      {R"(JSONPatch{op: "add"}.path == "" && !has(JSONPatch{op: "add"}.value))", "true"},
      {R"(JSONPatch{op: "a"} == JSONPatch{op: "a"})", "true"},
      {R"(jsonpatch.escapeKey("k8s.io/my~label"))", R"("k8s.io~1my~0label")"},
      {R"(jsonpatch.escapeKey("~1/"))", R"("~01~1")"},
  };
  for (const auto& row : rows) EXPECT_EQ(patchResult(row.expression), row.result) << row.expression;
}

TEST(DynamicObject, OtherTypesAreIssues) {
  const struct {
    const char *expression, *issue;
  } rows[] = {
      {"Invalid{}", "undeclared reference to 'Invalid'"},
      {R"(JSONPatch{op: "add", path: "/spec/replicas", value: Invalid{}})",
       "undeclared reference to 'Invalid'"},
      {R"(JSONPatch{op: "add", path: Invalid{}, value: 3})", "undeclared reference to 'Invalid'"},
      {R"(JSONPatch{op: 1, path: "/spec/replicas", value: 3})",
       "expected type of field 'op' is 'string' but provided type is 'int'"},
      {R"(JSONPatch{op: "add", path: 1, value: 3})",
       "expected type of field 'path' is 'string' but provided type is 'int'"},
      {R"(JSONPatch{op: "move", from: 1, path: "/spec/replicas"})",
       "expected type of field 'from' is 'string' but provided type is 'int'"},
      {R"(JSONPatch{other: 1})", "undefined field 'other'"},
      {"Objects{}", "undeclared reference to 'Objects'"},
  };
  for (const auto& row : rows)
    EXPECT_THAT(patchResult(row.expression), HasSubstr(row.issue)) << row.expression;
}

TEST(DynamicObject, ManyCopiesOfAnObjectAreTooLarge) {
  // Each level doubles what is in the one before.
  std::string expression = "'0123456789abcdef'";
  for (int i = 0; i < 22; ++i) expression = "[" + expression + "].map(x, Object{a: x, b: x})[0]";
  EXPECT_THAT(patchResult(expression), HasSubstr("object is too large"));
}

}  // namespace
}  // namespace koord::cel
