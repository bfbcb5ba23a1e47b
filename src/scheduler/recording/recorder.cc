#include "scheduler/recording/recorder.h"

#include "net/public_url.h"
#include "scheduler/recording/pending.h"
#include "scheduler/recording/redaction.h"

namespace koord::scheduler::recording {

namespace {

// How the answers of the API and of extenders are recorded: a head, then the body.
struct ApiAnswers {
  using Type = Result<std::string>;
  static constexpr Item kRequest = Item::Call;
  static constexpr Item kAnswer = Item::Reply;
  static std::string head(const Type& answer) {
    return encodeError(answer ? nullptr : &answer.error());
  }
  static std::string_view body(const Type& answer, std::string& storage) {
    return answer ? redacted(*answer, storage) : std::string_view();
  }
};

struct ExtenderAnswers {
  using Type = Result<net::HttpResponse>;
  static constexpr Item kRequest = Item::Fetch;
  static constexpr Item kAnswer = Item::Fetched;
  static std::string head(const Type& answer) {
    std::string head = encodeError(answer ? nullptr : &answer.error());
    if (answer) putNumber(head, static_cast<std::uint64_t>(answer->status));
    return head;
  }
  static std::string_view body(const Type& answer, std::string& /*storage*/) {
    return answer ? std::string_view(answer->body) : std::string_view();
  }
};

// Delivers an answer of the surroundings as a turn. An answer that comes while the scheduler makes
// the call gets a turn of its own later.
template <class Kind, class T>
void deliver(Recorder& recorder, std::uint64_t number, std::weak_ptr<Pending<T>> to, T answer) {
  if (recorder.inTurn()) {
    recorder.inner().post(
        [&recorder, number, to = std::move(to), answer = std::move(answer)]() mutable {
          if (!to.expired()) deliver<Kind>(recorder, number, std::move(to), std::move(answer));
        });
    return;
  }
  const auto pending = to.lock();
  if (!pending) return;  // the scheduler does not wait for it
  std::string storage;
  recorder.turn(Kind::kAnswer, number, Kind::head(answer), Kind::body(answer, storage),
                [&] { pending->deliver(std::move(answer)); });
}

template <class Kind, class T>
Task<void> forward(Recorder* recorder, std::uint64_t number, std::weak_ptr<Pending<T>> to,
                   Task<T> call) {
  auto answer = co_await call;
  deliver<Kind>(*recorder, number, std::move(to), std::move(answer));
}

// Records the request, makes the call, which has not begun, and waits for its answer.
template <class Kind, class T = typename Kind::Type>
Task<T> ask(Recorder& recorder, TaskGroup& calls, std::string request, Task<T> call) {
  if (!recorder.inTurn()) {
    auto untracked = co_await call;
    co_return untracked;
  }
  const std::uint64_t number = recorder.nextNumber();
  recorder.output(Kind::kRequest, number, request);
  auto pending = std::make_shared<Pending<T>>();
  calls.spawn(forward<Kind, T>(&recorder, number, pending, std::move(call)));
  Answer<T> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
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
      std::string storage;
      recorder->turn(Item::Event, number, redacted(event, storage), {},
                     [&] { kept->onEvent(event); });
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
  std::string encoded = encodeRequest(request);
  return ask<ApiAnswers>(recorder_, calls_, std::move(encoded), inner_.call(std::move(request)));
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
  std::string encoded = encodeFetch(request);
  return ask<ExtenderAnswers>(recorder_, calls_, std::move(encoded),
                              inner_.fetch(recorder_.inner(), std::move(request)));
}

std::unique_ptr<net::Stream> RecordingTransport::stream(Executor& executor,
                                                        net::HttpRequest request,
                                                        net::StreamSink sink) {
  return inner_.stream(executor, std::move(request), std::move(sink));
}

std::string encodeFetch(const net::HttpRequest& request) {
  std::string out;
  putText(out, request.method);
  putText(out, net::withoutCredentials(request.url));
  std::string storage;
  putText(out, redacted(request.body, storage));
  return out;
}

}  // namespace koord::scheduler::recording
