#pragma once

// Changes a member of a JSON text and leaves every other byte as it is: the spelling of numbers,
// spaces, unknown members and their order. For texts that users have written, such as the sections
// of slo-controller-config.

#include <span>
#include <string>
#include <string_view>

namespace koord::koordctl {

// The text with `value`, a JSON text, at that path of members. Absent members are added at the
// end of their object; what is on the path and is not an object is replaced by one. A text
// that is not a valid object counts as {}. If a member is there twice the last one counts, as for
// other readers.
std::string withMember(std::string_view text, std::span<const std::string_view> path,
                       std::string_view value);

}  // namespace koord::koordctl
