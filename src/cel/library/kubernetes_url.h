#pragma once

#include "cel/library.h"

namespace koord::cel {

// url("https://example.com/path?k=v") and its functions: Kubernetes' library of URLs.
const Library& urlLibrary();

const Type& urlType();  // kubernetes.URL

}  // namespace koord::cel
