#pragma once

// /convert, which API servers ask for another version of a custom resource's objects. Every kind here has one version, so
// nothing can be converted; who asks is told so, object by object, as the protocol has it.

#include <string>

#include "base/result.h"

namespace koord::manager {

// The answer to a ConversionReview; an error when it is none.
Result<std::string> convert(std::string_view review);

}  // namespace koord::manager
