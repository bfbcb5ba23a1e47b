#include "model/device_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "base/split.h"

namespace koord::model {

namespace {

constexpr std::array<std::string_view, 7> kHardwareNames{
    "uuid", "parentuuid", "pcibusid", "pciebusid", "pciaddr", "pciaddress", "parentpciaddr"};

std::optional<unsigned> hexadecimal(std::string_view text, std::size_t most) {
  unsigned value = 0;
  if (text.empty() || text.size() > most) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// [domain:]bus:device.function
std::optional<std::string> pciAddress(std::string_view text) {
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto function = hexadecimal(text.substr(dot + 1), 1);
  text = text.substr(0, dot);
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto device = hexadecimal(text.substr(colon + 1), 2);
  text = text.substr(0, colon);
  const auto before = text.rfind(':');
  const bool hasDomain = before != std::string_view::npos;
  const auto domain = hasDomain ? hexadecimal(text.substr(0, before), 8) : 0U;
  const auto bus = hexadecimal(hasDomain ? text.substr(before + 1) : text, 2);
  if (!domain || !bus || !device || !function) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

}  // namespace

bool namesHardware(std::string_view attribute) {
  const std::string_view name = attribute.substr(attribute.rfind('/') + 1);
  return std::ranges::any_of(kHardwareNames,
                             [&](std::string_view known) { return sameIgnoringCase(name, known); });
}

std::string deviceIdentity(std::string_view text) {
  text = trim(text);
  if (auto address = pciAddress(text)) return *std::move(address);
  return lowered(text);
}

}  // namespace koord::model
