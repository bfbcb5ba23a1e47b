#include "koordlet/states/xpu_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/utf8.h"
#include "koordlet/system/small_file.h"
#include "model/node_names.h"
#include "model/well_known.h"

// Formats: upstream's koordlet (XPU device infos). Partitions follow from the links that each
// device names: a device and its peers form one, {"<how many>": [{"minors", "gpuLinkType",
// "allocationScore"}]}.

namespace koord::koordlet {
namespace {

constexpr std::size_t kLargest = 1 << 20;  // bytes of a file
constexpr std::size_t kLongestReason = 256, kLongestMessage = 2048;

std::optional<std::int32_t> numberIn(std::string_view text) {
  const auto number = parseInt(text);
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

api::DeviceTopology topologyIn(const json::value& topology) {
  return {-1, numberIn(textAt(topology, "nodeID")).value_or(-1),
          std::string(textAt(topology, "pcieID")), std::string(textAt(topology, "busID"))};
}

// Converts to a valid reason of a condition: "chip error", which upstream's daemon writes, to
// "chip_error".
std::string reasonOf(std::string_view code) {
  std::string reason(code.substr(0, kLongestReason));
  for (char& c : reason)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != ',' && c != ':') c = '_';
  if (!reason.empty() && !std::isalpha(static_cast<unsigned char>(reason.front())))
    reason.insert(0, "E");
  while (reason.ends_with(',') || reason.ends_with(':')) reason.pop_back();
  return reason;
}

void takeStatus(const json::value& status, WallTime now, api::DeviceInfo& device) {
  const auto* healthy = find(status, "healthy");
  device.health = healthy && healthy->is_bool() && healthy->get_bool();
  api::Condition condition{"Healthy", "True", 0, {}, "DeviceHealthy", "device is healthy"};
  if (!device.health) {
    const std::string reason = reasonOf(textAt(status, "errCode"));
    const auto message = utf8Prefix(textAt(status, "errMessage"), kLongestMessage);
    condition = {"Healthy",
                 "False",
                 0,
                 {},
                 reason.empty() ? "Unknown" : reason,
                 std::string(message.empty() ? "device is unhealthy" : message)};
  }
  condition.lastTransitionTime = now;
  device.conditions = {condition};
}

class Files {
 public:
  explicit Files(WallTime now) : now_(now) {}

  void read(const std::string& path) {
    const auto text = readSmallFile(path);
    if (!text) return problem(path, text.error().message);
    const auto document = text->size() > kLargest
                              ? Result<json::value>(fail(ErrorCode::Invalid, "too large"))
                              : parseJson(*text);
    if (!document) return problem(path, document.error().message);
    if (!document->is_array()) return problem(path, "not a JSON list");
    for (const auto& entry : document->get_array()) take(path, entry);
  }

  XpuInventory finish() {
    std::ranges::sort(result_.devices, {}, &api::DeviceInfo::id);
    if (!partitions_.empty()) {
      json::object table;
      for (auto& [size, list] : partitions_) table[std::to_string(size)] = std::move(list);
      result_.partitions = std::move(table);
    }
    return std::move(result_);
  }

 private:
  void problem(const std::string& path, std::string_view why) {
    result_.problems.push_back(fmt::format("{}: {}", path, why));
  }

  void take(const std::string& path, const json::value& entry) {
    const auto minor = numberIn(textAt(entry, "minor"));
    const std::string id(textAt(entry, "uuid"));
    if (id.empty() || !minor)
      return problem(path, fmt::format("device '{}': uuid and a number as minor are needed", id));
    api::DeviceInfo device;
    device.type = "gpu";
    device.id = id;
    device.minor = *minor;
    device.health = true;
    takeResources(path, entry, device);
    const auto* topology = find(entry, "topology");
    if (topology && topology->is_object()) {
      device.topology = topologyIn(*topology);
      takeLinks(path, *topology, *minor);
    }
    if (const auto* status = find(entry, "status"); status && status->is_object())
      takeStatus(*status, now_, device);
    if (result_.devices.empty()) takeLabels(entry, topology);
    result_.devices.push_back(std::move(device));
  }

  void takeResources(const std::string& path, const json::value& entry, api::DeviceInfo& device) {
    device.resources[model::kGpuMemoryRatio] = Quantity::of(100);
    const auto* resources = find(entry, "resources");
    if (!resources || !resources->is_object()) return;
    for (const auto& [key, value] : resources->get_object()) {
      std::string name(key);
      if (name == "gpu-core" || name == "gpu-memory") name = "koordinator.sh/" + name;
      const auto amount = value.is_string() ? Quantity::parse(std::string(value.get_string()))
                                            : fail(ErrorCode::Invalid, "not a text");
      if (amount) {
        device.resources[name] = *amount;
      } else {
        problem(path, fmt::format("device '{}': resource {}: {}", std::string_view(device.id), name,
                                  amount.error().message));
      }
    }
  }

  void takeLinks(const std::string& path, const json::value& topology, std::int32_t own) {
    const auto* links = find(topology, "p2pLinks");
    if (!links || !links->is_array()) return;
    for (const auto& link : links->get_array()) {
      const auto type = textAt(link, "type");
      std::set<std::int32_t> minors{own};
      bool whole = !type.empty() && !textAt(link, "peerMinor").empty();
      for (std::string_view rest = textAt(link, "peerMinor"); whole && !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto minor = numberIn(rest.substr(0, comma));
        whole = minor.has_value();
        if (minor) minors.insert(*minor);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
      if (!whole) {
        problem(path, fmt::format("device {}: a link without type or peers", own));
      } else if (known_.insert(minors).second) {
        partitions_[minors.size()].push_back(
            json::object{{"minors", json::array(minors.begin(), minors.end())},
                         {"gpuLinkType", type},
                         {"allocationScore", 1}});
      }
    }
  }

  void takeLabels(const json::value& entry, const json::value* topology) {
    result_.labels[std::string(model::kLabelGpuModel)] = textAt(entry, "model");
    result_.labels[std::string(model::kLabelGpuVendor)] = textAt(entry, "vendor");
    const auto* links = topology ? find(*topology, "p2pLinks") : nullptr;
    if (!links || !links->is_array()) return;
    const auto* must = find(*topology, "mustHonorPartition");
    result_.labels[std::string(model::kLabelGpuPartitionPolicy)] =
        must && must->is_bool() && must->get_bool() ? "Honor" : "Prefer";
  }

  WallTime now_;
  XpuInventory result_;
  std::set<std::set<std::int32_t>> known_;
  std::map<std::size_t, json::array> partitions_;
};

}  // namespace

XpuInventory readXpus(const std::string& folder, WallTime now) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (auto it = std::filesystem::directory_iterator(folder, ignored);
       !ignored && it != std::filesystem::directory_iterator(); it.increment(ignored)) {
    const std::string name = it->path().filename();
    if (!name.starts_with('.') && it->is_regular_file(ignored)) paths.push_back(it->path());
  }
  std::ranges::sort(paths);
  Files files(now);
  for (const auto& path : paths) files.read(path);
  return files.finish();
}

}  // namespace koord::koordlet
