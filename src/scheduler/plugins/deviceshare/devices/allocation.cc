#include "scheduler/plugins/deviceshare/devices/allocation.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>

#include "api/codec.h"
#include "scheduler/plugins/deviceshare/devices/demand_documents.h"

namespace koord::scheduler {

namespace {

// No device has so many bytes, and sums of it cannot overflow.
constexpr std::int64_t kMaxGivenAmount = std::int64_t{1} << 48;

bool isMinor(std::int64_t minor) {
  return minor >= 0 && minor < Minors::kMaxCpus;
}

Result<AllocatedDevice> givenOf(const AllocatedDeviceDocument& document) {
  if (!isMinor(document.minor))
    return fail(ErrorCode::Invalid,
                fmt::format("minor: {} is not a number of a device", document.minor));
  AllocatedDevice given{
      static_cast<int>(document.minor), DeviceAmounts::of(document.resources), {}, {}};
  for (const auto& [name, amount] : document.resources)
    if (deviceResourceOf(name) && amount.value() > kMaxGivenAmount)
      return fail(ErrorCode::Invalid,
                  fmt::format("resources[{}]: {} is above the maximum", name, amount.toString()));
  if (!document.extension) return given;
  given.gpuTemplate = document.extension->gpuSharedResourceTemplate;
  for (std::size_t i = 0; i < document.extension->vfs.size(); ++i) {
    const AllocatedFunctionDocument& function = document.extension->vfs[i];
    if (!isMinor(function.minor))
      return fail(ErrorCode::Invalid,
                  fmt::format("extension.vfs[{}].minor: {} is not a number", i, function.minor));
    given.functions.push_back({static_cast<int>(function.minor), function.busID});
  }
  return given;
}

AllocatedDeviceDocument documentOf(const AllocatedDevice& given, const KnownDevice* known) {
  AllocatedDeviceDocument document;
  document.minor = given.minor;
  document.resources = given.amounts.toList();
  if (known) document.id = known->info->id;
  if (given.functions.empty() && given.gpuTemplate.empty()) return document;
  auto& extension = document.extension.emplace();
  extension.gpuSharedResourceTemplate = given.gpuTemplate;
  for (const AllocatedFunction& function : given.functions)
    extension.vfs.push_back({function.minor, function.busId});
  return document;
}

}  // namespace

Result<AllocatedDevices> parseAllocatedDevices(std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  AllocatedDevices given;
  if (document->is_null()) return given;
  if (!document->is_object())
    return fail(ErrorCode::Invalid, "expected an object of devices by type");
  for (const auto& [name, list] : document->get_object()) {
    const auto type = deviceTypeOf(name);
    if (!type || list.is_null()) continue;
    if (!list.is_array())
      return fail(ErrorCode::Invalid, fmt::format("{}: expected a list", std::string_view(name)));
    for (std::size_t i = 0; i < list.get_array().size(); ++i) {
      const std::string path = fmt::format("{}[{}]", std::string_view(name), i);
      const auto read = api::decode<AllocatedDeviceDocument>(list.get_array()[i], api::Reading::Go);
      if (!read) return fail(Error(read.error()).within(path));
      auto device = givenOf(*read);
      if (!device)
        return fail(ErrorCode::Invalid, fmt::format("{}.{}", path, device.error().message));
      at(given, *type).push_back(*std::move(device));
    }
  }
  return given;
}

std::vector<AllocatedId> parseAllocatedIds(std::string_view annotation) {
  std::vector<AllocatedId> ids;
  const auto document = parseJson(annotation);
  if (!document || !document->is_object()) return ids;
  for (const auto& [name, list] : document->get_object()) {
    const auto type = deviceTypeOf(name);
    if (!type || !list.is_array()) continue;
    for (const json::value& entry : list.get_array()) {
      const auto read = api::decode<AllocatedDeviceDocument>(entry, api::Reading::Go);
      if (read && isMinor(read->minor) && !read->id.empty())
        ids.push_back({*type, static_cast<int>(read->minor), read->id});
    }
  }
  return ids;
}

json::object describeAllocatedDevices(const AllocatedDevices& given,
                                      const DeviceInventory& inventory) {
  std::map<std::string_view, DeviceType> types;  // in the order of their names
  for (const DeviceType type : kDeviceTypes)
    if (!at(given, type).empty()) types.emplace(nameOf(type), type);
  json::object document;
  for (const auto& [name, type] : types) {
    json::array list;
    for (const AllocatedDevice& device : at(given, type)) {
      const AllocatedDeviceDocument each = documentOf(device, inventory.find(type, device.minor));
      json::value encoded = api::encode(each);
      // Upstream always writes the minor of a device, and omits 0 for functions.
      json::object ordered{{"minor", each.minor}};
      for (auto& [key, value] : encoded.get_object())
        if (key != "minor") ordered.emplace(key, std::move(value));
      list.push_back(std::move(ordered));
    }
    document.emplace(name, std::move(list));
  }
  return document;
}

}  // namespace koord::scheduler
