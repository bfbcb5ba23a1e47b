#pragma once

// The order of a list after a strategic merge: elements that a patch names take the order that the
// patch states, the others keep their place relative to them. Only the other files of this folder
// use it.

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace koord::api::patch {

// How to tell list elements apart: by the member `key`, or by value if key is "".
struct ElementKey {
  std::string_view key;
  bool maps = false;  // the elements are objects

  bool same(const json::value& a, const json::value& b) const;
  // The index of the element in a list; -1 if the list does not contain it.
  std::ptrdiff_t indexIn(const json::array& list, const json::value& element) const;
};

inline constexpr std::string_view kDirective = "$patch";

bool hasDirective(const json::value& element, std::string_view directive);

// Fails if an element is not an object or lacks the key.
Result<> requireKeys(const json::array& list, std::string_view key);

// Sorts by the index in `order`, deletions last. Elements that are not in `order` come where the
// reference has them.
Result<json::array> sortByOrder(json::array list, const json::array& order, ElementKey key);

// Orders `merged`: elements in `order` by it, the others by `serverOrder`.
Result<json::array> orderElements(json::array merged, const json::array& order,
                                  const json::array& serverOrder, ElementKey key);

}  // namespace koord::api::patch
