#include "base/base64.h"

#include <array>
#include <cstdint>

namespace koord {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

std::string base64Encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= part.size() ? kDigits[bits >> (18 - 6 * i) & 0x3f] : '=';
    bytes.remove_prefix(part.size());
  }
  return out;
}

Result<std::string> base64Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t digits = 0, padding = 0;
  bool bad = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const auto value = kValues[static_cast<unsigned char>(c)];
    if (c == '=') {
      ++padding;
    } else {
      bad = bad || value == kNoDigit || padding > 0;
    }
    bits = bits << 6 | (value & 0x3fU);
    if (++digits % 4 != 0) continue;
    for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(bits >> shift);
    bits = 0;
  }
  if (bad || digits % 4 != 0 || padding > 2) return fail(ErrorCode::BadRequest, "not valid base64");
  for (; padding > 0 && !out.empty(); --padding) out.pop_back();
  return out;
}

}  // namespace koord
