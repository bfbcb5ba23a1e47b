#include "net/http_types.h"

#include <algorithm>

namespace koord::net {

bool sameHeaderName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view headerOf(const Headers& headers, std::string_view name) {
  for (const auto& header : headers)
    if (sameHeaderName(header.name, name)) return header.value;
  return {};
}

}  // namespace koord::net
