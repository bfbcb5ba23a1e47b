#pragma once

// Makes libcurl look only at the ready sockets of a multi handle. curl_multi_perform asks the
// kernel about every open transfer: with a dozen watches, each event would cost a dozen calls.
// Everything but wake() is called on the handle's thread.

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <vector>

namespace koord::net {

class ReadySockets {
 public:
  explicit ReadySockets(CURLM* multi);
  ~ReadySockets();
  ReadySockets(const ReadySockets&) = delete;
  ReadySockets& operator=(const ReadySockets&) = delete;

  // Runs libcurl's timeouts that are due, such as the start of new transfers.
  void runTimeouts();
  // Waits until a socket is ready, a timeout is due, wake() is called, or `longest` has passed.
  // Handles the ready sockets.
  void wait(std::chrono::steady_clock::duration longest);
  void wake();  // any thread

 private:
  using Clock = std::chrono::steady_clock;

  static int onSocket(CURL* easy, curl_socket_t socket, int wanted, void* self, void* of);
  static int onTimer(CURLM* multi, long milliseconds, void* self);
  void act(curl_socket_t socket, int ready);
  bool isWanted(curl_socket_t socket) const;

  CURLM* const multi_;
  const int epoll_;
  const int wake_;  // eventfd
  // True for each socket that libcurl waits for. The others stay registered until something happens
  // to them, because the next request uses most of them before.
  std::vector<bool> wanted_;
  std::optional<Clock::time_point> due_;
};

}  // namespace koord::net
