#pragma once

// IdentifiedTransport: requests to the HTTPS endpoints of other components, as whom the API server knows
// us: with the client certificate or the bearer token of our own kubeconfig or service account. Only
// requests that say whom they trust (TlsConfig::caPem) get them: a token is not sent to whoever answers
// at an address.
//
// Components verify each other by the certificate that the leader's lease tells of (secure_serving.h).

#include "kube/kubeconfig.h"
#include "net/http_transport.h"

namespace koord::kube {

class IdentifiedTransport final : public net::HttpTransport {
 public:
  // The transport must outlive it.
  IdentifiedTransport(net::HttpTransport& transport, ClientConfig self)
      : transport_(transport), self_(std::move(self)) {}

  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  // Without credentials: nobody needs any there.
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override {
    return transport_.stream(executor, std::move(request), std::move(sink));
  }

 private:
  net::HttpTransport& transport_;
  const ClientConfig self_;
};

}  // namespace koord::kube
