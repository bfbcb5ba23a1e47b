#pragma once

// One running request of the client on a libcurl easy handle: sets up the handle from an
// HttpRequest, reads status and headers, and turns libcurl's failures into errors that a user can
// act on. The derived class handles the answer. I/O thread only.

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_types.h"

namespace koord::net {

struct CurlEasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, CurlEasyFree>;

class Transfer {
 public:
  explicit Transfer(HttpRequest request) : request_(std::move(request)) {}
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // The handle must be new or reset, and must outlive this object.
  Result<> prepare(CURL* easy, const std::string& userAgent);
  static Transfer& of(CURL* easy);
  CURL* easy() const { return easy_; }
  const HttpRequest& request() const { return request_; }

  // When the transfer ends with CURLE_OPERATION_TIMEDOUT if nothing is received until then; nullopt
  // = never. libcurl's own limit would wake the thread each second for each transfer.
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> idleUntil() const;

  void finish(CURLcode code);
  // The request could not start.
  void failed(Error error) { onDone(fail(std::move(error))); }
  // Called when the client is destroyed.
  virtual void abandon() = 0;

 protected:
  virtual void onHead(HttpResponse head) = 0;
  enum class Take { Taken, Pause, Refuse };
  // Bytes answered with Pause are offered again later.
  virtual Take onBody(std::string_view bytes) = 0;
  // Set by onBody before it refuses.
  void refuseWith(Error error) { refusal_ = std::move(error); }
  virtual void onDone(Result<> result) = 0;

 private:
  struct SlistFree {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using Slist = std::unique_ptr<curl_slist, SlistFree>;

  Result<> setHeaders();
  void setBody();
  void setTls();
  void setServerName(const std::string& serverName, const struct Url& url);
  void onHeaderLine(std::string_view line);
  Error errorOf(CURLcode code) const;
  Error connecting(ErrorCode code, std::string_view why) const;
  Error requestError(ErrorCode code, std::string_view why) const;
  Error timedOut() const;
  // The operating system's last error of the transfer; `otherwise` if there is none.
  std::string osReason(std::string_view otherwise) const;

  static int beforeSending(void* self, char* remoteIp, char* localIp, int remotePort,
                           int localPort);
  static std::size_t headerCallback(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t writeCallback(char* data, std::size_t size, std::size_t count, void* self);

  HttpRequest request_;
  CURL* easy_ = nullptr;
  std::string origin_;  // "https://127.0.0.1:6443"
  Slist headers_;
  Slist connectTo_;
  std::array<char, CURL_ERROR_SIZE> errorText_{};
  HttpResponse head_;
  int sendings_ = 0;
  bool headDone_ = false;
  bool paused_ = false;
  Clock::time_point receivedAt_;
  Error refusal_;
};

}  // namespace koord::net
