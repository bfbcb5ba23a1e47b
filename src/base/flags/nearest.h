#pragma once

// The name that a user may have meant.

#include <string>
#include <string_view>
#include <vector>

namespace koord::flags {

// The name with the fewest changes of letters to `wrong`, at most two (one for words of up to five
// letters), or a name that begins with it; "" if none is near. Of equals the first. Exchanged
// neighbours count as one change.
std::string nearestName(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace koord::flags
