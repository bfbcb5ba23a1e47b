#include "api/patch/element_order.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace koord::api::patch {
bool ElementKey::same(const json::value& a, const json::value& b) const {
  if (key.empty()) return a == b;
  const auto* left = find(a, key);
  const auto* right = find(b, key);
  return left && right && *left == *right;
}

std::ptrdiff_t ElementKey::indexIn(const json::array& list, const json::value& element) const {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (same(list[i], element)) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

bool hasDirective(const json::value& element, std::string_view directive) {
  return textAt(element, kDirective) == directive;
}

Result<> requireKeys(const json::array& list, std::string_view key) {
  for (const auto& item : list)
    if (!find(item, key))
      return fail(
          ErrorCode::BadRequest,
          fmt::format("map: {} does not contain declared merge key: {}", toJson(item), key));
  return {};
}

Result<json::array> sortByOrder(json::array list, const json::array& order, ElementKey key) {
  json::array deleted;
  if (key.maps) {
    for (const auto* part : {&std::as_const(list), &order})
      if (auto complete = requireKeys(*part, key.key); !complete) return fail(complete.error());
    json::array kept;
    for (auto& item : list)
      (hasDirective(item, "delete") ? deleted : kept).push_back(std::move(item));
    list = std::move(kept);
  }
  // Elements that are not there compare as "before" whatever they are compared with; the insertion
  // sort makes of that what the reference makes of it.
  struct Placed {
    std::ptrdiff_t at;  // in the order; below 0 when it is not there
    json::value* item;
  };
  std::vector<Placed> placed;
  placed.reserve(list.size());
  for (auto& item : list) placed.push_back({key.indexIn(order, item), &item});
  const auto before = [](const Placed& a, const Placed& b) {
    return a.at < 0 || b.at < 0 || a.at < b.at;
  };
  for (std::size_t i = 1; i < placed.size(); ++i)
    for (std::size_t j = i; j > 0 && before(placed[j], placed[j - 1]); --j)
      std::swap(placed[j], placed[j - 1]);
  json::array sorted;
  sorted.reserve(list.size() + deleted.size());
  for (const auto& one : placed) sorted.push_back(std::move(*one.item));
  for (auto& item : deleted) sorted.push_back(std::move(item));
  return sorted;
}

Result<json::array> orderElements(json::array merged, const json::array& order,
                                  const json::array& serverOrder, ElementKey key) {
  json::array named, others;
  if (!key.key.empty())
    if (auto complete = requireKeys(merged, key.key); !complete) return fail(complete.error());
  for (auto& item : merged)
    (key.indexIn(order, item) >= 0 ? named : others).push_back(std::move(item));
  auto left = sortByOrder(std::move(others), serverOrder, key);
  if (!left) return left;
  auto right = sortByOrder(std::move(named), order, key);
  if (!right) return right;

  // Merge the two: one of the server's own comes first only where the server had it first.
  json::array out;
  std::size_t i = 0, j = 0;
  while (i < left->size() || j < right->size()) {
    bool takeLeft = j == right->size();
    if (!takeLeft && i < left->size()) {
      const auto l = key.indexIn(serverOrder, (*left)[i]);
      const auto r = key.indexIn(serverOrder, (*right)[j]);
      takeLeft = l >= 0 && r >= 0 && l < r;
    }
    out.push_back(std::move(takeLeft ? (*left)[i++] : (*right)[j++]));
  }
  return out;
}

}  // namespace koord::api::patch
