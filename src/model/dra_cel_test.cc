#include "model/dra_cel.h"

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
        R"(cel.bind(gpu, device.attributes["gpu.example"], gpu.index > 2 && gpu.index < 4))"})
    EXPECT_EQ(gpu.ask(text), "true") << text;
  EXPECT_EQ(gpu.ask(R"(device.driver == "other.example")"), "false");
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
