#pragma once

// How large a JSON document is, for limits on what hostile input may grow to.

#include <cstddef>

#include "base/json.h"

namespace koord {

// Objects with more levels are not stored, and must not be made from flat ones either: what walks,
// copies or frees them goes down one stack frame for each level.
constexpr std::size_t kMaxJsonDepth = 256;
// Objects travel in lists, watch events and reviews, and with who owns which of their fields.
// Parsers take as many levels more, so that a list with the deepest object can be read.
constexpr std::size_t kJsonEnvelopeDepth = 16;

struct JsonMeasure {
  std::size_t bytes = 0;   // of the compact text
  std::size_t values = 0;  // itself and all below it
  std::size_t depth = 0;   // containers in each other: 0 for a scalar, 1 for {} and [1]
};

// Walks the whole document.
JsonMeasure measureJson(const json::value& value);

}  // namespace koord
