#include "api/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace koord::api {
namespace {

bool isAlnum(char c) {
  return isLower(c) || isDigit(c) || isUpper(c);
}

bool isDnsLabel(std::string_view text) {
  const auto edge = [](char c) { return isLower(c) || isDigit(c); };
  return !text.empty() && edge(text.front()) && edge(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return edge(c) || c == '-'; });
}

bool isDnsSubdomain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!isDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool isNamePart(std::string_view text) {
  return !text.empty() && isAlnum(text.front()) && isAlnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return isAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string tooLong(std::size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}

}  // namespace

std::string checkDnsLabel(std::string_view name) {
  if (name.size() > 63) return tooLong(63);
  if (isDnsLabel(name)) return "";
  if (isDnsSubdomain(name)) return "must not contain dots";
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
         "and must "
         "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
         "for "
         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

std::string checkDnsSubdomain(std::string_view name) {
  if (name.size() > 253) return tooLong(253);
  if (isDnsSubdomain(name)) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
         "or '.', "
         "and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
         "for "
         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

std::string checkPathSegment(std::string_view name) {
  if (name == "." || name == "..") return fmt::format("may not be '{}'", name);
  for (const char c : {'/', '%'})
    if (name.find(c) != std::string_view::npos) return fmt::format("may not contain '{}'", c);
  return "";
}

std::string checkQualifiedName(std::string_view key) {
  const auto slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const auto prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
             "start "
             "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
             "regex "
             "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional "
             "DNS "
             "subdomain prefix and '/' (e.g. 'example.com/MyName')";
    if (prefix.empty()) return "prefix part must be non-empty";
    if (const auto wrong = checkDnsSubdomain(prefix); !wrong.empty()) return "prefix part " + wrong;
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + tooLong(63);
  if (isNamePart(name)) return "";
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
         "end with "
         "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
         "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

std::string checkLabelValue(std::string_view value) {
  if (value.size() > 63) return tooLong(63);
  if (value.empty() || isNamePart(value)) return "";
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
         "'.', "
         "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
         "or "
         "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

}  // namespace koord::api
