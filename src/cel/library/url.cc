#include "cel/library/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace koord::cel {

namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isDecimal(char c) {
  return c >= '0' && c <= '9';
}
int hexValue(char c) {
  if (isDecimal(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::unexpected<Error> invalidUrl(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::BadRequest,
      fmt::format("URL parse error during conversion from string: parse \"{}\": {}", text, why));
}

// "%41" becomes "A"; nullopt if an escape is incomplete.
std::optional<std::string> percentDecoded(std::string_view text, bool plusIsSpace) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || hexValue(text[i + 1]) < 0 || hexValue(text[i + 2]) < 0)
        return std::nullopt;
      result += static_cast<char>(hexValue(text[i + 1]) * 16 + hexValue(text[i + 2]));
      i += 2;
    } else {
      result += plusIsSpace && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

// Reads the scheme off the front; false if the text begins with a colon.
bool readScheme(std::string_view& text, std::string& scheme) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isLetter(c)) continue;
    if (isDecimal(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) return true;
      continue;
    }
    if (c != ':') return true;
    if (i == 0) return false;
    scheme = text.substr(0, i);
    std::ranges::transform(scheme, scheme.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    });
    text.remove_prefix(i + 1);
    return true;
  }
  return true;
}

bool isPort(std::string_view text) {
  if (text.empty()) return true;
  return text[0] == ':' && std::ranges::all_of(text.substr(1), isDecimal);
}

bool isHostCharacter(char c) {
  return isLetter(c) || isDecimal(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
}

// The reason why a host is invalid; "" if it is not.
std::string hostProblem(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.rfind(']');
    if (end == std::string_view::npos) return "missing ']' in host";
    if (!isPort(host.substr(end + 1)))
      return fmt::format("invalid port \"{}\" after host", host.substr(end + 1));
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    if (!isPort(host.substr(colon)))
      return fmt::format("invalid port \"{}\" after host", host.substr(colon));
  }
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (!isHostCharacter(host[i]))
      return fmt::format("invalid character \"{}\" in host name", host[i]);
    if (host[i] == '%' &&
        (i + 2 >= host.size() || hexValue(host[i + 1]) < 0 || hexValue(host[i + 2]) < 0))
      return "invalid URL escape";
  }
  return {};
}

bool isPathCharacter(char c) {
  return isLetter(c) || isDecimal(c) ||
         std::string_view("-_.~$&+,/:;=@!'()*[]%").find(c) != std::string_view::npos;
}

}  // namespace

Result<Url> Url::parseRequestUri(std::string_view text) {
  if (text.empty()) return invalidUrl(text, "empty url");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return invalidUrl(text, "net/url: invalid control character in URL");
  Url url;
  if (text == "*") {
    url.path = "*";
    return url;
  }
  std::string_view rest = text;
  if (!readScheme(rest, url.scheme)) return invalidUrl(text, "missing protocol scheme");
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return url;  // opaque: "mailto:someone"
    return invalidUrl(text, "invalid URI for request");
  }
  if (!url.scheme.empty() && rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos)
      authority.remove_prefix(at + 1);
    if (auto problem = hostProblem(authority); !problem.empty()) return invalidUrl(text, problem);
    url.host = percentDecoded(authority, false).value_or(std::string(authority));
  }
  if (!percentDecoded(rest, false)) return invalidUrl(text, "invalid URL escape");
  url.path = rest;
  return url;
}

std::string Url::hostname() const {
  std::string_view name = host;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && isPort(name.substr(colon))) name = name.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string Url::port() const {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || !isPort(std::string_view(host).substr(colon))) return {};
  return host.substr(colon + 1);
}

std::string Url::escapedPath() const {
  if (std::ranges::all_of(path, isPathCharacter)) return path;
  std::string result;
  for (const char c : percentDecoded(path, false).value_or(path)) {
    if (isPathCharacter(c) && std::string_view("!'()*[]%").find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> Url::parameters() const {
  std::vector<std::pair<std::string, std::string>> result;
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (part.empty() || part.find(';') != std::string_view::npos) continue;
    const std::size_t mark = part.find('=');
    auto name = percentDecoded(part.substr(0, mark), true);
    auto value = mark == std::string_view::npos ? std::optional<std::string>("")
                                                : percentDecoded(part.substr(mark + 1), true);
    if (name && value) result.emplace_back(*std::move(name), *std::move(value));
  }
  return result;
}

}  // namespace koord::cel
