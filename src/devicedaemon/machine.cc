#include "devicedaemon/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/split.h"
#include "koordlet/system/pci.h"
#include "koordlet/system/small_file.h"

namespace koord::devicedaemon {
namespace {

std::optional<std::uint32_t> hexIn(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "0x19e5\n"; 0 if the file cannot be read.
std::uint32_t idIn(const std::string& path) {
  const auto text = koordlet::readSmallFile(path);
  if (!text || !text->starts_with("0x")) return 0;
  return hexIn(trim(std::string_view(*text).substr(2))).value_or(0);
}

}  // namespace

std::vector<PciId> pciIds(const Machine& machine) {
  std::vector<PciId> ids;
  const std::string folder = machine.sysRoot + "bus/pci/devices";
  for (const auto& name : koordlet::listDirs(folder)) {
    const std::string path = fmt::format("{}/{}/", folder, name);
    ids.push_back({idIn(path + "vendor"), idIn(path + "device"), idIn(path + "class") >> 8});
  }
  return ids;
}

std::vector<int> deviceNumbers(const Machine& machine, std::string_view name) {
  std::vector<int> numbers;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(machine.devRoot, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string file = it->path().filename();
    if (!file.starts_with(name)) continue;
    const auto number = koordlet::parseInt(std::string_view(file).substr(name.size()));
    if (number && *number >= 0 && *number < 100'000) numbers.push_back(static_cast<int>(*number));
  }
  std::ranges::sort(numbers);
  return numbers;
}

void place(const Machine& machine, Found& device) {
  if (device.busId.empty()) return;
  koordlet::HostDirs dirs;
  dirs.sysRoot = machine.sysRoot;
  const auto found = koordlet::pciPlaceOf(dirs, device.busId);
  if (!found) return;
  device.numaNode = found->numaNode;
  device.rootComplex = found->rootComplex;
}

std::string pciAddress(std::string_view text) {
  const auto first = text.find(':');
  const auto second = first == text.npos ? first : text.find(':', first + 1);
  const auto dot = second == text.npos ? second : text.find('.', second + 1);
  if (dot == text.npos) return {};
  const auto domain = hexIn(text.substr(0, first));
  const auto bus = hexIn(text.substr(first + 1, second - first - 1));
  const auto slot = hexIn(text.substr(second + 1, dot - second - 1));
  const auto function = hexIn(text.substr(dot + 1));
  if (!domain || !bus || !slot || !function || *bus > 0xff || *slot > 0x1f || *function > 7)
    return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *slot, *function);
}

}  // namespace koord::devicedaemon
