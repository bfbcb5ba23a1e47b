#pragma once

// IdentifiedTransport: sends requests to the HTTPS endpoints of other components with this process'
// identity: the client certificate or the bearer token of its kubeconfig or service account. Only
// requests that name a trusted authority (TlsConfig::caPem) carry the identity, so a token is never
// sent to an unverified server.
//
// Components verify each other by the certificate in the leader's lease (secure_serving.h).

#include "kube/kubeconfig.h"
#include "net/http_transport.h"

namespace koord::kube {

class IdentifiedTransport final : public net::HttpTransport {
 public:
  // The transport must outlive it.
  IdentifiedTransport(net::HttpTransport& transport, ClientConfig self)
      : transport_(transport), self_(std::move(self)) {}

  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  // Streams carry no credentials.
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override {
    return transport_.stream(executor, std::move(request), std::move(sink));
  }

 private:
  net::HttpTransport& transport_;
  const ClientConfig self_;
};

}  // namespace koord::kube
