#include "api/text.h"

#include <bit>
#include <cstring>
#include <new>

namespace koord::api {

static_assert(std::endian::native == std::endian::little && sizeof(std::uintptr_t) == 8,
              "the first byte of a word must be its lowest, and an address a word");

Text::Text(std::string_view text) {
  if (text.empty()) return;
  if (text.size() < sizeof(word_)) {
    word_ = text.size() * 2 + 1;
    std::memcpy(reinterpret_cast<char*>(&word_) + 1, text.data(), text.size());
    return;
  }
  const std::size_t size = text.size();
  auto* const block = static_cast<char*>(::operator new(sizeof(size) + size));
  std::memcpy(block, &size, sizeof(size));
  std::memcpy(block + sizeof(size), text.data(), size);
  word_ = reinterpret_cast<std::uintptr_t>(block);
}

std::string_view Text::view() const noexcept {
  if (word_ == 0) return {};
  if (!onHeap()) return {reinterpret_cast<const char*>(&word_) + 1, (word_ & 0xff) / 2};
  const auto* const block = reinterpret_cast<const char*>(word_);
  std::size_t size = 0;
  std::memcpy(&size, block, sizeof(size));
  return {block + sizeof(size), size};
}

void Text::drop() noexcept {
  ::operator delete(reinterpret_cast<void*>(word_));
}

}  // namespace koord::api
