#include "net/rpc/send_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace koord::net {
namespace {

// Smaller texts are cheaper to copy than to keep separate.
constexpr std::size_t kMinSeparate = 4 << 10;
// Texts are joined up to this size; a larger text would be copied as it grows.
constexpr std::size_t kMaxCoalesced = 16 << 10;
constexpr std::size_t kAtOnce = 64;  // pieces in one system call

}  // namespace

void SendQueue::add(std::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().size() + bytes.size() <= kMaxCoalesced)
    pieces_.back() += bytes;
  else
    pieces_.emplace_back(bytes);
}

void SendQueue::add(std::string bytes) {
  if (bytes.size() < kMinSeparate) return add(std::string_view(bytes));
  size_ += bytes.size();
  pieces_.push_back(std::move(bytes));
}

void SendQueue::clear() {
  pieces_.clear();
  offset_ = size_ = 0;
}

void SendQueue::drop(std::size_t bytes) {
  size_ -= bytes;
  for (bytes += offset_; !pieces_.empty() && bytes >= pieces_.front().size(); pieces_.pop_front())
    bytes -= pieces_.front().size();
  offset_ = bytes;
}

Result<bool> SendQueue::sendTo(int socket) {
  while (!empty()) {
    std::array<iovec, kAtOnce> parts;
    const std::size_t count = std::min(kAtOnce, pieces_.size());
    for (std::size_t i = 0; i < count; ++i) parts[i] = {pieces_[i].data(), pieces_[i].size()};
    parts[0] = {pieces_[0].data() + offset_, pieces_[0].size() - offset_};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent < 0) return fail(errnoError("write to the socket", errno));
    drop(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace koord::net
