#pragma once

// Writers of a recording: they encode items (items.h) and pass the bytes on in pieces.

#include <string>
#include <string_view>
#include <utility>

#include "scheduler/recording/items.h"

namespace koord::scheduler::recording {

class Writer {
 public:
  virtual ~Writer() = default;

  // For items without bytes.
  void add(Item item, std::uint64_t number) {
    buffer_.push_back(static_cast<char>(item));
    putNumber(buffer_, number);
    if (buffer_.size() >= kPiece) flush();
  }
  // For items with bytes, which are those of both texts.
  void add(Item item, std::uint64_t number, std::string_view bytes, std::string_view more = {}) {
    if (bytes.size() + more.size() > maxBytesOf(item))
      return refuse(item, bytes.size() + more.size());
    buffer_.push_back(static_cast<char>(item));
    putNumber(buffer_, number);
    putNumber(buffer_, bytes.size() + more.size());
    buffer_.append(bytes);
    buffer_.append(more);
    if (buffer_.size() >= kPiece) flush();
  }
  // Passes on what is there.
  void flush() {
    if (!buffer_.empty()) take(std::exchange(buffer_, {}));
  }

 private:
  static constexpr std::size_t kPiece = 256 << 10;
  virtual void take(std::string bytes) = 0;
  // The item is longer than readers accept.
  virtual void refuse(Item item, std::size_t bytes) = 0;

  std::string buffer_;
};

// Keeps the recording in memory, for tests.
class MemoryWriter final : public Writer {
 public:
  const std::string& bytes() {
    flush();
    return bytes_;
  }

 private:
  void take(std::string bytes) override { bytes_ += bytes; }
  void refuse(Item /*item*/, std::size_t /*bytes*/) override {}

  std::string bytes_;
};

}  // namespace koord::scheduler::recording
