#pragma once

// The order of a list after a strategic merge: elements that a patch names come in the order which
// it states, the others keep their place relative to them. Used by the other files of this folder
// only.

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace koord::api::patch {

// How elements of a list are distinguished: by this member of theirs, or by value if key is "".
struct ElementKey {
  std::string_view key;
  bool maps = false;  // the elements are objects

  bool same(const json::value& a, const json::value& b) const;
  // Where the element stands in a list; -1 when it is not there.
  std::ptrdiff_t indexIn(const json::array& list, const json::value& element) const;
};

inline constexpr std::string_view kDirective = "$patch";

bool hasDirective(const json::value& element, std::string_view directive);

// Fails if an element is not an object or lacks the key.
Result<> requireKeys(const json::array& list, std::string_view key);

// Sorts by the place in `order`, deletions last; elements that are not there come as the reference
// puts them.
Result<json::array> sortByOrder(json::array list, const json::array& order, ElementKey key);

// Orders `merged`: what `order` names as there, the rest by `serverOrder`.
Result<json::array> orderElements(json::array merged, const json::array& order,
                                  const json::array& serverOrder, ElementKey key);

}  // namespace koord::api::patch
