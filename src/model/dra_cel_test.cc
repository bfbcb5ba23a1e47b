#include "model/dra_cel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace koord::model {
namespace {

struct Gpu {
  api::Map<api::DeviceAttribute> attributes;
  api::Map<api::DeviceCapacity> capacity;

  Gpu() {
    attributes["model"].string = "a100";
    attributes["index"].int_ = 3;
    attributes["driverVersion"].version = "12.4.1";
    attributes["resource.kubernetes.io/pcieRoot"].string = "pci0000:01";
    capacity["memory"].value = Quantity::parse("40Gi").value();
  }
  // "true", "false", or the error.
  std::string ask(const std::string& text) const {
    const auto expression = DeviceExpression::compile(text);
    if (!expression) return expression.error().message;
    const auto answer = expression->matches("gpu.example", attributes, capacity, false);
    return !answer ? answer.error().message : *answer ? "true" : "false";
  }
};

TEST(DeviceExpression, reads_all_that_a_slice_says_about_a_device) {
  const Gpu gpu;
  for (const char* text :
       {R"(device.driver == "gpu.example")", R"(device.attributes["gpu.example"].model == "a100")",
        R"(device.attributes["gpu.example"].index == 3)",
        R"(device.attributes["gpu.example"].driverVersion.isGreaterThan(semver("12.0.0")))",
        R"(device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:01")",
        R"(device.capacity["gpu.example"].memory.compareTo(quantity("40Gi")) >= 0)",
        R"(!device.allowMultipleAllocations)", R"(!("none" in device.attributes["other.example"]))",
        R"("gpu.example" in device.attributes && !("other.example" in device.attributes))",
        R"(cel.bind(gpu, device.attributes["gpu.example"], gpu.index > 2 && gpu.index < 4))"})
    EXPECT_EQ(gpu.ask(text), "true") << text;
  EXPECT_EQ(gpu.ask(R"(device.driver == "other.example")"), "false");
}

// The rows of TestCEL in k8s.io/dynamic-resource-allocation/cel/compile_test.go.
TEST(DeviceExpression, costs_what_kubernetes_estimates) {
  std::string nested = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  for (const char* name : {"x", "y", "z", "z2", "z3", "z4"})
    nested += fmt::format(".all({}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", name);
  nested += ".all(z5, int('1'.find('[0-9]*')) < 100)))))))";
  const std::pair<std::string, std::uint64_t> kRows[] = {
      {"true", 0},
      {R"(device.attributes["no-such-domain"].noSuchAttr.isGreaterThan(quantity("0")))", 6},
      {R"(device.attributes["no-such-domain"]["noSuchAttr"].isGreaterThan(quantity("0")))", 6},
      {R"("no-such-domain" in device.attributes)", 3},
      {R"(device.driver == "")", 2},
      {R"(device.driver == "dra.example.com")", 4},
      {R"(device.attributes["dra.example.com"].name)", 4},
      {R"(device.attributes["dra.example.com"]["name"])", 4},
      {R"(cel.bind(dra, device.attributes["dra.example.com"], dra.name))", 15},
      {R"(device.attributes["dra.example.com"].name > 0)", 5},
      {R"(device.attributes["dra.example.com"].name == "fish")", 5},
      {R"(device.attributes["dra.example.com"].name.exists(x, x > 0))", 5 + (3 + 3) * 64},
      {R"(device.attributes["dra.example.com"].name.exists(x, x == true))", 5 + (3 + 3) * 64},
      {R"(device.attributes["dra.example.com"].name.exists(x, x == "fish"))", 5 + (3 + 3) * 64},
      {R"(device.attributes["dra.example.com"].names.size() == 2)", 6},
      {R"(device.attributes["dra.example.com"].names.all(x, x != ""))", 5 + (2 + 2) * 64},
      {R"(device.attributes["dra.example.com"].names.all(x, x.isGreaterThan(semver("0.0.1"))))",
       5 + (2 + 4) * 64},
      {R"(1 in device.attributes["dra.example.com"].names)", 4 + 64},
      {R"(device.attributes["dra.example.com"].name.isGreaterThan(semver("0.0.1")))", 6},
      {R"(device.attributes["dra.example.com"].name.isGreaterThan(semver("v0.0.1", true)) && )"
       R"(isSemver("v1.0.0", true))",
       7},
      {R"(device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki")))", 6},
      {R"("name" in device.capacity["dra.example.com"] && )"
       R"(device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki")))",
       10},
      {R"(!("name" in device.capacity["dra.example.com"]) || )"
       R"(device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki")))",
       11},
      {R"(device.attributes["dra.example.com"].a && device.attributes["dra.example.com"].b && )"
       R"(device.attributes["dra.example.com"].c)",
       12},
      {R"(device.attributes.exists_one(x, x == "dra.example.com"))", 164},
      {R"(device.attributes["dra.example.com"].exists_one(x, x == "services"))", 133},
      {R"(device.attributes["dra.example.com"].services.split("example").size() >= 2)", 19},
      {R"(device.attributes["dra.example.com"].services.matches("[^a]?sym"))", 18},
      {R"(device.capacity.exists_one(x, x == "dra.example.com"))", 164},
      {R"(device.capacity["dra.example.com"].exists_one(x, x == "memory"))", 133},
      {R"(device.allowMultipleAllocations == true)", 3},
      {nested, 85'555'551},
  };
  for (const auto& [text, cost] : kRows) {
    const auto expression = DeviceExpression::compile(text);
    ASSERT_TRUE(expression) << text << ": " << expression.error().message;
    EXPECT_EQ(expression->maxCost(), cost) << text;
  }
}

TEST(DeviceExpression, errors_say_whether_the_expression_or_the_device_is_wrong) {
  const Gpu gpu;
  EXPECT_NE(
      gpu.ask("noSuchVar").find("compilation failed: ERROR: <input>:1:1: undeclared reference"),
      std::string::npos)
      << gpu.ask("noSuchVar");
  EXPECT_EQ(gpu.ask("device.driver"), "must evaluate to bool or the unknown type, not string");
  EXPECT_EQ(gpu.ask(R"(device.attributes["gpu.example"].none)"), "no such key: none");
  Gpu broken;
  broken.attributes["odd"];
  EXPECT_EQ(broken.ask("true"), "attribute odd: unsupported attribute value");
}

}  // namespace
}  // namespace koord::model
