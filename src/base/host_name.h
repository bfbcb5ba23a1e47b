#pragma once

// The host name of the kernel; "" if it has none.

#include <string>

namespace koord {

std::string hostName();

}  // namespace koord
