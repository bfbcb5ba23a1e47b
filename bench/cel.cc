// Expressions of CEL: parsing, checking and evaluating the selector of a device, whose fields are
// read from the host's structures in place.

#include "cel/cel.h"

#include <cstdlib>

#include "bench.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_quantity.h"

namespace koord::bench {
namespace {

using cel::Type;
using cel::Value;

constexpr std::string_view kSelector =
    R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100" && )"
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0)";

// A map with one key.
class OneEntry final : public cel::Map {
 public:
  OneEntry(std::string key, Value value) : key_(std::move(key)), value_(std::move(value)) {}
  std::size_t size() const override { return 1; }
  std::optional<Value> find(const Value& key) const override {
    if (!key.is(cel::Kind::String) || key.text() != key_) return std::nullopt;
    return value_;
  }
  std::pair<Value, Value> entry(std::size_t) const override {
    return {Value::stringView(key_), value_};
  }

 private:
  std::string key_;
  Value value_;
};

struct Device {
  std::string driver = "gpu.example.com";
  cel::QuantityOpaque memory{Quantity::parse("80Gi").value()};
  OneEntry ownAttributes{"model", Value::stringView("a100")};
  OneEntry attributes{"gpu.example.com",
                      Value::borrow(static_cast<const cel::Map&>(ownAttributes))};
  OneEntry ownCapacity{"memory", Value::borrow(static_cast<const cel::Opaque&>(memory))};
  OneEntry capacity{"gpu.example.com", Value::borrow(static_cast<const cel::Map&>(ownCapacity))};
};

class DeviceType final : public cel::ObjectType {
 public:
  std::string_view name() const override { return "kubernetes.DRADevice"; }
  std::optional<Field> field(std::string_view name) const override {
    if (name == "driver") return Field{0, Type::string()};
    if (name == "attributes")
      return Field{1, Type::map(Type::string(), Type::map(Type::string(), Type::dyn()))};
    if (name == "capacity")
      return Field{2, Type::map(Type::string(), Type::map(Type::string(), cel::quantityType()))};
    return std::nullopt;
  }
  Value get(const void* object, int field) const override {
    const Device& device = *static_cast<const Device*>(object);
    if (field == 0) return Value::stringView(device.driver);
    return Value::borrow(
        static_cast<const cel::Map&>(field == 1 ? device.attributes : device.capacity));
  }
  bool has(const void*, int) const override { return true; }
};

const DeviceType& deviceType() {
  static const DeviceType kType;
  return kType;
}

cel::Environment makeEnvironment() {
  cel::EnvironmentOptions options;
  options.libraries = cel::kubernetesLibraries();
  options.costModel = &cel::kubernetesCosts();
  options.variables = {{"device", Type::object(deviceType())}};
  return cel::Environment::create(std::move(options)).value();
}

template <class Body>
Numbers timed(int rounds, Body body) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double before = cpuSeconds();
    for (int i = 0; i < rounds; ++i) body();
    const double took = cpuSeconds() - before;
    if (best == 0 || took < best) best = took;
  }
  return {{"ns", best / rounds * 1e9}};
}

Numbers compileSelector(const Numbers& params) {
  const cel::Environment environment = makeEnvironment();
  cel::CompileOptions options;
  options.check = params.at("check") != 0;
  return timed(2'000, [&] {
    if (!environment.compile(kSelector, options)) std::abort();
  });
}

Numbers evaluateSelector(const Numbers& params) {
  const cel::Environment environment = makeEnvironment();
  cel::CompileOptions options;
  options.check = params.at("check") != 0;
  const cel::Program program = environment.compile(kSelector, options).value();
  const Device device;
  cel::Activation activation(environment);
  const std::size_t variable = *environment.variable("device");
  return timed(200'000, [&] {
    activation.set(variable, Value::object(deviceType(), &device));
    const auto value = program.evaluate(activation, {.cost = 1'000'000});
    if (!value || !value->isTrue()) std::abort();
  });
}

Numbers createEnvironment(const Numbers&) {
  return timed(200, [] { makeEnvironment(); });
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  return runAll(argc, argv,
                {{"Cel/Environment", {}, createEnvironment},
                 {"Cel/Compile", {{"check", 0}}, compileSelector},
                 {"Cel/Compile", {{"check", 1}}, compileSelector},
                 {"Cel/Evaluate", {{"check", 0}}, evaluateSelector},
                 {"Cel/Evaluate", {{"check", 1}}, evaluateSelector}});
}
