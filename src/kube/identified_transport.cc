#include "kube/identified_transport.h"

namespace koord::kube {

Task<Result<net::HttpResponse>> IdentifiedTransport::fetch(Executor& executor,
                                                           net::HttpRequest request) {
  if (request.tls && !request.tls->caPem.empty()) {
    net::TlsConfig tls = *request.tls;
    std::shared_ptr<const net::TlsConfig> own = self_.tls;
    if (self_.credentials) {
      auto asking = self_.credentials->credentials(executor);
      auto given = co_await asking;
      if (!given) co_return fail(std::move(given.error()));
      if (!given->token.empty())
        request.headers.push_back({"Authorization", "Bearer " + given->token});
      if (given->tls) own = given->tls;
    }
    if (own && tls.certPem.empty()) {
      tls.certPem = own->certPem;
      tls.keyPem = own->keyPem;
    }
    request.tls = std::make_shared<const net::TlsConfig>(std::move(tls));
  }
  auto fetching = transport_.fetch(executor, std::move(request));
  auto reply = co_await fetching;
  co_return reply;
}

}  // namespace koord::kube
