#include "scheduler/plugins/dynamicresources/allocator/testing.h"

#include <fmt/format.h>

#include <regex>

#include "api/codec.h"

namespace koord::scheduler::dra::testing {

namespace {

using Condition = std::function<Result<bool>(const DeviceContent&)>;

// An attribute that no expression can read is an error of the evaluation, as in CEL.
Result<> checkAttributes(const DeviceContent& device) {
  for (const auto& [name, attribute] : device.attributes)
    if (ConstraintState::valueText(&attribute).empty())
      return fail(ErrorCode::Invalid, "unsupported attribute value");
  return {};
}

template <class T>
const T* memberOf(const api::Map<T>& map, const DeviceContent& device, const std::string& domain,
                  const std::string& name) {
  auto it = map.find(domain + "/" + name);
  if (it == map.end() && domain == device.driver) it = map.find(name);
  return it == map.end() ? nullptr : &it->second;
}

std::optional<Condition> conditionOf(const std::string& text) {
  std::smatch part;
  if (std::regex_match(text, part, std::regex(R"re(device\.driver == "([^"]*)")re")))
    return [driver = part[1].str()](const DeviceContent& device) -> Result<bool> {
      return device.driver == driver;
    };
  if (std::regex_match(text, part, std::regex("device\\.allowMultipleAllocations == (true|false)")))
    return [wanted = part[1] == "true"](const DeviceContent& device) -> Result<bool> {
      return device.allowMultipleAllocations == wanted;
    };
  const std::regex attribute(R"re(device\.attributes\["([^"]*)"\]\.(\w+)( == "([^"]*)")?)re");
  if (std::regex_match(text, part, attribute))
    return [domain = part[1].str(), name = part[2].str(), text = part[3].matched,
            wanted = part[4].str()](const DeviceContent& device) -> Result<bool> {
      const auto* value = memberOf(device.attributes, device, domain, name);
      if (!value) return fail(ErrorCode::Invalid, "no such key: " + name);
      return text ? value->string == wanted : value->bool_.value_or(false);
    };
  const std::regex capacity(
      R"re(device\.capacity\["([^"]*)"\](\.(\w+)|\["([^"]*)"\])\.compareTo\(quantity\("(\w+)"\)\) >= 0)re");
  if (std::regex_match(text, part, capacity))
    return [domain = part[1].str(), name = part[3].matched ? part[3].str() : part[4].str(),
            least = Quantity::parse(part[5].str()).value()](
               const DeviceContent& device) -> Result<bool> {
      const auto* value = memberOf(device.capacity, device, domain, name);
      if (!value) return fail(ErrorCode::Invalid, "no such key: " + name);
      return value->value >= least;
    };
  return std::nullopt;
}

class Conjunction final : public CompiledSelector {
 public:
  Conjunction(std::vector<Condition> conditions, std::size_t& evaluations)
      : conditions_(std::move(conditions)), evaluations_(evaluations) {}
  Result<bool> matches(const DeviceContent& device) const override {
    ++evaluations_;
    if (auto valid = checkAttributes(device); !valid) return fail(valid.error());
    for (const Condition& condition : conditions_) {
      const Result<bool> met = condition(device);
      if (!met || !*met) return met;
    }
    return true;
  }

 private:
  std::vector<Condition> conditions_;
  std::size_t& evaluations_;
};

}  // namespace

Result<std::shared_ptr<const CompiledSelector>> FakeCompiler::compile(
    const std::string& expression) {
  ++compilations;
  std::vector<Condition> conditions;
  for (std::size_t at = 0; at <= expression.size();) {
    const std::size_t end = std::min(expression.find(" && ", at), expression.size());
    const std::string part = expression.substr(at, end - at);
    const auto condition = conditionOf(part);
    if (!condition)
      return fail(ErrorCode::Invalid, "compilation failed: undeclared reference to '" + part + "'");
    conditions.push_back(*condition);
    at = end + 4;
  }
  return std::make_shared<const Conjunction>(std::move(conditions), evaluations);
}

void Bench::slice(api::ResourceSlice slice) {
  inventory.setSlice(nullptr, std::make_shared<const api::ResourceSlice>(std::move(slice)));
}

void Bench::class_(std::string_view json) {
  auto object =
      std::make_shared<const api::DeviceClass>(api::decodeText<api::DeviceClass>(json).value());
  classes[object->metadata.name] = std::move(object);
}

Result<std::vector<api::AllocationResult>> Bench::allocationsFor(std::vector<ClaimPtr> claims) {
  const auto plan = makePlan(
      std::move(claims), features,
      [&](const std::string& name) {
        const auto it = classes.find(name);
        return it == classes.end() ? nullptr : it->second;
      },
      matchers);
  if (!plan) return fail(plan.error());
  const NodeInventory& devices = inventory.of(node);
  Search search(*plan, devices, taints, expired);
  const Outcome outcome = search.run();
  steps = search.steps();
  switch (outcome.kind) {
    case Outcome::Kind::Found:
      return allocationsOf(*plan, devices, search, node->metadata.name,
                           [] { return std::string("shared"); });
    case Outcome::Kind::NotFound:
      return fail(ErrorCode::NotFound, "not found");
    case Outcome::Kind::Expired:
      return fail(ErrorCode::Timeout, "expired");
    default:
      return fail(ErrorCode::Invalid, outcome.message);
  }
}

std::string Bench::allocate(const std::vector<std::string>& claims) {
  std::vector<ClaimPtr> objects;
  for (const std::string& json : claims)
    objects.push_back(std::make_shared<const api::ResourceClaim>(
        api::decodeText<api::ResourceClaim>(json).value()));
  const auto allocations = allocationsFor(std::move(objects));
  if (!allocations) return allocations.error().message;
  std::string text;
  for (const auto& allocation : *allocations) {
    std::string devices;
    for (const auto& result : allocation.devices.results)
      devices += fmt::format("{}{}={}", devices.empty() ? "" : ",", result.request, result.device);
    text += (text.empty() ? "" : "; ") + devices;
  }
  return text;
}

}  // namespace koord::scheduler::dra::testing
