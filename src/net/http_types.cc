#include "net/http_types.h"

#include "base/ascii.h"

namespace koord::net {

bool sameHeaderName(std::string_view a, std::string_view b) {
  return sameIgnoringCase(a, b);
}

std::string_view headerOf(const Headers& headers, std::string_view name) {
  for (const auto& header : headers)
    if (sameHeaderName(header.name, name)) return header.value;
  return {};
}

}  // namespace koord::net
