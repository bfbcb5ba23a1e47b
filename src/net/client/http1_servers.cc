#include "net/client/http1_servers.h"

#include <algorithm>

namespace koord::net {
namespace {

constexpr std::string_view kTls = "https://";

// Servers that are remembered at once: enough for any program, and a limit for endless URLs.
constexpr std::size_t kMaxServers = 1000;

// What decides who answers: origin, proxy and socket.
std::string serverOf(const HttpRequest& request) {
  std::string server = request.url.substr(0, request.url.find_first_of("/?#", kTls.size()));
  for (const std::string* part : {&request.proxy, &request.unixSocket}) {
    server += ' ';
    server += *part;
  }
  return server;
}

}  // namespace

bool Http1Servers::contains(const HttpRequest& request) const {
  if (!request.url.starts_with(kTls)) return false;
  const std::lock_guard lock(mutex_);
  return !servers_.empty() && servers_.contains(serverOf(request));
}

void Http1Servers::learn(const HttpRequest& request, CURL* easy, CURLcode result) {
  if (!request.url.starts_with(kTls)) return;
  if (result != CURLE_OK) {
    const std::lock_guard lock(mutex_);
    if (!servers_.empty()) servers_.erase(serverOf(request));
    return;
  }
  if (!request.http2) return;
  long version = 0;
  curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
  if (version != CURL_HTTP_VERSION_1_1) return;
  const std::lock_guard lock(mutex_);
  if (servers_.size() < kMaxServers) servers_.insert(serverOf(request));
}

}  // namespace koord::net
