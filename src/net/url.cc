#include "net/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace koord::net {
namespace {

bool isUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, bool plusIsBlank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plusIsBlank) {
      out += ' ';
    } else if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return fail(ErrorCode::BadRequest,
                    fmt::format("\"{}\" has a % that two hexadecimal digits do not follow", text));
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Text of a request that is shown in answers, which are JSON, and stored. Tabs and line breaks are
// possible in what a query says.
Result<> checkText(std::string_view text, std::string_view what, bool linesAllowed) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool line = c == '\t' || c == '\n' || c == '\r';
    if ((byte < 0x20 && !(line && linesAllowed)) || byte == 0x7f)
      return fail(
          ErrorCode::BadRequest,
          fmt::format("the {} of the request has the control character %{:02X}", what, byte));
  }
  if (!isUtf8(text))
    return fail(ErrorCode::BadRequest, fmt::format("the {} of the request is not UTF-8", what));
  return {};
}

}  // namespace

std::string_view Target::param(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return {};
}

bool Target::has(std::string_view name) const {
  return std::ranges::any_of(query, [&](const auto& param) { return param.first == name; });
}

Result<Target> parseTarget(std::string_view target) {
  if (const auto scheme = target.find("://"); scheme != target.npos && !target.starts_with('/')) {
    const auto slash = target.find('/', scheme + 3);
    target = slash == target.npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/')) {
    return fail(ErrorCode::BadRequest,
                fmt::format("request target \"{}\" does not begin with a slash", target));
  }
  target = target.substr(0, target.find('#'));
  const auto mark = target.find('?');
  auto path = decode(target.substr(0, mark), false);
  if (!path) return fail(std::move(path.error()));
  if (auto good = checkText(*path, "path", false); !good) return fail(std::move(good.error()));
  Target parsed{std::move(*path), {}};
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const auto param = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (param.empty()) continue;
    const auto equals = param.find('=');
    auto key = decode(param.substr(0, equals), true);
    if (!key) return fail(std::move(key.error()));
    auto value = decode(equals == param.npos ? std::string_view() : param.substr(equals + 1), true);
    if (!value) return fail(std::move(value.error()));
    for (const auto* text : {&*key, &*value})
      if (auto good = checkText(*text, "query", true); !good) return fail(std::move(good.error()));
    parsed.query.emplace_back(std::move(*key), std::move(*value));
  }
  return parsed;
}

std::string percentEncode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (isUnreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Result<std::string> percentDecode(std::string_view text) {
  return decode(text, false);
}

std::string encodeQuery(const QueryParams& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    if (!out.empty()) out += '&';
    out += percentEncode(key) + '=' + percentEncode(value);
  }
  return out;
}

std::string Url::origin() const {
  const bool ipv6 = host.find(':') != host.npos;
  return fmt::format("{}://{}{}{}:{}", scheme, ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

Result<Url> parseUrl(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::BadRequest, fmt::format("URL \"{}\": {}", text, why));
  };
  const auto colon = text.find("://");
  if (colon == text.npos) return bad("no scheme such as https:// at its beginning");
  Url url;
  for (const char c : text.substr(0, colon)) {
    url.scheme += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  if (url.scheme == "https") {
    url.port = 443;
  } else if (url.scheme == "http") {
    url.port = 80;
  } else {
    return bad("the scheme must be http or https");
  }

  auto rest = text.substr(colon + 3);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  auto authority = rest.substr(0, end);
  rest.remove_prefix(end);
  if (authority.find('@') != authority.npos) return bad("must not hold a user name or password");

  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == authority.npos) return bad("the bracket of the IPv6 address is not closed");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const auto portColon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, portColon);
    port = authority.substr(portColon);
  }
  if (url.host.empty()) return bad("no host");
  if (!port.empty()) {
    if (port.front() != ':') return bad("something that is no port follows the host");
    port.remove_prefix(1);
    const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || stop != port.data() + port.size() || url.port == 0) {
      return bad("the port must be a number from 1 to 65535");
    }
  }
  rest = rest.substr(0, rest.find('#'));
  url.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  return url;
}

}  // namespace koord::net
