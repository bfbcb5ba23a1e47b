#include "model/dra_cel.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/cel.h"
#include "cel/library/all.h"
#include "cel/library/bindings.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_quantity.h"
#include "cel/library/kubernetes_semver.h"

namespace koord::model {

namespace {

// A small map with texts as keys.
class TextMap final : public cel::Map {
 public:
  // withDefault: a key that is not there has an empty map.
  explicit TextMap(bool withDefault) : withDefault_(withDefault) {}
  void add(std::string_view key, cel::Value value) { entries_.emplace_back(key, std::move(value)); }
  std::size_t size() const override { return entries_.size(); }
  std::optional<cel::Value> find(const cel::Value& key) const override {
    if (const cel::Value* const value = valueOf(key)) return *value;
    if (withDefault_) return cel::Value::adopt(new TextMap(false));
    return std::nullopt;
  }
  bool contains(const cel::Value& key) const override { return valueOf(key) != nullptr; }
  std::pair<cel::Value, cel::Value> entry(std::size_t index) const override {
    return {cel::Value::stringView(entries_[index].first), entries_[index].second};
  }

 private:
  const cel::Value* valueOf(const cel::Value& key) const {
    if (!key.is(cel::Kind::String)) return nullptr;
    const auto it =
        std::ranges::find(entries_, key.text(), &std::pair<std::string_view, cel::Value>::first);
    return it == entries_.end() ? nullptr : &it->second;
  }

  bool withDefault_;
  std::vector<std::pair<std::string_view, cel::Value>> entries_;
};

// The fields of the variable.
struct DeviceValues {
  cel::Value driver, attributes, capacity, allowMultipleAllocations;
};

class DeviceType final : public cel::ObjectType {
 public:
  std::string_view name() const override { return "kubernetes.DRADevice"; }
  std::optional<Field> field(std::string_view name) const override {
    const auto mapOf = [](cel::Type type) {
      return cel::Type::map(cel::Type::string(),
                            cel::Type::map(cel::Type::string(), std::move(type)));
    };
    if (name == "driver") return Field{0, cel::Type::string()};
    if (name == "attributes") return Field{1, mapOf(cel::Type::dyn())};
    if (name == "capacity") return Field{2, mapOf(cel::quantityType())};
    if (name == "allowMultipleAllocations") return Field{3, cel::Type::boolean()};
    return std::nullopt;
  }
  cel::Value get(const void* object, int field) const override {
    const auto& device = *static_cast<const DeviceValues*>(object);
    switch (field) {
      case 0:
        return device.driver;
      case 1:
        return device.attributes;
      case 2:
        return device.capacity;
      default:
        return device.allowMultipleAllocations;
    }
  }
  bool has(const void*, int) const override { return true; }
};

const DeviceType& deviceType() {
  static const DeviceType kType;
  return kType;
}

// Sizes of what `device` has: those that the API server's validation of ResourceSlices allows.
class DeviceCosts final : public cel::KubernetesCostModel {
 public:
  std::optional<cel::SizeEstimate> estimateSize(const cel::CostNode& node) const override {
    if (node.path.empty() || node.path[0] != "device") return std::nullopt;
    const Sizes* at = &device();
    for (std::size_t i = 1; at && i < node.path.size(); ++i) at = at->find(node.path[i]);
    return at ? std::optional(cel::SizeEstimate{0, at->most}) : std::nullopt;
  }

 private:
  struct Sizes {
    std::uint64_t most = 0;
    std::vector<std::pair<std::string_view, Sizes>> parts;
    bool sameElements = false;  // every field of a map has the size of "@values"

    const Sizes* find(std::string_view part) const {
      auto it = std::ranges::find(parts, part, &std::pair<std::string_view, Sizes>::first);
      if (it == parts.end() && sameElements)
        it = std::ranges::find(parts, "@values", &std::pair<std::string_view, Sizes>::first);
      return it == parts.end() ? nullptr : &it->second;
    }
  };

  static const Sizes& device() {
    const auto byDomain = [](Sizes element, bool sameElements) {
      const Sizes inner{api::kMaxDeviceFields,
                        {{"@keys", {api::kMaxDeviceFieldName}}, {"@values", std::move(element)}},
                        sameElements};
      return Sizes{api::kMaxDeviceFields,
                   {{"@keys", {api::kMaxDeviceFieldDomain}}, {"@values", inner}}};
    };
    static const Sizes kDevice{
        0,
        {{"driver", {api::kMaxDriverName}},
         {"attributes",
          byDomain({std::max(api::kMaxAttributeText, api::kMaxAttributeValues)}, true)},
         {"capacity", byDomain({}, false)},
         {"allowMultipleAllocations", {1}}}};
    return kDevice;
  }
};

const DeviceCosts& deviceCosts() {
  static const DeviceCosts kCosts;
  return kCosts;
}

const cel::Environment& environment() {
  static const cel::Environment kEnvironment = [] {
    cel::EnvironmentOptions options;
    options.variables = {{"device", cel::Type::object(deviceType())}};
    options.libraries = cel::kubernetesLibraries();
    if (std::ranges::find(options.libraries, &cel::bindingsLibrary()) == options.libraries.end())
      options.libraries.push_back(&cel::bindingsLibrary());
    options.costModel = &deviceCosts();
    options.homogeneousLiterals = true;
    return cel::Environment::create(std::move(options)).value();
  }();
  return kEnvironment;
}

Result<cel::Value> versionValue(const std::string& text) {
  auto version = cel::SemanticVersion::parse(text);
  if (!version)
    return fail(ErrorCode::Invalid, "parse semantic version: " + version.error().message);
  return cel::semverValue(*std::move(version));
}

template <class T, class Make>
cel::Value listValue(const api::List<T>& items, Make&& make) {
  std::vector<cel::Value> values;
  for (const auto& item : items) values.push_back(make(item));
  return cel::Value::list(std::move(values));
}

Result<cel::Value> valueOf(const api::DeviceAttribute& attribute) {
  using cel::Value;
  if (!attribute.ints.empty()) return listValue(attribute.ints, &Value::integer);
  if (!attribute.bools.empty()) return listValue(attribute.bools, &Value::boolean);
  if (!attribute.strings.empty())
    return listValue(attribute.strings,
                     [](const std::string& text) { return Value::stringView(text); });
  if (!attribute.versions.empty()) {
    std::vector<Value> values;
    for (const std::string& text : attribute.versions) {
      auto value = versionValue(text);
      if (!value) return value;
      values.push_back(*std::move(value));
    }
    return Value::list(std::move(values));
  }
  if (attribute.int_) return Value::integer(*attribute.int_);
  if (attribute.bool_) return Value::boolean(*attribute.bool_);
  if (attribute.string) return Value::stringView(*attribute.string);
  if (attribute.version) return versionValue(*attribute.version);
  return fail(ErrorCode::Invalid, "unsupported attribute value");
}

// The entries by domain; those without a domain belong to the driver's.
template <class T, class Make>
Result<cel::Value> byDomain(const api::Map<T>& entries, const std::string& driver, Make&& make) {
  std::vector<std::pair<std::string_view, TextMap*>> domains;
  auto* outer = new TextMap(true);
  cel::Value result = cel::Value::adopt(outer);
  for (const auto& [qualified, entry] : entries) {
    const std::string_view text = qualified;
    const std::size_t slash = text.find('/');
    const bool own = slash == std::string_view::npos;
    const std::string_view domain = own ? std::string_view(driver) : text.substr(0, slash);
    Result<cel::Value> value = make(entry);
    if (!value)
      return fail(ErrorCode::Invalid,
                  fmt::format("attribute {}: {}", qualified, value.error().message));
    auto it = std::ranges::find(domains, domain, &std::pair<std::string_view, TextMap*>::first);
    if (it == domains.end()) {
      it = domains.insert(domains.end(), {domain, new TextMap(false)});
      outer->add(domain, cel::Value::adopt(it->second));
    }
    it->second->add(own ? text : text.substr(slash + 1), *std::move(value));
  }
  return result;
}

}  // namespace

struct DeviceExpression::State {
  cel::Program program;
};

Result<DeviceExpression> DeviceExpression::compile(const std::string& text) {
  auto program = environment().compile(text);
  if (!program) return fail(ErrorCode::Invalid, "compilation failed: " + program.error().message);
  const cel::Type& type = program->resultType();
  if (!type.isDyn() && type.kind() != cel::TypeKind::Bool)
    return fail(ErrorCode::Invalid,
                fmt::format("must evaluate to bool or the unknown type, not {}", type.toString()));
  return DeviceExpression(std::make_shared<const State>(State{*std::move(program)}));
}

std::uint64_t DeviceExpression::maxCost() const {
  return state_->program.estimateCost().max;
}

Result<bool> DeviceExpression::matches(const std::string& driver,
                                       const api::Map<api::DeviceAttribute>& attributes,
                                       const api::Map<api::DeviceCapacity>& capacity,
                                       bool allowMultipleAllocations) const {
  static const std::size_t kVariable = *environment().variable("device");
  auto attributeValues = byDomain(attributes, driver, &valueOf);
  if (!attributeValues) return fail(std::move(attributeValues.error()));
  auto capacityValues =
      byDomain(capacity, driver, [](const api::DeviceCapacity& entry) -> Result<cel::Value> {
        return cel::quantityValue(entry.value);
      });
  if (!capacityValues) return fail(std::move(capacityValues.error()));
  const DeviceValues device{cel::Value::stringView(driver), *std::move(attributeValues),
                            *std::move(capacityValues),
                            cel::Value::boolean(allowMultipleAllocations)};
  cel::Activation activation(environment());
  activation.set(kVariable, cel::Value::object(deviceType(), &device));
  const auto result = state_->program.evaluate(activation, {.cost = kDeviceSelectorCost});
  if (!result) return fail(result.error());
  if (!result->is(cel::Kind::Bool))
    return fail(ErrorCode::Invalid,
                fmt::format("CEL result of type {} could not be converted to bool",
                            result->runtimeType().toString()));
  return result->asBool();
}

}  // namespace koord::model
