#pragma once

// The string formats of custom resource schemas.

#include <string>
#include <string_view>

namespace koord::apiserver {

// Returns true if the text has that format. Unknown formats match every text.
bool hasFormat(std::string_view text, std::string_view format);

}  // namespace koord::apiserver
