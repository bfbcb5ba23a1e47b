#pragma once

#include <string>
#include <string_view>

namespace koord::net {

// A URL as messages and files may have it: without user name, password, query and fragment, which
// may be secret. Takes any text.
std::string withoutCredentials(std::string_view url);

}  // namespace koord::net
