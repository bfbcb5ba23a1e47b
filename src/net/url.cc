#include "net/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/url/authority_view.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include "base/utf8.h"
#include "net/public_url.h"

namespace koord::net {
namespace {

namespace urls = boost::urls;

Result<std::string> decode(std::string_view text, bool plusIsBlank) {
  const auto escaped = urls::make_pct_string_view(text);
  if (!escaped) {
    return fail(
        ErrorCode::BadRequest,
        fmt::format("\"{}\" has a % that two hexadecimal digits do not follow", asUtf8(text)));
  }
  return escaped->decode(urls::encoding_opts(plusIsBlank));
}

// Checks text of a request that is stored and shown in JSON answers. Query values may have tabs and
// line breaks.
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
                fmt::format("request target \"{}\" does not begin with a slash", asUtf8(target)));
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
  return urls::encode(text, urls::unreserved_chars);
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
    return fail(ErrorCode::BadRequest,
                fmt::format("URL \"{}\": {}", withoutCredentials(text), why));
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
  const auto authority = urls::parse_authority(rest.substr(0, end));
  if (!authority) {
    const std::string shown = withoutCredentials(rest);
    return bad(fmt::format("\"{}\" is not a host, or host and port such as localhost:6443",
                           shown.substr(0, shown.find('/'))));
  }
  if (authority->has_userinfo()) return bad("must not hold a user name or password");
  const urls::string_view host = authority->encoded_host_address();
  url.host.assign(host.data(), host.size());
  if (url.host.empty()) return bad("no host");
  if (!authority->port().empty()) {
    url.port = authority->port_number();
    if (url.port == 0) return bad("the port must be a number from 1 to 65535");
  }
  rest.remove_prefix(end);
  rest = rest.substr(0, rest.find('#'));
  url.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  return url;
}

}  // namespace koord::net
