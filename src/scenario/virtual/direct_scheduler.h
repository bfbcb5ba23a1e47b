#pragma once

// The way from koord-descheduler to koord-scheduler where both are in one process: questions about where pods would
// land are asked of the scheduler itself, as its HTTP service does.

#include "net/http_transport.h"
#include "scheduler/core/scheduler.h"

namespace koord::scenario {

class DirectScheduler final : public net::HttpTransport {
 public:
  static constexpr const char* kUrl = "http://koord-scheduler";

  // Until there is a scheduler, nothing answers.
  void set(scheduler::Scheduler* scheduler) { scheduler_ = scheduler; }
  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override;

 private:
  scheduler::Scheduler* scheduler_ = nullptr;
};

}  // namespace koord::scenario
