#pragma once

#include "cel/library.h"

namespace koord::cel {

// format.dns1123Label().validate(text) and so on: Kubernetes' library of named formats. Needs the
// library of optional values.
const Library& formatLibrary();

const Type& formatType();  // kubernetes.NamedFormat
// The size of the pattern that costs assume for the format, of a value of formatType().
std::uint64_t patternSizeOf(const Value& format);

}  // namespace koord::cel
