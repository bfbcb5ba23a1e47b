#pragma once

// The kubelet's HTTPS endpoints on the host node: /pods (what koordlet asks), /healthz, /configz
// and /containerLogs/<namespace>/<pod>/<container>. Everything but /healthz wants a client
// certificate of the cluster's authority or the bearer token.

#include <memory>
#include <string>

#include "cluster/hostnode/host_node.h"
#include "net/http_server.h"

namespace koord::cluster {

struct KubeletServerOptions {
  std::string listen = "127.0.0.1:0";
  std::shared_ptr<const net::ServerTls> tls;
  std::string token;  // "" = certificates only
};

class KubeletServer {
 public:
  // Listens at once; requests wait for serve().
  static Result<std::unique_ptr<KubeletServer>> start(Executor& executor,
                                                      KubeletServerOptions options);
  ~KubeletServer();

  // From now on answers come from this node, which must outlive the server.
  void serve(const HostNode& node) { node_ = &node; }
  std::uint16_t port() const { return server_->port(); }

 private:
  KubeletServer(Executor& executor, std::string token)
      : executor_(executor), token_(std::move(token)) {}
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  void logs(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);

  Executor& executor_;
  std::string token_;
  const HostNode* node_ = nullptr;
  TaskGroup streams_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace koord::cluster
