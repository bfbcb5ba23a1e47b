#pragma once

// Lets libcurl look only at those sockets of a multi handle that are ready. curl_multi_perform asks
// the kernel about every transfer that is open: with a dozen watches, each of their events would
// cost a dozen calls. For the thread of the handle, but for wake().

#include <curl/curl.h>

#include <chrono>
#include <optional>

namespace koord::net {

class ReadySockets {
 public:
  explicit ReadySockets(CURLM* multi);
  ~ReadySockets();
  ReadySockets(const ReadySockets&) = delete;
  ReadySockets& operator=(const ReadySockets&) = delete;

  // What libcurl wanted to be called for by now, the beginning of transfers above all.
  void actInTime();
  // Until a socket is ready, which is acted upon, or it is time, or wake().
  void wait();
  void wake();  // any thread

 private:
  using Clock = std::chrono::steady_clock;

  static int onSocket(CURL* easy, curl_socket_t socket, int wanted, void* self, void* of);
  static int onTimer(CURLM* multi, long milliseconds, void* self);
  void act(curl_socket_t socket, int ready);

  CURLM* const multi_;
  const int epoll_;
  const int wake_;  // eventfd
  std::optional<Clock::time_point> due_;
};

}  // namespace koord::net
