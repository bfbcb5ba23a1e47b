#pragma once

// The value of a YAML scalar: the typing rules of yaml.h. Separate from the parser so that the
// writer can check whether a text needs quotes.

#include <string>
#include <string_view>

#include "base/json.h"

namespace koord {

// The value of a scalar without quotes and tag.
Result<json::value> plainScalar(const std::string& text);
// tag: "?" for plain scalars, "!" for quoted ones, or the full name of a tag.
Result<json::value> typedScalar(std::string_view tag, const std::string& text);

}  // namespace koord
