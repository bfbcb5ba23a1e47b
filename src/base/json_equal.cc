#include "base/json_equal.h"

#include <algorithm>

namespace koord {

bool sameJson(const json::object& a, const json::object& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& member) {
           const json::value* other = b.if_contains(member.key());
           return other && sameJson(member.value(), *other);
         });
}

bool sameJson(const json::value& a, const json::value& b) {
  if (a.is_object() && b.is_object()) return sameJson(a.get_object(), b.get_object());
  if (!a.is_array() || !b.is_array()) return a == b;
  return std::ranges::equal(a.get_array(), b.get_array(),
                            [](const auto& x, const auto& y) { return sameJson(x, y); });
}

}  // namespace koord
