#include "apiserver/objects/checks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/objects/formats.h"
#include "base/ascii.h"

namespace koord::apiserver {
namespace {

constexpr const char* kPortRange = "must be between 1 and 65535, inclusive";
constexpr std::size_t kMaxPortName = 15;
constexpr std::size_t kMaxDataKey = 253;

// As 16 bytes; IPv4 addresses are in the last four, as IPv6 embeds them.
std::array<unsigned char, 16> bytesOf(std::string_view text) {
  std::array<unsigned char, 16> out{};
  const std::string address(text);
  if (inet_pton(AF_INET6, address.c_str(), out.data()) == 1) return out;
  out = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  inet_pton(AF_INET, address.c_str(), out.data() + 12);
  return out;
}

}  // namespace

void validatePortNumber(std::int64_t number, const std::string& path, FieldErrors& errors) {
  if (number < 1 || number > 65535) errors.invalid(path, number, kPortRange);
}

std::vector<std::string> checkPortName(std::string_view name) {
  std::vector<std::string> wrong;
  if (name.size() > kMaxPortName)
    wrong.push_back(fmt::format("must be no more than {} characters", kMaxPortName));
  if (!std::ranges::all_of(name, [](char c) { return isLower(c) || isDigit(c) || c == '-'; }))
    wrong.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::ranges::none_of(name, [](char c) { return isLower(c); }))
    wrong.push_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos)
    wrong.push_back("must not contain consecutive hyphens");
  if (name.starts_with('-') || name.ends_with('-'))
    wrong.push_back("must not begin or end with a hyphen");
  return wrong;
}

void validatePortNumberOrName(const json::value& port, const std::string& path,
                              FieldErrors& errors) {
  if (port.is_int64()) return validatePortNumber(port.get_int64(), path, errors);
  if (!port.is_string()) return;
  for (auto& wrong : checkPortName(port.get_string())) errors.invalid(path, port, std::move(wrong));
}

void validateOneOf(const json::value& object, const std::string& path, const char* field,
                   const std::vector<std::string>& allowed, bool needed, FieldErrors& errors) {
  const auto value = textAt(object, field);
  const auto at = fmt::format("{}.{}", path, field);
  if (value.empty()) {
    if (needed) errors.required(at);
  } else if (std::ranges::find(allowed, value) == allowed.end()) {
    errors.unsupported(at, value, allowed);
  }
}

bool validateAddress(std::string_view address, const std::string& path, FieldErrors& errors) {
  if (hasFormat(address, "ipv4") || hasFormat(address, "ipv6")) return true;
  errors.invalid(path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  return false;
}

void validateReachable(std::string_view address, const std::string& path, FieldErrors& errors,
                       bool mayBeLoopback) {
  const auto bytes = bytesOf(address);
  const bool four = std::equal(bytes.begin(), bytes.begin() + 10, std::array<char, 10>{}.begin()) &&
                    bytes[10] == 0xff && bytes[11] == 0xff;
  const auto zeros = [&](std::size_t from, std::size_t to) {
    return std::all_of(bytes.begin() + from, bytes.begin() + to, [](auto b) { return b == 0; });
  };
  const bool unspecified = four ? zeros(12, 16) : zeros(0, 16);
  const bool loopback = four ? bytes[12] == 127 : zeros(0, 15) && bytes[15] == 1;
  const bool linkLocal =
      four ? bytes[12] == 169 && bytes[13] == 254 : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  const bool linkMulticast = four ? bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0
                                  : bytes[0] == 0xff && (bytes[1] & 0x0f) == 2;
  if (unspecified)
    errors.invalid(path, address, fmt::format("may not be unspecified ({})", address));
  if (loopback && !mayBeLoopback)
    errors.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (linkLocal)
    errors.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  if (linkMulticast)
    errors.invalid(path, address,
                   "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

void validateNetwork(std::string_view network, const std::string& path, FieldErrors& errors) {
  if (!hasFormat(network, "cidr"))
    errors.invalid(path, network,
                   "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
}

void validateDataKey(std::string_view key, const std::string& path, FieldErrors& errors) {
  if (key.size() > kMaxDataKey)
    errors.invalid(path, key, fmt::format("must be no more than {} characters", kMaxDataKey));
  const bool good = !key.empty() && std::ranges::all_of(key, [](char c) {
    return isLower(c) || isDigit(c) || isUpper(c) || c == '-' || c == '_' || c == '.';
  });
  if (!good) {
    errors.invalid(path, key,
                   "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                   "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                   "'[-._a-zA-Z0-9]+')");
  } else if (key == "." || key == "..") {
    errors.invalid(path, key, fmt::format("must not be '{}'", key));
  } else if (key.starts_with("..")) {
    errors.invalid(path, key, "must not start with '..'");
  }
}

}  // namespace koord::apiserver
