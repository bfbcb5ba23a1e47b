#pragma once

// Symbols: texts as small integers, so that labels, values and names compare in one instruction. A
// table only grows. An id is valid as long as the table lives; the Cluster replaces its table when
// most ids are unused.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace koord::scheduler {

using Symbol = std::uint32_t;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

class Symbols {
 public:
  Symbol intern(std::string_view text);
  std::optional<Symbol> find(std::string_view text) const;
  const std::string& text(Symbol symbol) const { return texts_[symbol]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;
  boost::unordered_flat_map<std::string_view, Symbol, TextHash, std::equal_to<>> ids_;
};

}  // namespace koord::scheduler
