#include "runtimeproxy/docker/socket_end.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace koord::runtimeproxy {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;

}  // namespace

std::shared_ptr<SocketEnd> SocketEnd::start(net::IoLoop& loop, Fd socket, User user) {
  auto end = std::shared_ptr<SocketEnd>(new SocketEnd(loop, std::move(socket), std::move(user)));
  end->watch();
  return end;
}

void SocketEnd::watch() {
  watch_ = loop_.watch(socket_.get(), [weak = weak_from_this()](net::IoLoop::Ready ready) {
    if (const auto self = weak.lock()) self->onReady(ready);
  });
  want();
}

void SocketEnd::want() {
  if (watch_) watch_->want({.read = reading_ && !ended_, .write = !queue_.empty()});
}

void SocketEnd::read(bool wanted) {
  reading_ = wanted;
  if (wanted && socket_ && !watch_) return watch();
  want();
}

void SocketEnd::write(std::string bytes) {
  if (!socket_ || ending_) return;
  queue_.add(std::move(bytes));
  flush();
}

void SocketEnd::endWriting() {
  ending_ = true;
  flush();
}

void SocketEnd::close(bool afterSending) {
  user_ = std::make_shared<const User>();
  if (afterSending && socket_ && !queue_.empty()) {
    lingering_ = shared_from_this();
    reading_ = false;
    return want();
  }
  watch_.reset();
  socket_ = Fd();
  lingering_ = nullptr;
}

void SocketEnd::lose() {
  const auto user = user_;
  close();
  if (user->onLost) user->onLost();
}

void SocketEnd::onReady(net::IoLoop::Ready ready) {
  const auto keep = shared_from_this();
  if (ready.write && socket_) flush();
  if (ready.read && socket_) receive();
}

void SocketEnd::receive() {
  // Reported without interest in reads: the other side has closed the connection. Its earlier bytes
  // can still be read.
  if (ended_ || lingering_) return lose();
  if (!reading_) return watch_.reset();
  std::array<char, kReadAtOnce> bytes;
  const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size < 0) return lose();
  const auto user = user_;
  if (size > 0) {
    if (user->onBytes) user->onBytes({bytes.data(), static_cast<std::size_t>(size)});
    return;
  }
  ended_ = true;
  want();
  if (user->onEnd) user->onEnd();
}

void SocketEnd::flush() {
  if (!socket_) return;
  const auto keep = shared_from_this();
  const auto user = user_;
  const bool had = !queue_.empty();
  const auto sent = queue_.sendTo(socket_.get());
  if (!sent) return lose();
  want();
  if (!*sent) return;
  if (lingering_) return close();
  if (ending_) ::shutdown(socket_.get(), SHUT_WR);
  if (had && user->onEmpty) user->onEmpty();
}

}  // namespace koord::runtimeproxy
