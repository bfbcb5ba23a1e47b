#pragma once

// The servers that answered over HTTP/1.1 although the client offered HTTP/2. Requests that run at
// the same time are made to them like those without HTTP/2: libcurl then looks only at sockets that
// are ready. With the offer it asks the kernel about every running request whenever one of them
// moves, which is most of the work of a client with many writes in flight.
//
// A server is forgotten when a request to it fails, because another one may answer next.
//
// Thread-safe.

#include <curl/curl.h>

#include <mutex>
#include <set>
#include <string>

#include "net/http_types.h"

namespace koord::net {

class Http1Servers {
 public:
  // Returns true if HTTP/2 need not be offered for this request.
  bool contains(const HttpRequest& request) const;
  // Call with each finished request, before its handle is reset.
  void learn(const HttpRequest& request, CURL* easy, CURLcode result);

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> servers_;  // guarded by mutex_
};

}  // namespace koord::net
