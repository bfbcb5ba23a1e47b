#include "koordlet/system/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kNetworkClass = "0x02";

std::string pciDirOf(const HostDirs& dirs, std::string_view busId) {
  return fmt::format("{}bus/pci/devices/{}", dirs.sysRoot, busId);
}

// The unresolved target of a link; "" if it is not a link.
std::string linkText(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error);
}

// "pci0000:3a" of ".../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0".
std::string rootComplexIn(std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.starts_with("pci") && part.find(':') != std::string_view::npos)
      return std::string(part);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return {};
}

// 1 of "mlx5_1"; other vendors' names have no number that could be a minor.
std::optional<int> minorOf(std::string_view rdmaDevice) {
  const auto underscore = rdmaDevice.rfind('_');
  if (!rdmaDevice.starts_with("mlx") || underscore == std::string_view::npos) return std::nullopt;
  const auto number = parseInt(rdmaDevice.substr(underscore + 1));
  if (!number || *number < 0 || *number > 0xffff) return std::nullopt;
  return static_cast<int>(*number);
}

bool portsActive(const std::string& rdmaDir) {
  const auto ports = listDirs(rdmaDir + "/ports");
  return !ports.empty() && std::ranges::all_of(ports, [&](const std::string& port) {
    const auto state = readSmallFile(fmt::format("{}/ports/{}/state", rdmaDir, port));
    return state && state->find("ACTIVE") != std::string::npos;
  });
}

std::vector<std::string> virtualFunctionsOf(const std::string& dir) {
  std::vector<std::string> functions;
  for (const auto& name : listDirs(dir)) {
    if (!name.starts_with("virtfn")) continue;
    const std::string target = linkText(fmt::format("{}/{}", dir, name));
    if (!target.empty()) functions.push_back(std::filesystem::path(target).filename());
  }
  std::ranges::sort(functions);
  return functions;
}

}  // namespace

Result<PciPlace> pciPlaceOf(const HostDirs& dirs, std::string_view busId) {
  const std::string dir = pciDirOf(dirs, busId);
  if (!pathExists(dir)) return fail(ErrorCode::NotFound, dir + " does not exist");
  PciPlace place;
  if (const auto text = readSmallFile(dir + "/numa_node"))
    if (const auto node = parseInt(*text); node && *node > 0)
      place.numaNode = static_cast<int>(*node);
  place.rootComplex = rootComplexIn(linkText(dir));
  return place;
}

std::vector<RdmaCard> rdmaCards(const HostDirs& dirs) {
  std::vector<RdmaCard> cards;
  for (const auto& busId : listDirs(dirs.sysRoot + "bus/pci/devices")) {
    const std::string dir = pciDirOf(dirs, busId);
    const auto deviceClass = readSmallFile(dir + "/class");
    if (!deviceClass || !deviceClass->starts_with(kNetworkClass)) continue;
    if (pathExists(dir + "/physfn")) continue;  // a virtual function
    // The physical function's device is created first and has the smallest name.
    const auto devices = listDirs(dir + "/infiniband");
    if (devices.empty()) continue;
    const auto minor = minorOf(devices.front());
    if (!minor) continue;
    RdmaCard card{busId,
                  *minor,
                  portsActive(fmt::format("{}/infiniband/{}", dir, devices.front())),
                  {},
                  virtualFunctionsOf(dir)};
    if (auto place = pciPlaceOf(dirs, busId)) card.place = *std::move(place);
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace koord::koordlet
