#include "scenario/virtual/direct_scheduler.h"

#include "scheduler/services/what_if.h"

namespace koord::scenario {

Task<Result<net::HttpResponse>> DirectScheduler::fetch(Executor& executor,
                                                       net::HttpRequest request) {
  // Never runs on the caller's stack, as over a network.
  auto pause = sleepFor(executor, Duration::zero());
  co_await pause;
  net::HttpResponse response;
  response.status = 404;
  if (!scheduler_ || request.url != std::string(kUrl) + "/apis/v1/whatif/pods") co_return response;
  const auto moves = scheduler::readWhatIf(*scheduler_, request.body);
  if (!moves) {
    response.status = 422;
    response.body = moves.error().message;
    co_return response;
  }
  response.status = 200;
  response.body = toJson(scheduler::whatIfJson(*moves, scheduler::whatIf(*scheduler_, *moves)));
  co_return response;
}

std::unique_ptr<net::Stream> DirectScheduler::stream(Executor& executor, net::HttpRequest,
                                                     net::StreamSink sink) {
  auto shared = std::make_shared<net::StreamSink>(std::move(sink));
  executor.post(
      [shared] { shared->onClosed(fail(ErrorCode::Unavailable, "streams are not supported")); });
  return std::make_unique<net::Stream>();
}

}  // namespace koord::scenario
