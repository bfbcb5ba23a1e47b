#include "cluster/simnode/addresses.h"

#include <arpa/inet.h>

#include <algorithm>

#include <fmt/format.h>

namespace koord::cluster {

namespace {

constexpr std::uint32_t kCount = 100U << 16;

}  // namespace

std::string Addresses::next() {
  const std::uint32_t address = first_ + ++given_ % kCount;
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 0xff, address >> 8 & 0xff,
                     address & 0xff);
}

void Addresses::take(const std::string& address) {
  in_addr parsed{};
  if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1) return;
  const std::uint32_t number = ntohl(parsed.s_addr) - first_;
  if (number < kCount) given_ = std::max(given_, number);
}

}  // namespace koord::cluster
