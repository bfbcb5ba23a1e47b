#pragma once

// Edits of JSON objects whose cost is linear in the number of members.

#include <cstddef>
#include <utility>
#include <vector>

#include "base/json.h"

namespace koord {

// Removes the members for which doomed(member) returns true; the others keep their order. Erasing
// them one by one would move all later members each time: hours for a few megabytes of members.
// doomed may change the member's value.
template <class Doomed>
void eraseMembersIf(json::object& object, Doomed doomed) {
  constexpr std::size_t kFew = 8;
  std::vector<std::size_t> gone;
  std::size_t at = 0;
  for (auto& member : object) {
    if (doomed(member)) gone.push_back(at);
    ++at;
  }
  if (gone.size() <= kFew) {
    for (auto it = gone.rbegin(); it != gone.rend(); ++it)
      object.stable_erase(object.begin() + static_cast<std::ptrdiff_t>(*it));
    return;
  }
  json::object rest(object.storage());
  rest.reserve(object.size() - gone.size());
  auto next = gone.begin();
  at = 0;
  for (auto& member : object) {
    const std::size_t here = at++;
    if (next != gone.end() && *next == here) {
      ++next;
    } else {
      rest.emplace(member.key(), std::move(member.value()));
    }
  }
  object = std::move(rest);
}

// The member as an object; creates the parent and the member if they are missing or not objects.
inline json::object& objectIn(json::value& parent, std::string_view key) {
  if (!parent.is_object()) parent.emplace_object();
  json::value& member = parent.get_object()[key];
  return member.is_object() ? member.get_object() : member.emplace_object();
}

}  // namespace koord
