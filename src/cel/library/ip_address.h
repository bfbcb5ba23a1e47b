#pragma once

// IP addresses and ranges of addresses, as CEL's libraries read and write them: RFC 4291 and RFC
// 5952, without zones and without IPv4 addresses mapped into IPv6.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::cel {

struct IpAddress {
  bool v4 = false;
  std::array<std::uint8_t, 16> bytes{};  // the first four of an IPv4 address

  // BadRequest with the reason. An IPv4 address that is mapped into IPv6 is refused; with `unmap`,
  // it is read as the IPv4 address unless it is written with dots.
  static Result<IpAddress> parse(std::string_view text, bool unmap = false);
  std::string toString() const;
  int bits() const { return v4 ? 32 : 128; }
  bool isUnspecified() const;
  bool isLoopback() const;
  bool isLinkLocalUnicast() const;
  bool isLinkLocalMulticast() const;
  bool isGlobalUnicast() const;
  // The address with all bits after the first `length` set to 0.
  IpAddress masked(int length) const;
  bool operator==(const IpAddress&) const = default;
};

struct IpRange {
  IpAddress address;
  int length = 0;  // of the prefix, in bits

  static Result<IpRange> parse(std::string_view text, bool unmap = false);
  std::string toString() const;
  bool contains(const IpAddress& other) const;
  // True if all addresses of the other range are in this one.
  bool contains(const IpRange& other) const;
  bool operator==(const IpRange&) const = default;
};

}  // namespace koord::cel
