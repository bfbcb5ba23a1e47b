#pragma once

// Bytes that wait for a socket, in the order in which they came: many small texts are put together,
// large ones stay where they are, so that what a relay passes on is not copied again. No limit of its own: who
// fills it looks at size().

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

  // Writes what the socket takes. False: it takes no more for now, and some is left.
  Result<bool> sendTo(int socket);

 private:
  void drop(std::size_t bytes);

  std::deque<std::string> pieces_;
  std::size_t offset_ = 0;  // of the first piece: what is gone
  std::size_t size_ = 0;
};

}  // namespace koord::net
