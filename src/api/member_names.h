#pragma once

// The JSON names of a struct's members, for tests that check that the documentation lists all of
// them.

#include <string_view>
#include <vector>

namespace koord::api {

// Defined for each type with a line KOORD_MEMBER_NAMES (member_names_impl.h) beside its codec.
template <class T>
std::vector<std::string_view> memberNames();

}  // namespace koord::api
