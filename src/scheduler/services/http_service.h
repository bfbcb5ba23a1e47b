#pragma once

// The scheduler's HTTP endpoints: health, metrics, configuration, debug flags and the service engine under
// /apis/v1/.
//
// Beyond upstream: /livez and /readyz, and explain: GET /apis/v1/explain/pods/NS/NAME, or POST a pod to
// /apis/v1/explain/pods to ask about one that does not exist.

#include <functional>

#include "net/http_server.h"
#include "net/url.h"
#include "scheduler/services/metrics.h"

namespace koord::scheduler {

// What the process knows beyond its Scheduler.
struct ServiceState {
  std::function<bool()> leading;  // the service engine answers on the leader only
  std::function<bool()> healthy;  // false: the lease is held but could not be renewed
  std::function<bool()> synced;
};

class HttpService {
 public:
  HttpService(Scheduler& scheduler, Metrics& metrics, ServiceState state)
      : scheduler_(scheduler), metrics_(metrics), state_(std::move(state)) {}

  struct Answer {
    int status = 200;
    std::string contentType = "text/plain; charset=utf-8";
    std::string body;
  };
  Answer answer(const std::string& method, const net::Target& target, const std::string& body);
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder);

 private:
  Answer health(std::string_view path) const;
  Answer debugFlag(const std::string& method, std::string_view flag, const std::string& body);
  Answer service(const std::string& method, std::string_view path, const std::string& body);

  Scheduler& scheduler_;
  Metrics& metrics_;
  ServiceState state_;
};

}  // namespace koord::scheduler
