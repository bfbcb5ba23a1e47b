#pragma once

// The connection from koord-descheduler to koord-scheduler if both are in one process: asks the
// scheduler directly where pods would land, as its HTTP service does.

#include "net/http_transport.h"
#include "scheduler/core/scheduler.h"

namespace koord::scenario {

class DirectScheduler final : public net::HttpTransport {
 public:
  static constexpr const char* kUrl = "http://koord-scheduler";

  // Requests fail until a scheduler is set.
  void set(scheduler::Scheduler* scheduler) { scheduler_ = scheduler; }
  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override;

 private:
  scheduler::Scheduler* scheduler_ = nullptr;
};

}  // namespace koord::scenario
