#pragma once

// URLs, request targets and query strings.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::net {

using QueryParams = std::vector<std::pair<std::string, std::string>>;

// A request's target, decoded: "/api/v1/pods?watch=1&labelSelector=a%3Db".
struct Target {
  std::string path;
  QueryParams query;

  // The first value of a parameter; "" if there is none.
  std::string_view param(std::string_view name) const;
  bool has(std::string_view name) const;
};
// BadRequest for broken escapes, control characters (%00) and text that is not UTF-8. Also takes
// the absolute form ("http://host/path"), whose host is ignored. Path segments that contain an
// encoded slash look like two segments.
Result<Target> parseTarget(std::string_view target);

// Everything but letters, digits and "-._~" becomes %XX.
std::string percentEncode(std::string_view text);
// "+" stays; a broken escape is an error.
Result<std::string> percentDecode(std::string_view text);
// "a=b&c=d%20e", without the question mark.
std::string encodeQuery(const QueryParams& query);

struct Url {
  std::string scheme;      // lower case
  std::string host;        // without the brackets of an IPv6 address
  std::uint16_t port = 0;  // given, or the scheme's: http 80, https 443
  std::string target;      // path and query as written; "/" if empty

  // "https://127.0.0.1:6443"; the port is always included.
  std::string origin() const;
};
// Checks scheme, host and port. Path and query are taken as they are, because users write them with
// characters that RFC 3986 requires to be escaped.
Result<Url> parseUrl(std::string_view text);

}  // namespace koord::net
