#pragma once

// The files of the page, compressed by gzip; the build generates their definitions.

#include <string_view>

namespace koord::console {

extern const std::string_view kIndexHtml;
extern const std::string_view kAppJs;
extern const std::string_view kAppCss;
extern const std::string_view kIconSvg;

}  // namespace koord::console
