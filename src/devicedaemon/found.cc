#include "devicedaemon/found.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/quantity.h"
#include "base/utf8.h"
#include "model/well_known.h"

namespace koord::devicedaemon {
namespace {

constexpr std::size_t kLongestName = 63;  // maximum of a label's value

json::object topologyOf(const Found& device) {
  json::object topology;
  topology["socketID"] = "-1";
  if (device.numaNode) topology["nodeID"] = std::to_string(*device.numaNode);
  if (!device.rootComplex.empty()) topology["pcieID"] = device.rootComplex;
  if (!device.busId.empty()) topology["busID"] = device.busId;
  return topology;
}

json::object entryOf(const Found& device) {
  json::object resources;
  for (const auto& [name, amount] : device.resources) resources[name] = amount;
  json::object status;
  status["healthy"] = device.isHealthy();
  if (!device.faultCode.empty()) status["errCode"] = asUtf8(device.faultCode);
  if (!device.fault.empty()) status["errMessage"] = asUtf8(device.fault);
  return {{"vendor", device.vendor},
          {"model", device.model},
          {"uuid", device.uuid},
          {"minor", std::to_string(device.minor)},
          {"resources", std::move(resources)},
          {"topology", topologyOf(device)},
          {"status", std::move(status)}};
}

std::optional<int> smallNumber(std::string_view text) {
  int number = 0;
  if (text.empty() || text.size() > 6) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

Result<Found> entryIn(const json::value& entry) {
  Found device;
  device.vendor = textAt(entry, "vendor");
  device.model = textAt(entry, "model");
  device.uuid = textAt(entry, "uuid");
  const auto minor = smallNumber(textAt(entry, "minor"));
  if (!minor)
    return fail(ErrorCode::Invalid, fmt::format("device '{}': minor is not a number", device.uuid));
  device.minor = *minor;
  for (const auto& [name, amount] : membersOf(memberOf(entry, "resources")))
    if (amount.is_string()) device.resources[name] = amount.get_string();
  device.numaNode = smallNumber(textAt(entry, "topology", "nodeID"));
  device.rootComplex = textAt(entry, "topology", "pcieID");
  device.busId = textAt(entry, "topology", "busID");
  device.faultCode = textAt(entry, "status", "errCode");
  device.fault = textAt(entry, "status", "errMessage");
  return device;
}

bool isLabelValue(std::string_view text) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= kLongestName && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::ranges::all_of(text, [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool isPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Result<> checkAmounts(const Found& device) {
  for (const auto& [name, amount] : device.resources) {
    const auto quantity = Quantity::parse(amount);
    const bool memory = name == model::kGpuMemory;
    if (!quantity || *quantity < Quantity::of(memory ? 1 : 0))
      return fail(ErrorCode::Invalid,
                  fmt::format("device {}: {} of {}", device.uuid, amount, name));
  }
  return {};
}

}  // namespace

std::string fileText(const std::vector<Found>& devices) {
  json::array list;
  for (const auto& device : devices) list.push_back(entryOf(device));
  return toPrettyJson(list);
}

Result<std::vector<Found>> foundIn(std::string_view text) {
  const auto document = parseJson(text);
  if (!document) return fail(document.error());
  if (!document->is_array()) return fail(ErrorCode::Invalid, "not a JSON list");
  std::vector<Found> devices;
  for (const auto& entry : document->get_array()) {
    auto device = entryIn(entry);
    if (!device) return fail(std::move(device.error()));
    devices.push_back(*std::move(device));
  }
  return devices;
}

Result<> checkFound(const std::vector<Found>& devices) {
  std::set<std::string_view> uuids;
  std::set<int> minors;
  for (const auto& device : devices) {
    if (device.uuid.empty() || !isPrintable(device.uuid))
      return fail(ErrorCode::Invalid,
                  fmt::format("device {} has an invalid UUID '{}'", device.minor, device.uuid));
    if (!isLabelValue(device.model))
      return fail(ErrorCode::Invalid,
                  fmt::format("device {} has an invalid model '{}'", device.uuid, device.model));
    if (!uuids.insert(device.uuid).second || !minors.insert(device.minor).second)
      return fail(ErrorCode::Invalid, fmt::format("device {} or its minor {} is a duplicate",
                                                  device.uuid, device.minor));
    if (auto amounts = checkAmounts(device); !amounts) return amounts;
  }
  return {};
}

}  // namespace koord::devicedaemon
