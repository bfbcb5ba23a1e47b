#pragma once

// The formats of strings that schemas of custom resources can ask for.

#include <string>
#include <string_view>

namespace koord::apiserver {

// Whether the text is of that format; formats that are not known take everything.
bool hasFormat(std::string_view text, std::string_view format);

}  // namespace koord::apiserver
