#include "scheduler/forecast/past_runs.h"

#include "api/codec.h"
#include "kube/client.h"

namespace koord::scheduler::forecast {

Task<Result<>> learnPastRuns(kube::Api& api, RunHistory& history) {
  for (const char* phase : {"Succeeded", "Failed"}) {
    kube::Request request =
        kube::listRequest(api::Pod::kType, "", "", std::string("status.phase=") + phase);
    request.protobuf = api::planFor<api::Pod>() != nullptr;
    std::function<void(const kube::Received&)> learn = [&history](const kube::Received& item) {
      if (const auto pod = item.as<api::Pod>()) history.learn(*pod);
    };
    auto listing = kube::listEach(api, std::move(request), std::move(learn));
    const auto head = co_await listing;
    if (!head) co_return fail(Error(head.error()).within("ended pods"));
  }
  co_return Result<>{};
}

}  // namespace koord::scheduler::forecast
