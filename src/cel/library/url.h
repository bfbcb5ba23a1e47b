#pragma once

// URLs as Go's net/url reads them, as far as Kubernetes' CEL functions show it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::cel {

struct Url {
  std::string scheme;  // lower case
  std::string host;    // with port
  std::string path;    // as written
  std::string query;   // as written, without "?"

  // An absolute URI or an absolute path, as in the first line of an HTTP request. BadRequest with
  // the reason.
  static Result<Url> parseRequestUri(std::string_view text);
  std::string hostname() const;  // without port and brackets
  std::string port() const;
  std::string escapedPath() const;
  // Names and values in the order of the text, decoded; parts that cannot be decoded are left out.
  std::vector<std::pair<std::string, std::string>> parameters() const;
  bool operator==(const Url&) const = default;
};

}  // namespace koord::cel
