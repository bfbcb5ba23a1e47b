#pragma once

#include <string_view>

namespace koord::koordctl {

// The script of bash, zsh or fish; nullptr for another shell.
const char* shellScript(std::string_view shell);

}  // namespace koord::koordctl
