#pragma once

#include "cel/library.h"

namespace koord::cel {

// url("https://example.com/path?k=v") and what can be asked of it: Kubernetes' library of URLs.
const Library& urlLibrary();

const Type& urlType();  // kubernetes.URL

}  // namespace koord::cel
