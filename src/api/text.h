#pragma once

// Text: an immutable string of the size of one pointer, for the many members of API objects that
// are mostly empty or a short word (phase, restartPolicy, nominatedNodeName). Keeps up to seven
// characters in place, longer text on the heap, once for all copies. Copies may belong to different
// threads. Reads as std::string_view.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace koord::api {

class Text {
 public:
  Text() noexcept = default;
  Text(std::string_view text);                                     // NOLINT: as std::string
  Text(const char* text) : Text(std::string_view(text)) {}         // NOLINT
  Text(const std::string& text) : Text(std::string_view(text)) {}  // NOLINT
  Text(const Text& other) noexcept : word_(other.word_) {
    if (onHeap()) hold();
  }
  Text(Text&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  Text& operator=(Text other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~Text() {
    if (onHeap()) drop();
  }

  std::string_view view() const noexcept;
  operator std::string_view() const noexcept { return view(); }  // NOLINT: as std::string
  // The number of copies that share these characters; 0 for characters that are kept in place.
  std::size_t useCount() const noexcept;
  std::string str() const { return std::string(view()); }
  bool empty() const noexcept { return word_ == 0; }
  std::size_t size() const noexcept { return view().size(); }

  template <class T>
    requires std::is_convertible_v<const T&, std::string_view>
  friend bool operator==(const Text& a, const T& b) {
    return a.view() == std::string_view(b);
  }
  template <class T>
    requires std::is_convertible_v<const T&, std::string_view>
  friend std::strong_ordering operator<=>(const Text& a, const T& b) {
    return a.view() <=> std::string_view(b);
  }

 private:
  bool onHeap() const noexcept { return word_ != 0 && (word_ & 1) == 0; }
  struct Block;  // followed by the characters
  Block* block() const noexcept { return reinterpret_cast<Block*>(word_); }
  void hold() noexcept;
  void drop() noexcept;

  // 0: empty. Odd: the first byte is twice the length plus one, the other bytes are the characters.
  // Even: the address of a Block.
  std::uintptr_t word_ = 0;
};

}  // namespace koord::api
