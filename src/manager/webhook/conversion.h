#pragma once

// /convert, which API servers call to convert objects of a custom resource to another version.
// Every kind here has one version, so the answer is an error for each object, as the protocol
// requires.

#include <string>

#include "base/result.h"

namespace koord::manager {

// The answer to a ConversionReview. Fails if `review` is not a ConversionReview.
Result<std::string> convert(std::string_view review);

}  // namespace koord::manager
