#pragma once

// An Api over HTTP(S), to a real API server or the embedded one.

#include <memory>

#include "kube/api.h"
#include "kube/content_types.h"
#include "kube/kubeconfig.h"
#include "kube/metrics.h"

namespace koord::net {
class HttpTransport;
}

namespace koord::kube {

struct HttpApiOptions {
  std::string userAgent = "koordinator";
  // Client-side limit of requests per second; 0 = none. Leases, events and all other requests have
  // separate limits.
  double qps = 0;
  int burst = 0;
  Duration timeout = std::chrono::seconds(30);  // of one call; watches have none
  std::shared_ptr<Metrics> metrics;             // null = none
  int retries429 = 5;  // how often a request is repeated after a 429 or 503 with Retry-After
  ContentTypes contentTypes;
};

class HttpApi final : public Api {
 public:
  // Calls are made and answers arrive on the executor. Transport and executor must outlive it.
  HttpApi(net::HttpTransport& transport, Executor& executor, ClientConfig config,
          HttpApiOptions options = {});
  ~HttpApi() override;

  Task<Result<std::string>> call(Request request) override;
  std::unique_ptr<Watch> watch(Request request, WatchSink sink) override;
  // True if protobuf is configured and the server has answered in it. A server without protobuf
  // answers in JSON but would refuse protobuf bodies.
  bool takesProtobuf() const override;

  // A plain GET of a path such as /version or /apis, for discovery.
  Task<Result<std::string>> getPath(std::string path);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// "/apis/apps/v1/namespaces/ns/deployments/d/status?fieldManager=x"
std::string pathOf(const Request& request);

}  // namespace koord::kube
