#pragma once

// The version of the programs: that of project() in CMakeLists.txt, or in packages what
// scripts/version.sh printed ("0.1.0-1725.g200dd1d9").

#include <string_view>

namespace koord {

std::string_view programVersion();

}  // namespace koord
