#pragma once

// The name of this machine, as the kernel has it; "" when it has none.

#include <string>

namespace koord {

std::string hostName();

}  // namespace koord
