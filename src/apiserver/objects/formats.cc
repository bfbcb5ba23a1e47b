#include "apiserver/objects/formats.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <charconv>
#include <map>

#include "base/time.h"

namespace koord::apiserver {
namespace {

// inet_pton would read the text up to a zero byte.
bool isAddress(const std::string& text, int family) {
  if (text.find('\0') != std::string::npos) return false;
  in6_addr place{};
  return inet_pton(family, text.c_str(), &place) == 1;
}

bool isCidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string address(text.substr(0, slash));
  const auto digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (ec != std::errc{} || end != digits.data() + digits.size()) return false;
  return (isAddress(address, AF_INET) && bits <= 32) ||
         (isAddress(address, AF_INET6) && bits <= 128);
}

constexpr const char* kUuid =
    "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";

const std::map<std::string_view, const char*>& patterns() {
  static const std::map<std::string_view, const char*> all = {
      {"byte", "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
      {"email", R"([^@\s]+@[^@\s]+)"},
      {"hexcolor", "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"},
      {"hostname",
       "[a-zA-Z0-9]([a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?)"
       "*"},
      {"mac", "([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2})"},
      {"uri", R"(([a-zA-Z][a-zA-Z0-9+.-]*:|/)\S*)"},
      {"uuid", kUuid},
      {"uuid3", "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}"},
      {"uuid4", "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"},
      {"uuid5", "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"}};
  return all;
}

}  // namespace

bool hasFormat(std::string_view text, std::string_view format) {
  if (format == "date-time" || format == "datetime") return parseTime(text).has_value();
  if (format == "date")
    return text.size() == 10 && parseTime(fmt::format("{}T00:00:00Z", text)).has_value();
  if (format == "duration") return parseDuration(text).has_value();
  if (format == "ipv4") return isAddress(std::string(text), AF_INET);
  if (format == "ipv6") return isAddress(std::string(text), AF_INET6);
  if (format == "cidr") return isCidr(text);
  const auto pattern = patterns().find(format);
  return pattern == patterns().end() || re2::RE2::FullMatch(text, pattern->second);
}

}  // namespace koord::apiserver
