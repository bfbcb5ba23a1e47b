#include "scheduler/oracle/seam.h"

#include <map>
#include <utility>
#include <vector>

namespace koord::scheduler::oracle {

namespace {

bool isRead(kube::Verb verb) {
  return verb == kube::Verb::Get || verb == kube::Verb::List;
}

// Of a child: no event comes.
class SilentWatch final : public kube::Watch {};

}  // namespace

SeamExecutor::~SeamExecutor() {
  *alive_ = false;
  if (cut_) return;
  for (const auto& [own, timer] : timers_) inner_.cancel(timer.inner);
}

void SeamExecutor::post(Callback fn) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = first_ + posted_.size();
    posted_.push_back(std::move(fn));
  }
  if (cut_) return;
  inner_.post([this, alive = alive_, number] {
    if (!*alive) return;
    if (Callback run = take(number)) run();
  });
}

Callback SeamExecutor::take(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Callback fn = std::exchange(posted_[number - first_], nullptr);
  while (!posted_.empty() && !posted_.front()) {
    posted_.pop_front();
    ++first_;
  }
  return fn;
}

TimerId SeamExecutor::runAt(SteadyTime when, Callback fn) {
  const TimerId own = ++lastTimer_;
  Timer& timer = timers_[own];
  timer.when = when;
  timer.fn = std::move(fn);
  arm(own, timer);
  return own;
}

void SeamExecutor::arm(TimerId own, Timer& timer) {
  const auto run = [this, own] { runTimer(own); };
  timer.inner = cut_ ? due_.add(timer.when, run) : inner_.runAt(timer.when, run);
}

void SeamExecutor::runTimer(TimerId own) {
  const auto timer = timers_.extract(own);
  if (timer) timer.mapped().fn();
}

void SeamExecutor::cancel(TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  cut_ ? due_.cancel(found->second.inner) : inner_.cancel(found->second.inner);
  timers_.erase(found);
}

// Timers of the same time fire in the order in which they were set.
void SeamExecutor::cut() {
  now_ = inner_.steadyNow();
  ahead_ = inner_.wallNow().time_since_epoch() - now_.time_since_epoch();
  cut_ = true;
  std::map<TimerId, Timer*> inOrder;
  for (auto& [own, timer] : timers_) inOrder.emplace(own, &timer);
  for (const auto& [own, timer] : inOrder) arm(own, *timer);
}

bool SeamExecutor::runReady(const std::function<bool()>& done) {
  for (;;) {
    if (done()) return true;
    Callback next;
    {
      const std::lock_guard lock(mutex_);
      while (!posted_.empty() && !next) {
        next = std::move(posted_.front());
        posted_.pop_front();
        ++first_;
      }
    }
    if (!next) next = due_.takeDue(now_);
    if (!next) return false;
    next();
  }
}

bool SeamExecutor::skipTo(SteadyTime limit) {
  const auto next = due_.next();
  if (!next || *next > limit) return false;
  now_ = std::max(now_, *next);
  return true;
}

// The coroutine of a call. When it is destroyed without an answer, the inner call ends, too.
class SeamApi::Caller {
 public:
  Caller(SeamApi& api, OpenCalls::iterator open) : api_(api), open_(open) {}
  ~Caller() {
    if (!open_->answered) api_.open_.erase(open_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  SeamApi& api_;
  const OpenCalls::iterator open_;
};

Task<Result<std::string>> SeamApi::call(kube::Request request) {
  if (server_) {
    auto turn = sleepFor(executor_, Duration::zero());
    co_await turn;
    co_return server_(request);
  }
  if (isRead(request.verb)) {
    auto reading = inner_.call(std::move(request));
    auto read = co_await reading;
    ++received_;
    co_return read;
  }
  open_.remove_if([](const Open& call) { return call.answered && !call.delivering; });
  const auto open = open_.emplace(open_.end());
  const Caller caller(*this, open);
  auto pending = std::make_shared<Answer>();
  open->request = request;
  open->answer = pending;
  open->task.spawn(forward(this, open, inner_.call(std::move(request))));
  recording::Answer<Result<std::string>> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
}

Task<void> SeamApi::forward(SeamApi* self, OpenCalls::iterator open,
                            Task<Result<std::string>> call) {
  auto result = co_await call;
  ++self->received_;
  open->answered = open->delivering = true;
  if (const auto waiting = open->answer.lock()) waiting->deliver(std::move(result));
  open->delivering = false;
}

std::unique_ptr<kube::Watch> SeamApi::watch(kube::Request request, kube::WatchSink sink) {
  if (server_) return std::make_unique<SilentWatch>();
  kube::WatchSink counted;
  counted.onEvent = [this, onEvent = std::move(sink.onEvent)](std::string_view event) {
    const auto keep = onEvent;  // the sink may end this watch
    ++received_;
    keep(event);
  };
  counted.onClosed = std::move(sink.onClosed);
  return inner_.watch(std::move(request), std::move(counted));
}

void SeamApi::cut(Server server) {
  server_ = std::move(server);
  for (const Open& call : open_) {
    if (call.answered) continue;
    executor_.runAfter(Duration::zero(), [this, request = call.request, answer = call.answer] {
      if (const auto waiting = answer.lock()) waiting->deliver(server_(request));
    });
  }
}

}  // namespace koord::scheduler::oracle
