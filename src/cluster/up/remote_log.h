#pragma once

// The log of a container on a node that joined the cluster, from the port of the node's kubelet.
// On the executor's thread only.

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "api/core.h"
#include "api/meta.h"
#include "base/task.h"
#include "net/http_transport.h"

namespace koord::cluster {

// The URL of a container's log; BadRequest if the node has no kubelet's port, as simulated ones.
Result<std::string> remoteLogUrl(const api::Node& node, const api::ObjectKey& pod,
                                 const std::string& container, const api::StringMap& query);

class RemoteLog {
 public:
  // `tls`: the client certificate of the API server, and the node's name as the server's name.
  RemoteLog(net::HttpTransport& http, Executor& executor, std::string url,
            std::shared_ptr<const net::TlsConfig> tls);

  // The answer's status: an error has kubelet's words. Waits for at most 30 s.
  Task<Result<>> opened();
  // The next piece, or "" if nothing arrives for a second, so that the caller can look after its
  // client; nullopt at the end. If the client is too slow for what arrives, the last piece says so.
  Task<std::optional<std::string>> next();

 private:
  void wake();
  void end();
  Task<void> arrival(Duration limit);

  Executor& executor_;
  std::string url_;
  std::optional<net::HttpResponse> head_;
  std::deque<std::string> pieces_;
  std::size_t queued_ = 0;  // bytes of the pieces
  bool closed_ = false;
  std::optional<Error> failure_;
  std::optional<Completer<bool>> waiter_;
  std::unique_ptr<net::Stream> stream_;
};

}  // namespace koord::cluster
