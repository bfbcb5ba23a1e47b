#pragma once

// Base64 of RFC 4648, with padding. Decoding skips line breaks and blanks.

#include <string>
#include <string_view>

#include "base/result.h"

namespace koord {

std::string base64Encode(std::string_view bytes);
Result<std::string> base64Decode(std::string_view text);

}  // namespace koord
