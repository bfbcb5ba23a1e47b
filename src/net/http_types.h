#pragma once

// HTTP requests and answers as plain structs, in a header that is light to include. The client is
// in http_client.h, the server in http_server.h, URLs and queries in url.h.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace koord::net {

struct Header {
  std::string name;
  std::string value;
};
using Headers = std::vector<Header>;

// The value of the first header of that name (case does not matter); "" if there is none.
std::string_view headerOf(const Headers& headers, std::string_view name);
bool sameHeaderName(std::string_view a, std::string_view b);

// How a client verifies a server and authenticates to it. Requests with equal settings share
// connections, so keep one object per endpoint and pass it to every request.
struct TlsConfig {
  std::string caPem;    // certificates to trust; "" = those of the system
  std::string certPem;  // client certificate (with its chain) and key; "" = none
  std::string keyPem;
  std::string serverName;  // the name to request and to verify; "" = the host of the URL
  bool insecureSkipVerify = false;
  bool operator==(const TlsConfig&) const = default;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;         // "https://127.0.0.1:6443/api/v1/pods?limit=500"
  std::string unixSocket;  // connect to this socket; the URL then only gives Host and path
  Headers headers;
  std::string body;
  std::shared_ptr<const TlsConfig> tls;  // nullptr = the certificates of the system
  // "http://proxy:3128", also https:// and socks5://; "" = from the environment (https_proxy,
  // no_proxy), which is never used for loopback addresses.
  std::string proxy;
  // Use HTTP/2 if a TLS server offers it. Without it each running request has a connection of its
  // own, which suits long streams: they neither share a window nor wait for each other.
  bool http2 = true;
  bool gzip = true;  // ask for a compressed answer; it is decompressed on the way
  std::chrono::milliseconds connectTimeout{10'000};
  // From start to last byte; 0 = no limit, for streams.
  std::chrono::milliseconds timeout{30'000};
  // A stream that receives nothing for this long ends with an error; 0 = never. fetch() ignores it.
  std::chrono::milliseconds idleTimeout{0};
  // A longer answer is an error (RequestEntityTooLarge). stream() ignores it.
  std::size_t maxResponseBytes = std::size_t{1} << 30;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;  // empty for streams
};

}  // namespace koord::net
