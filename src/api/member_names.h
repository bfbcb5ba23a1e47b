#pragma once

// The names that the members of a struct have in JSON, for tests that the documentation has all of
// them.

#include <string_view>
#include <vector>

namespace koord::api {

// For each type with a line KOORD_MEMBER_NAMES (member_names_impl.h) beside its codec.
template <class T>
std::vector<std::string_view> memberNames();

}  // namespace koord::api
