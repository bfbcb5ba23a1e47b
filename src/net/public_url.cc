#include "net/public_url.h"

namespace koord::net {

std::string withoutCredentials(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const auto colon = url.find("://");
  const auto begin = colon == url.npos ? 0 : colon + 3;
  const auto at = url.rfind('@');  // a password may have a slash
  if (at == url.npos || at < begin) return std::string(url);
  return std::string(url.substr(0, begin)).append(url.substr(at + 1));
}

}  // namespace koord::net
