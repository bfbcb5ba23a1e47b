#include "cel/library/ip_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace koord::cel {

namespace {

std::unexpected<Error> invalidAddress(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::BadRequest,
      fmt::format("IP Address \"{}\" parse error during conversion from string: {}", text, why));
}

bool isMapped(const IpAddress& address) {
  const auto& bytes = address.bytes;
  return !address.v4 &&
         std::all_of(bytes.begin(), bytes.begin() + 10,
                     [](std::uint8_t byte) { return byte == 0; }) &&
         bytes[10] == 0xFF && bytes[11] == 0xFF;
}

// The longest run of groups that are 0, of at least two: [begin, end).
std::pair<int, int> longestZeros(const std::array<std::uint8_t, 16>& bytes) {
  std::pair<int, int> longest{-1, -1};
  for (int begin = 0; begin < 8; ++begin) {
    int end = begin;
    while (end < 8 && bytes[static_cast<std::size_t>(2 * end)] == 0 &&
           bytes[static_cast<std::size_t>(2 * end + 1)] == 0)
      ++end;
    if (end - begin >= 2 && end - begin > longest.second - longest.first) longest = {begin, end};
  }
  return longest;
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text, bool unmap) {
  if (text.find('%') != std::string_view::npos)
    return fail(ErrorCode::BadRequest,
                fmt::format("IP address \"{}\" with zone value is not allowed", text));
  IpAddress result;
  const std::string copy(text.substr(0, 64));
  result.v4 = text.find(':') == std::string_view::npos;
  if (text.find('\0') != std::string_view::npos || text.size() > 64 ||
      ::inet_pton(result.v4 ? AF_INET : AF_INET6, copy.c_str(), result.bytes.data()) != 1)
    return invalidAddress(text, "unable to parse IP");
  if (isMapped(result) && unmap && text.find('.') == std::string_view::npos) {
    IpAddress unmapped;
    unmapped.v4 = true;
    std::copy(result.bytes.begin() + 12, result.bytes.end(), unmapped.bytes.begin());
    return unmapped;
  }
  if (isMapped(result))
    return fail(ErrorCode::BadRequest,
                fmt::format("IPv4-mapped IPv6 address \"{}\" is not allowed", text));
  return result;
}

std::string IpAddress::toString() const {
  if (v4) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  const auto [begin, end] = longestZeros(bytes);
  std::string text;
  for (int group = 0; group < 8; ++group) {
    if (group == begin) {
      text += "::";
      group = end - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    const auto at = static_cast<std::size_t>(2 * group);
    text += fmt::format("{:x}", bytes[at] << 8 | bytes[at + 1]);
  }
  return text;
}

bool IpAddress::isUnspecified() const {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}
bool IpAddress::isLoopback() const {
  if (v4) return bytes[0] == 127;
  return bytes[15] == 1 &&
         std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}
bool IpAddress::isLinkLocalUnicast() const {
  return v4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
}
bool IpAddress::isLinkLocalMulticast() const {
  return v4 ? bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0
            : bytes[0] == 0xFF && (bytes[1] & 0x0F) == 2;
}
bool IpAddress::isGlobalUnicast() const {
  const bool multicast = v4 ? (bytes[0] & 0xF0) == 0xE0 : bytes[0] == 0xFF;
  const bool broadcast = v4 && std::all_of(bytes.begin(), bytes.begin() + 4,
                                           [](std::uint8_t byte) { return byte == 0xFF; });
  return !isUnspecified() && !isLoopback() && !multicast && !isLinkLocalUnicast() && !broadcast;
}

IpAddress IpAddress::masked(int length) const {
  IpAddress result = *this;
  for (int bit = length; bit < bits(); ++bit)
    result.bytes[static_cast<std::size_t>(bit / 8)] &=
        static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
  return result;
}

Result<IpRange> IpRange::parse(std::string_view text, bool unmap) {
  const auto invalid = [&](std::string_view why) {
    return fail(
        ErrorCode::BadRequest,
        fmt::format("CIDR \"{}\" parse error during conversion from string: {}", text, why));
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return invalid("no '/'");
  if (text.find('%') != std::string_view::npos)
    return fail(ErrorCode::BadRequest,
                fmt::format("CIDR \"{}\" with zone value is not allowed", text));
  const auto address = IpAddress::parse(text.substr(0, slash), unmap);
  if (!address) return std::unexpected(address.error());
  const std::string_view digits = text.substr(slash + 1);
  IpRange result{*address, 0};
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), result.length);
  if (code != std::errc() || end != digits.data() + digits.size() || digits[0] == '-' ||
      (digits.size() > 1 && digits[0] == '0'))
    return invalid("bad bits after slash");
  if (result.length > address->bits()) return invalid("prefix length out of range");
  return result;
}

std::string IpRange::toString() const {
  return fmt::format("{}/{}", address.toString(), length);
}

bool IpRange::contains(const IpAddress& other) const {
  return other.v4 == address.v4 && other.masked(length) == address.masked(length);
}

bool IpRange::contains(const IpRange& other) const {
  return length <= other.length && contains(other.address);
}

}  // namespace koord::cel
