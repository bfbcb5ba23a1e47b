#pragma once

#include "cel/library.h"

namespace koord::cel {

// base64.encode(bytes), base64.decode(string). Padding may be left out when decoding.
const Library& encodersLibrary();

}  // namespace koord::cel
