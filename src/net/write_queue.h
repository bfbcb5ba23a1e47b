#pragma once

// The unsent bytes of a connection, in order. Small pieces are copied together, so that an answer's
// head and body, or many events of a watch, are sent in one system call and one TLS record. Large
// pieces are not copied.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace koord::net {

class WriteQueue {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  bool empty() const { return pieces_.empty(); }

  // Bytes not yet sent.
  std::size_t size() const { return size_; }

  void add(std::string_view text) {
    if (text.empty()) return;
    tail().append(text);
    size_ += text.size();
  }
  void add(Bytes bytes) {
    if (bytes->size() <= kCopied) {
      add(std::string_view(*bytes));
    } else {
      size_ += bytes->size();
      pieces_.push_back({{}, std::move(bytes)});
    }
  }

  // The bytes to send next; valid and unchanged until sent().
  std::string_view front() {
    busy_ = true;
    const Piece& piece = pieces_.front();
    return std::string_view(piece.shared ? *piece.shared : piece.own).substr(offset_);
  }
  // Called when that many bytes of front() have been sent.
  void sent(std::size_t size) {
    busy_ = false;
    size_ -= size;
    Piece& piece = pieces_.front();
    offset_ += size;
    if (offset_ < (piece.shared ? piece.shared->size() : piece.own.size())) return;
    offset_ = 0;
    if (piece.own.capacity() > spare_.capacity()) {
      spare_ = std::move(piece.own);
      spare_.clear();
    }
    pieces_.pop_front();
  }

 private:
  static constexpr std::size_t kCopied = 16 << 10;    // the size of a TLS record
  static constexpr std::size_t kGathered = 64 << 10;  // own pieces grow to about this

  struct Piece {
    std::string own;
    Bytes shared;
  };

  // An own piece that may grow: not the one being sent.
  std::string& tail() {
    const bool frozen = pieces_.size() == 1 && (busy_ || offset_ > 0);
    if (pieces_.empty() || frozen || pieces_.back().shared ||
        pieces_.back().own.size() >= kGathered) {
      pieces_.push_back({std::exchange(spare_, {}), nullptr});
    }
    return pieces_.back().own;
  }

  std::deque<Piece> pieces_;
  std::size_t size_ = 0;
  std::size_t offset_ = 0;  // sent bytes of the first piece
  bool busy_ = false;       // front() is being sent
  std::string spare_;       // memory for the next own piece
};

}  // namespace koord::net
