#include "net/client/ready_sockets.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace koord::net {

ReadySockets::ReadySockets(CURLM* multi)
    : multi_(multi), epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  epoll_event woken{.events = EPOLLIN, .data = {.fd = wake_}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &woken);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &ReadySockets::onSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &ReadySockets::onTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

ReadySockets::~ReadySockets() {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
  ::close(wake_);
  ::close(epoll_);
}

int ReadySockets::onSocket(CURL*, curl_socket_t socket, int wanted, void* self, void*) {
  const int epoll = static_cast<ReadySockets*>(self)->epoll_;
  auto& sockets = static_cast<ReadySockets*>(self)->wanted_;
  const auto index = static_cast<std::size_t>(socket);
  if (index >= sockets.size()) sockets.resize(index + 1);
  sockets[index] = wanted != CURL_POLL_REMOVE;
  if (wanted == CURL_POLL_REMOVE) return 0;
  epoll_event event{.events = 0, .data = {.fd = socket}};
  if (wanted & CURL_POLL_IN) event.events |= EPOLLIN;
  if (wanted & CURL_POLL_OUT) event.events |= EPOLLOUT;
  // Closing a socket removes it, and another may have its number.
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  return 0;
}

int ReadySockets::onTimer(CURLM*, long milliseconds, void* self) {
  auto& due = static_cast<ReadySockets*>(self)->due_;
  if (milliseconds < 0) {
    due.reset();
  } else {
    due = Clock::now() + std::chrono::milliseconds(milliseconds);
  }
  return 0;
}

void ReadySockets::act(curl_socket_t socket, int ready) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, ready, &running);
}

bool ReadySockets::isWanted(curl_socket_t socket) const {
  const auto index = static_cast<std::size_t>(socket);
  return index < wanted_.size() && wanted_[index];
}

void ReadySockets::runTimeouts() {
  if (!due_ || *due_ > Clock::now()) return;
  due_.reset();  // libcurl sets it again if it needs another call
  act(CURL_SOCKET_TIMEOUT, 0);
}

void ReadySockets::wait(Clock::duration longest) {
  if (due_) longest = std::clamp(*due_ - Clock::now(), Clock::duration::zero(), longest);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(milliseconds));
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == wake_) {
      eventfd_t times = 0;
      ::eventfd_read(wake_, &times);
      continue;
    }
    if (!isWanted(event.data.fd)) {
      // The server closes an idle connection. libcurl finds out when it wants to use it.
      epoll_event none{};
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, event.data.fd, &none);
      continue;
    }
    // Without flags, libcurl checks the socket's state itself.
    const int ready = ((event.events & EPOLLIN) ? CURL_CSELECT_IN : 0) |
                      ((event.events & EPOLLOUT) ? CURL_CSELECT_OUT : 0);
    act(event.data.fd, ready);
  }
}

void ReadySockets::wake() {
  ::eventfd_write(wake_, 1);
}

}  // namespace koord::net
