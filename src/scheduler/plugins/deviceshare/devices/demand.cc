#include "scheduler/plugins/deviceshare/devices/demand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/codec.h"
#include "scheduler/plugins/deviceshare/devices/demand_documents.h"

namespace koord::scheduler {

namespace {

TopologyScope scopeOf(std::string_view text) {
  using enum TopologyScope;
  constexpr std::pair<std::string_view, TopologyScope> kScopes[] = {
      {"Node", Node}, {"NUMANode", NumaNode}, {"PCIe", Pcie}, {"Device", Device}};
  for (const auto& [name, scope] : kScopes)
    if (name == text) return scope;
  return Any;
}

Result<std::optional<api::Selector>> compileFor(std::string_view what, std::string_view type,
                                                const std::optional<api::LabelSelector>& document) {
  if (!document) return std::optional<api::Selector>();
  auto selector = api::Selector::compile(*document);
  if (selector) return std::optional(*std::move(selector));
  return fail(ErrorCode::Invalid, fmt::format("invalid {} of DeviceHint, deviceType: {}, err: {}",
                                              what, type, selector.error().message));
}

// An unknown value counts as missing.
void checkKnown(std::string_view annotation, const std::string& path, std::string_view value,
                std::initializer_list<std::string_view> known, DeviceDemand& demand) {
  if (value.empty() || std::ranges::find(known, value) != known.end()) return;
  demand.ignored.push_back(fmt::format("metadata.annotations[{}].{}: \"{}\" is none of {}",
                                       annotation, path, value, fmt::join(known, ", ")));
}

void checkHint(const std::string& type, const DeviceHintDocument& document, DeviceDemand& demand) {
  const auto check = [&](const char* field, std::string_view value,
                         std::initializer_list<std::string_view> known) {
    checkKnown(kAnnotationDeviceHint, fmt::format("{}.{}", type, field), value, known, demand);
  };
  check("allocateStrategy", document.allocateStrategy, {"ApplyForAll", "RequestsAsCount"});
  check("requiredTopologyScope", document.requiredTopologyScope,
        {"Device", "PCIe", "NUMANode", "Node"});
  check("exclusivePolicy", document.exclusivePolicy, {"DeviceLevel", "PCIeLevel"});
}

Result<DeviceHint> hintOf(std::string_view type, const DeviceHintDocument& document) {
  DeviceHint hint;
  auto selector = compileFor("Selector", type, document.selector);
  if (!selector) return fail(std::move(selector.error()));
  hint.selector = *std::move(selector);
  auto functions = compileFor("VFSelector", type, document.vfSelector);
  if (!functions) return fail(std::move(functions.error()));
  hint.vfSelector = *std::move(functions);
  if (document.allocateStrategy == "ApplyForAll") hint.strategy = DeviceHint::Strategy::ApplyForAll;
  if (document.allocateStrategy == "RequestsAsCount")
    hint.strategy = DeviceHint::Strategy::RequestsAsCount;
  hint.scope = scopeOf(document.requiredTopologyScope);
  hint.scoped = !document.requiredTopologyScope.empty();
  if (document.exclusivePolicy == "DeviceLevel") hint.exclusive = DeviceHint::Exclusive::Device;
  if (document.exclusivePolicy == "PCIeLevel") hint.exclusive = DeviceHint::Exclusive::Pcie;
  return hint;
}

Error invalid(std::string_view what, const Error& error) {
  return {
      ErrorCode::Invalid, fmt::format("invalid {} annotation, err: {}", what, error.message), {}};
}

Result<> readHints(std::string_view text, DeviceDemand& demand) {
  constexpr std::string_view kWhat = "DeviceAllocateHint";
  const auto document = parseJson(text);
  if (!document) return fail(invalid(kWhat, document.error()));
  if (document->is_null()) return {};
  if (!document->is_object())
    return fail(invalid(kWhat, {ErrorCode::Invalid, "expected an object of hints", {}}));
  for (const auto& [name, value] : document->get_object()) {
    if (value.is_null()) continue;
    auto hint = api::decode<DeviceHintDocument>(value);
    if (!hint) return fail(invalid(kWhat, std::move(hint.error()).within(std::string(name))));
    auto compiled = hintOf(name, *hint);
    if (!compiled) return fail(std::move(compiled.error()));
    if (const auto type = deviceTypeOf(name)) {
      checkHint(std::string(name), *hint, demand);
      at(demand.hints, *type) = *std::move(compiled);
    } else {
      demand.ignored.push_back(fmt::format("metadata.annotations[{}].{}: unknown type of devices",
                                           kAnnotationDeviceHint, std::string_view(name)));
    }
  }
  return {};
}

Result<> readJoint(std::string_view text, DeviceDemand& demand) {
  const auto document = api::decodeText<JointDocument>(text);
  if (!document) return fail(invalid("DeviceJointAllocate", document.error()));
  demand.samePcie = document->requiredScope == "SamePCIe";
  checkKnown(kAnnotationDeviceJoint, "requiredScope", document->requiredScope, {"SamePCIe"},
             demand);
  for (const auto& name : document->deviceTypes) {
    const auto type = deviceTypeOf(name);
    checkKnown(kAnnotationDeviceJoint, "deviceTypes", name, {"gpu", "rdma", "fpga"}, demand);
    if (!type || !demand.wants(*type)) continue;
    const auto& hint = at(demand.hints, *type);
    const bool all = hint && hint->strategy == DeviceHint::Strategy::ApplyForAll;
    if (!all && std::ranges::find(demand.joint, *type) == demand.joint.end())
      demand.joint.push_back(*type);
  }
  return {};
}

Result<> readPartition(std::string_view text, DeviceDemand& demand) {
  const auto document = api::decodeText<PartitionSpecDocument>(text);
  if (!document) return fail(invalid("GPUPartitionSpec", document.error()));
  demand.partition.honor = true;
  demand.partition.bestOnly = document->allocatePolicy == "Restricted";
  checkKnown(kAnnotationPartitionSpec, "allocatePolicy", document->allocatePolicy,
             {"Restricted", "BestEffort"}, demand);
  if (document->ringBusBandwidth)
    demand.partition.ringBandwidth = document->ringBusBandwidth->value();
  return {};
}

}  // namespace

bool DeviceDemand::hasSelectors() const {
  return std::ranges::any_of(hints, [](const auto& hint) { return hint && hint->selector; });
}

Result<DeviceDemand> readDeviceDemand(const api::ResourceList& podRequests,
                                      const api::StringMap& annotations) {
  DeviceDemand demand;
  auto requests = readDeviceRequests(podRequests);
  if (!requests) return fail(std::move(requests.error()));
  demand.requests = *std::move(requests);
  if (demand.empty()) return demand;
  const auto read = [&](std::string_view key, auto&& reader) -> Result<> {
    const auto* text = api::findIn(annotations, key);
    return text ? reader(*text, demand) : Result<>();
  };
  if (auto done = read(kAnnotationDeviceHint, readHints); !done) return fail(done.error());
  if (auto done = read(kAnnotationDeviceJoint, readJoint); !done) return fail(done.error());
  if (!demand.wants(DeviceType::Gpu)) return demand;
  demand.gpu = gpuRequirementOf(at(demand.requests, DeviceType::Gpu));
  if (auto done = read(kAnnotationPartitionSpec, readPartition); !done) return fail(done.error());
  return demand;
}

}  // namespace koord::scheduler
