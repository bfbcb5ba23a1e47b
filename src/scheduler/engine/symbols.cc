#include "scheduler/engine/symbols.h"

namespace koord::scheduler {

Symbol Symbols::intern(std::string_view text) {
  const auto it = ids_.find(text);
  if (it != ids_.end()) return it->second;
  const auto id = static_cast<Symbol>(texts_.size());
  // A deque does not move its elements, so the views used as keys stay valid.
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return id;
}

std::optional<Symbol> Symbols::find(std::string_view text) const {
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace koord::scheduler
