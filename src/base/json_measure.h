#pragma once

// The size of a JSON document, for limits on the growth of hostile input.

#include <cstddef>

#include "base/json.h"

namespace koord {

// The most levels of a stored object, and of an object that a patch or default makes: code that
// walks, copies or frees an object uses one stack frame per level.
constexpr std::size_t kMaxJsonDepth = 256;
// Lists, watch events, reviews and managedFields wrap objects. Parsers accept this many more
// levels, so that they can read a list with the deepest object.
constexpr std::size_t kJsonEnvelopeDepth = 16;

struct JsonMeasure {
  std::size_t bytes = 0;   // of the compact text
  std::size_t values = 0;  // this value and all values below it
  std::size_t depth = 0;   // nesting of containers: 0 for a scalar, 1 for {} and [1]
};

// Walks the whole document: O(size).
JsonMeasure measureJson(const json::value& value);

}  // namespace koord
