#include "scheduler/recording/recorder.h"

#include "scheduler/recording/pending.h"

namespace koord::scheduler::recording {

namespace {

using ApiAnswer = Pending<Result<std::string>>;
using FetchAnswer = Pending<Result<net::HttpResponse>>;

// Delivers an answer of the surroundings as a turn. An answer that comes while the scheduler makes
// the call gets a turn of its own later.
void deliverApi(Recorder& recorder, std::uint64_t number, std::weak_ptr<ApiAnswer> to,
                Result<std::string> answer) {
  if (recorder.inTurn()) {
    recorder.inner().post(
        [&recorder, number, to = std::move(to), answer = std::move(answer)]() mutable {
          if (!to.expired()) deliverApi(recorder, number, std::move(to), std::move(answer));
        });
    return;
  }
  const auto pending = to.lock();
  if (!pending) return;  // the scheduler does not wait for it
  const std::string head = encodeError(answer ? nullptr : &answer.error());
  recorder.turn(Item::Reply, number, head, answer ? std::string_view(*answer) : std::string_view(),
                [&] { pending->deliver(std::move(answer)); });
}

void deliverFetch(Recorder& recorder, std::uint64_t number, std::weak_ptr<FetchAnswer> to,
                  Result<net::HttpResponse> answer) {
  if (recorder.inTurn()) {
    recorder.inner().post(
        [&recorder, number, to = std::move(to), answer = std::move(answer)]() mutable {
          if (!to.expired()) deliverFetch(recorder, number, std::move(to), std::move(answer));
        });
    return;
  }
  const auto pending = to.lock();
  if (!pending) return;
  std::string head = encodeError(answer ? nullptr : &answer.error());
  if (answer) putNumber(head, static_cast<std::uint64_t>(answer->status));
  recorder.turn(Item::Fetched, number, head,
                answer ? std::string_view(answer->body) : std::string_view(),
                [&] { pending->deliver(std::move(answer)); });
}

Task<void> forwardCall(Recorder* recorder, std::uint64_t number, std::weak_ptr<ApiAnswer> to,
                       Task<Result<std::string>> call) {
  auto answer = co_await call;
  deliverApi(*recorder, number, std::move(to), std::move(answer));
}

Task<void> forwardFetch(Recorder* recorder, std::uint64_t number, std::weak_ptr<FetchAnswer> to,
                        Task<Result<net::HttpResponse>> call) {
  auto answer = co_await call;
  deliverFetch(*recorder, number, std::move(to), std::move(answer));
}

class RecordingWatch final : public kube::Watch {
 public:
  RecordingWatch(Recorder& recorder, std::uint64_t number, kube::WatchSink sink)
      : recorder_(recorder),
        number_(number),
        sink_(std::make_shared<kube::WatchSink>(std::move(sink))) {}
  ~RecordingWatch() override { recorder_.output(Item::Unwatch, number_, {}); }

  // The sink may destroy this watch in any of its calls, so the callbacks use copies.
  void open(kube::Api& api, kube::Request request) {
    kube::WatchSink sink;
    sink.onEvent = [recorder = &recorder_, number = number_, to = sink_](std::string_view event) {
      const auto kept = to;
      recorder->turn(Item::Event, number, event, {}, [&] { kept->onEvent(event); });
    };
    sink.onClosed = [recorder = &recorder_, number = number_, to = sink_](Error error) {
      const auto kept = to;
      recorder->turn(Item::Closed, number, encodeError(&error), {},
                     [&] { kept->onClosed(std::move(error)); });
    };
    inner_ = api.watch(std::move(request), std::move(sink));
  }

 private:
  Recorder& recorder_;
  const std::uint64_t number_;
  const std::shared_ptr<kube::WatchSink> sink_;
  std::unique_ptr<kube::Watch> inner_;
};

}  // namespace

Recorder::Recorder(Executor& inner, Writer& writer)
    : inner_(inner), writer_(writer), thread_(std::this_thread::get_id()) {}

Recorder::~Recorder() {
  *alive_ = false;
  for (const auto& [own, inner] : timers_) inner_.cancel(inner);
}

SteadyTime Recorder::steadyNow() const {
  const SteadyTime now = inner_.steadyNow();
  if (!inTurn()) return now;
  const std::int64_t count = now.time_since_epoch().count();
  writer_.add(Item::Steady, zigzag(count - std::exchange(steady_, count)));
  return now;
}

WallTime Recorder::wallNow() const {
  const WallTime now = inner_.wallNow();
  if (!inTurn()) return now;
  const std::int64_t ahead = now.time_since_epoch().count() - steady_;
  writer_.add(Item::Wall, zigzag(ahead - std::exchange(wallAhead_, ahead)));
  return now;
}

void Recorder::post(Callback fn) {
  if (!inTurn()) return inner_.post(std::move(fn));
  inner_.post([this, alive = alive_, fn = std::move(fn)]() mutable {
    if (*alive) turn(Item::Posted, 0, {}, {}, fn);
  });
}

TimerId Recorder::runAt(SteadyTime when, Callback fn) {
  if (!inTurn()) return inner_.runAt(when, std::move(fn)) | kUntracked;
  const TimerId own = ++lastTimer_;
  timers_[own] = inner_.runAt(when, [this, own, fn = std::move(fn)]() mutable {
    timers_.erase(own);
    turn(Item::Timer, own, {}, {}, fn);
  });
  return own;
}

void Recorder::cancel(TimerId timer) {
  if ((timer & kUntracked) != 0) return inner_.cancel(timer & ~kUntracked);
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  inner_.cancel(found->second);
  timers_.erase(found);
}

Task<Result<std::string>> RecordingApi::call(kube::Request request) {
  if (!recorder_.inTurn()) {
    auto untracked = inner_.call(std::move(request));
    auto reply = co_await untracked;
    co_return reply;
  }
  const std::uint64_t number = recorder_.nextNumber();
  recorder_.output(Item::Call, number, encodeRequest(request));
  auto pending = std::make_shared<ApiAnswer>();
  calls_.spawn(forwardCall(&recorder_, number, pending, inner_.call(std::move(request))));
  Answer<Result<std::string>> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
}

std::unique_ptr<kube::Watch> RecordingApi::watch(kube::Request request, kube::WatchSink sink) {
  if (!recorder_.inTurn()) return inner_.watch(std::move(request), std::move(sink));
  const std::uint64_t number = recorder_.nextNumber();
  recorder_.output(Item::Watch, number, encodeRequest(request));
  auto watch = std::make_unique<RecordingWatch>(recorder_, number, std::move(sink));
  watch->open(inner_, std::move(request));
  return watch;
}

bool RecordingApi::takesProtobuf() const {
  const bool takes = inner_.takesProtobuf();
  recorder_.output(Item::Protobuf, takes ? 1 : 0);
  return takes;
}

Task<Result<net::HttpResponse>> RecordingTransport::fetch(Executor& /*executor*/,
                                                          net::HttpRequest request) {
  if (!recorder_.inTurn()) {
    auto untracked = inner_.fetch(recorder_.inner(), std::move(request));
    auto response = co_await untracked;
    co_return response;
  }
  const std::uint64_t number = recorder_.nextNumber();
  recorder_.output(Item::Fetch, number, encodeFetch(request));
  auto pending = std::make_shared<FetchAnswer>();
  calls_.spawn(forwardFetch(&recorder_, number, pending,
                            inner_.fetch(recorder_.inner(), std::move(request))));
  Answer<Result<net::HttpResponse>> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
}

std::unique_ptr<net::Stream> RecordingTransport::stream(Executor& executor,
                                                        net::HttpRequest request,
                                                        net::StreamSink sink) {
  return inner_.stream(executor, std::move(request), std::move(sink));
}

std::string encodeFetch(const net::HttpRequest& request) {
  std::string out;
  putText(out, request.method);
  putText(out, request.url);
  putText(out, request.body);
  return out;
}

}  // namespace koord::scheduler::recording
