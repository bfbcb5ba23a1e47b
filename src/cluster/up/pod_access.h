#pragma once

// kubectl logs, exec, attach and port-forward: leads the request to the node of the pod. The host
// node answers itself, a joined node through the port of its kubelet, and for a simulated node the
// answer describes the container. The caller has checked the permissions. On the executor.

#include <memory>
#include <string>

#include "api/core.h"
#include "apiserver/http_front.h"
#include "cluster/up/host.h"
#include "kube/informer.h"
#include "net/http_transport.h"
#include "net/tls.h"

namespace koord::cluster {

// How to reach the kubelets of joined nodes.
struct JoinedNodes {
  net::HttpTransport* http = nullptr;
  std::string caPem;
  net::CertKey client;
};

class PodAccess {
 public:
  // The arguments must outlive it; the informers cover all pods and nodes.
  PodAccess(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
            kube::Informer<api::Node>& nodes)
      : api_(api), executor_(executor), pods_(pods), nodes_(nodes) {}

  void setHost(Host& host) { host_ = &host; }
  void setJoinedNodes(JoinedNodes joined) { joined_ = std::move(joined); }

  // The log of a container. `query` has kubectl's parameters.
  Task<Result<apiserver::PodLog>> log(api::ObjectKey key, api::StringMap query);
  // Answers an upgrade of exec, attach or portforward, or says why it cannot.
  void stream(kube::Request call, net::ServerRequest request,
              std::shared_ptr<net::Responder> responder);

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  enum class Place { Host, Joined, Simulated };

  // BadRequest: the pod has no node, or its node is gone.
  Result<Place> placeOf(const api::Pod& pod) const;
  Result<apiserver::PodLog> hostLog(const api::ObjectKey& key, std::string container,
                                    const api::StringMap& query);
  Task<Result<apiserver::PodLog>> joinedLog(PodPtr pod, std::string container,
                                            api::StringMap query);
  Task<std::string> describe(PodPtr pod, std::string container);
  static Task<void> streamSimulated(PodAccess* self, kube::Request call, PodPtr pod,
                                    std::string container, net::ServerRequest request,
                                    std::shared_ptr<net::Responder> responder);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::Node>& nodes_;
  Host* host_ = nullptr;
  JoinedNodes joined_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
