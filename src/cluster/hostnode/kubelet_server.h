#pragma once

// The kubelet's HTTPS endpoints on the host node: /pods (which koordlet reads), /healthz, /configz
// and /containerLogs/<namespace>/<pod>/<container>. All except /healthz need a client certificate
// of the cluster's authority, whose user may get nodes/proxy of this node; for /pods and /configz,
// nodes/pods and nodes/configz suffice.

#include <functional>
#include <memory>
#include <string>

#include "cluster/hostnode/host_node.h"
#include "net/http_server.h"

namespace koord::cluster {

// Returns true if the peer may get a subresource of this node.
using NodeAccess = std::function<Task<Result<bool>>(std::shared_ptr<const net::PeerIdentity> who,
                                                    std::string subresource)>;
// Asks the API server, by a SubjectAccessReview. `api` must outlive it.
NodeAccess accessThroughApi(kube::Api& api, std::string nodeName);

struct KubeletServerOptions {
  std::string listen = "127.0.0.1:0";  // "" = no socket: requests come through handle() only
  std::shared_ptr<const net::ServerTls> tls;
  NodeAccess access;
};

class KubeletServer {
 public:
  // Listens at once; requests wait for serve().
  static Result<std::unique_ptr<KubeletServer>> start(Executor& executor,
                                                      KubeletServerOptions options);
  ~KubeletServer();

  // Answers requests from this node, which must outlive the server.
  void serve(const HostNode& node) { node_ = &node; }
  std::uint16_t port() const { return server_ ? server_->port() : 0; }
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder);

 private:
  using ResponderPtr = std::shared_ptr<net::Responder>;

  KubeletServer(Executor& executor, NodeAccess access)
      : executor_(executor), access_(std::move(access)) {}
  static Task<void> answerIfAllowed(KubeletServer* self, net::ServerRequest request,
                                    ResponderPtr responder);
  void answer(const net::ServerRequest& request, ResponderPtr responder);
  void logs(const net::ServerRequest& request, ResponderPtr responder);
  json::value config() const;

  Executor& executor_;
  NodeAccess access_;
  const HostNode* node_ = nullptr;
  TaskGroup tasks_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace koord::cluster
