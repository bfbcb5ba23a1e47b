#include "api/schema/builtin.h"

#include <gmock/gmock.h>

namespace koord::api {
namespace {

using ::testing::HasSubstr;

TEST(BuiltinTypesTest, everyTypeThatATableNamesIsDefined) {
  const auto types = builtinTypes();
  for (const auto& [name, schema] : types.named()) {
    EXPECT_EQ(schema->type, Schema::Type::Object) << name;
    EXPECT_FALSE(schema->fields.empty()) << name << " is used but has no line";
  }
}

TEST(BuiltinTypesTest, listsKnowHowTheyMerge) {
  const auto types = builtinTypes();
  const auto* containers = types.find("PodSpec")->field("containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_TRUE(containers->required);
  EXPECT_TRUE(containers->merge);
  EXPECT_EQ(containers->mergeKey, "name");
  EXPECT_EQ(containers->type->items->name, "Container");
  const auto* ports = types.find("Container")->field("ports");
  EXPECT_EQ(ports->mergeKey, "containerPort");
  EXPECT_EQ(ports->type->listKeys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_TRUE(types.find("DeploymentSpec")->field("strategy")->retainKeys);
  EXPECT_FALSE(types.find("PodSpec")->field("tolerations")->merge);
}

TEST(BuiltinTypesTest, aBrokenTableNamesTheField) {
  SchemaSet set;
  EXPECT_EQ(addTypes(set, "Thing: size int big").error().message, "Thing: size: unknown word big");
  EXPECT_EQ(addTypes(set, "Thing: size").error().message, "Thing: a field needs a name and a type");
}

TEST(CheckTypesTest, theFirstWrongValueIsNamed) {
  const auto types = builtinTypes();
  const auto problem = [&](const char* text) {
    const auto found = checkTypes(*parseJson(text), *types.find("Pod"));
    return found ? found->path + ": " + found->message : "";
  };
  EXPECT_EQ(
      problem(R"({"metadata":{"name":"a","labels":null},"spec":{"containers":[{"name":"c"}]}})"),
      "");
  EXPECT_EQ(problem(R"({"metadata":{"labels":{"a":1}}})"),
            "metadata.labels[a]: expected a string, got 1");
  EXPECT_EQ(problem(R"({"spec":{"containers":[{},{"ports":[{"containerPort":"80"}]}]}})"),
            "spec.containers[1].ports[0].containerPort: expected an integer, got \"80\"");
  EXPECT_THAT(problem(R"({"spec":{"priority":1e300}})"),
              HasSubstr("spec.priority: expected an integer"));
  EXPECT_THAT(problem(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1x"}}}]}})"),
              HasSubstr("spec.containers[0].resources.limits[cpu]: \"1x\""));
  EXPECT_EQ(
      problem(R"({"metadata":{"creationTimestamp":"today"}})"),
      "metadata.creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, got \"today\"");
}

TEST(SchemaTest, AFieldIsFoundByItsWholeNameHoweverOftenAndInWhateverSchema) {
  const auto types = builtinTypes();
  for (int round = 0; round < 3; ++round)
    for (const auto& [name, schema] : types.named())
      for (const auto& field : schema->fields) {
        ASSERT_EQ(schema->field(field.name), &field) << name << "." << field.name;
        EXPECT_EQ(schema->field(field.name + "?"), nullptr);
      }
  // A schema at the address of another, with the same names elsewhere.
  Schema schema;
  for (const char* first : {"a", "b"}) {
    schema.fields.clear();
    for (const char* name : {first, "container", "containers"})
      schema.fields.push_back({.name = name});
    EXPECT_EQ(schema.field("containers"), &schema.fields[2]);
    schema.fields.erase(schema.fields.begin());
    EXPECT_EQ(schema.field("containers"), &schema.fields[1]);
    EXPECT_EQ(schema.field(first), nullptr);
    EXPECT_EQ(schema.field("contain"), nullptr);
    EXPECT_EQ(schema.field(""), nullptr);
  }
}

}  // namespace
}  // namespace koord::api
