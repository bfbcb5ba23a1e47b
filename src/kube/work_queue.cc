#include "kube/work_queue.h"

#include <algorithm>

#include "base/caught.h"
#include "base/log.h"

namespace koord::kube {

using namespace std::chrono_literals;

namespace {
constexpr double kOverallRate = 10;  // failures per second that may come back
constexpr double kOverallBurst = 100;
constexpr Duration kFirstBackoff = 5ms;
constexpr Duration kLastBackoff = 1000s;
}  // namespace

WorkQueue::WorkQueue(Executor& executor, std::string name, Worker worker, Metrics* metrics)
    : executor_(executor),
      name_(std::move(name)),
      worker_(std::move(worker)),
      metrics_(metrics ? &metrics->queue(name_) : nullptr),
      tokens_(kOverallBurst),
      refilled_(executor.steadyNow()) {}

WorkQueue::WorkQueue(Executor& executor, std::string name, Worker worker, std::size_t workers)
    : WorkQueue(executor, std::move(name), std::move(worker)) {
  idle_ = std::max<std::size_t>(workers, 1);
}

void WorkQueue::add(const std::string& key) {
  if (!waiting_.emplace(key, executor_.steadyNow()).second) return;
  if (!running_.contains(key)) push(key);
}

void WorkQueue::push(std::string key) {
  queue_.push_back(std::move(key));
  if (metrics_) metrics_->added(queue_.size());
  if (started_ && idle_ > 0) tasks_.spawn(loop());
}

void WorkQueue::addAfter(const std::string& key, Duration delay) {
  tasks_.spawn(addLater(key, delay));
}

Task<void> WorkQueue::addLater(std::string key, Duration delay) {
  auto pause = sleepFor(executor_, delay);
  co_await pause;
  add(key);
}

void WorkQueue::start() {
  started_ = true;
  for (std::size_t n = queue_.size(); n > 0 && idle_ > 0; --n) tasks_.spawn(loop());
}

// A worker.
Task<void> WorkQueue::loop() {
  --idle_;
  // Never on the caller's stack.
  auto yield = sleepFor(executor_, 0ns);
  co_await yield;
  while (!queue_.empty()) {
    const std::string key = std::move(queue_.front());
    queue_.pop_front();
    running_.insert(key);
    const SteadyTime began = executor_.steadyNow();
    const auto waited = waiting_.extract(key);
    if (metrics_) metrics_->started(queue_.size(), began, began - waited.mapped());
    auto work = processKey(key);
    const auto result = co_await work;
    if (metrics_) metrics_->ended(executor_.steadyNow() - began);
    running_.erase(key);
    if (waiting_.contains(key)) push(key);
    if (result) {
      failures_.erase(key);
    } else {
      const Duration delay = backoff(key);
      if (metrics_) metrics_->retried();
      log::warn("{}: {}: {} (again in {} ms)", name_, key, result.error().message,
                std::chrono::duration_cast<std::chrono::milliseconds>(delay).count());
      addAfter(key, delay);
    }
  }
  ++idle_;
}

// A bug that one key brings to light must not stop the others.
Task<Result<>> WorkQueue::processKey(std::string key) {
  std::string thrown;
  try {
    auto work = worker_(std::move(key));
    Result<> result = co_await work;
    co_return result;
  } catch (...) {
    thrown = thrownText();
  }
  co_return fail(ErrorCode::Internal, "unexpected exception: " + thrown);
}

Duration WorkQueue::backoff(const std::string& key) {
  const int failures = failures_[key]++;
  const Duration own = failures > 20
                           ? kLastBackoff
                           : std::min<Duration>(kFirstBackoff * (1L << failures), kLastBackoff);
  const SteadyTime now = executor_.steadyNow();
  const double passed = std::chrono::duration<double>(now - refilled_).count();
  tokens_ = std::min(kOverallBurst, tokens_ + passed * kOverallRate) - 1;
  refilled_ = now;
  const Duration overall = tokens_ >= 0
                               ? Duration::zero()
                               : std::chrono::duration_cast<Duration>(
                                     std::chrono::duration<double>(-tokens_ / kOverallRate));
  return std::max(own, overall);
}

}  // namespace koord::kube
