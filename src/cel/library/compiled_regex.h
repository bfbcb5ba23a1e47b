#pragma once

// Regular expressions: RE2, which takes time linear in the text for every pattern.

#include <re2/re2.h>

#include <memory>
#include <string_view>

#include "base/result.h"

namespace koord::cel {

using Regex = std::shared_ptr<const re2::RE2>;

// BadRequest if the pattern is invalid, or needs more than kRegexMemory.
inline constexpr std::int64_t kRegexMemory = 8 << 20;
Result<Regex> compileRegex(std::string_view pattern);

inline re2::StringPiece asPiece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace koord::cel
