#pragma once

// Bytes that wait for a socket, in order. Small texts are joined; large ones are moved, so that a
// relay does not copy its data again. It has no limit: callers check size().

#include <deque>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::net {

class SendQueue {
 public:
  void add(std::string_view bytes);
  void add(std::string bytes);
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear();

  // Writes as much as the socket takes. Returns false if the socket takes no more for now and bytes
  // are left.
  Result<bool> sendTo(int socket);

 private:
  void drop(std::size_t bytes);

  std::deque<std::string> pieces_;
  std::size_t offset_ = 0;  // sent bytes of the first piece
  std::size_t size_ = 0;
};

}  // namespace koord::net
