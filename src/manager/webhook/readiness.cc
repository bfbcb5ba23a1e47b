#include "manager/webhook/readiness.h"

#include <utility>

namespace koord::manager {

namespace {

constexpr Duration kFresh = std::chrono::seconds(1);

}  // namespace

Task<Result<>> Readiness::ask() {
  if (last_ && executor_.steadyNow() - at_ < kFresh) co_return *last_;
  auto pair = Future<Result<>>::make(executor_);
  waiting_.push_back(pair.second);
  if (waiting_.size() == 1) tasks_.spawn(run());
  Result<> answer = co_await pair.first;
  co_return answer;
}

Task<void> Readiness::run() {
  auto probing = probe_();
  last_ = co_await probing;
  at_ = executor_.steadyNow();
  for (auto& each : std::exchange(waiting_, {})) each.complete(*last_);
}

}  // namespace koord::manager
