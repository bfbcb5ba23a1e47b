#pragma once

// The endpoints of koord-descheduler: health, metrics, the configuration in force, profiling, and
// /debug/evictions, the last cycles' decisions and their reasons.

#include <functional>
#include <string>

#include "descheduler/app/flags.h"
#include "descheduler/framework/descheduler.h"
#include "net/router.h"

namespace koord::descheduler {

class HttpService {
 public:
  struct State {
    std::function<std::string()> unhealthy;
    std::function<std::string()> clientMetrics;
    const Flags* flags = nullptr;
  };
  HttpService(Descheduler& descheduler, Metrics& metrics, Executor& executor, State state);

  net::HttpServer::Handler handler() const { return router_.handler(); }

 private:
  net::Router router_;
};

}  // namespace koord::descheduler
