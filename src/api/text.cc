#include "api/text.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <new>

namespace koord::api {

static_assert(std::endian::native == std::endian::little && sizeof(std::uintptr_t) == 8,
              "the first byte of a word must be its lowest, and an address a word");

struct Text::Block {
  std::size_t size;
  std::atomic<std::size_t> holders;

  char* characters() { return reinterpret_cast<char*>(this + 1); }
};

Text::Text(std::string_view text) {
  if (text.empty()) return;
  if (text.size() < sizeof(word_)) {
    word_ = text.size() * 2 + 1;
    std::memcpy(reinterpret_cast<char*>(&word_) + 1, text.data(), text.size());
    return;
  }
  auto* const block = new (::operator new(sizeof(Block) + text.size())) Block{text.size(), 1};
  std::memcpy(block->characters(), text.data(), text.size());
  word_ = reinterpret_cast<std::uintptr_t>(block);
}

std::string_view Text::view() const noexcept {
  if (word_ == 0) return {};
  if (!onHeap()) return {reinterpret_cast<const char*>(&word_) + 1, (word_ & 0xff) / 2};
  return {block()->characters(), block()->size};
}

std::size_t Text::useCount() const noexcept {
  return onHeap() ? block()->holders.load(std::memory_order_relaxed) : 0;
}

void Text::hold() noexcept {
  block()->holders.fetch_add(1, std::memory_order_relaxed);
}

void Text::drop() noexcept {
  if (block()->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) ::operator delete(block());
}

}  // namespace koord::api
