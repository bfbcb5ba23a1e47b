#include "scheduler/recording/replayer.h"

#include "scheduler/recording/recorder.h"

namespace koord::scheduler::recording {

namespace {

class ReplayWatch final : public kube::Watch {
 public:
  explicit ReplayWatch(std::function<void()> ended) : ended_(std::move(ended)) {}
  ~ReplayWatch() override { ended_(); }

 private:
  std::function<void()> ended_;
};

class SilentStream final : public net::Stream {};

// Readings beyond these, in nanoseconds, are of no real clock: 31 years since the host started, and
// 221 years from there to the wall clock. Sums of both and a few years more are no overflow.
constexpr std::int64_t kMaxSteady = 1'000'000'000'000'000'000;
constexpr std::int64_t kMaxWallAhead = 7'000'000'000'000'000'000;

}  // namespace

Replayer::Replayer(Source& source, Inputs inputs) : reader_(source), inputs_(std::move(inputs)) {}

Replayer::~Replayer() = default;

void Replayer::differ(std::string recorded, std::string replayed) const {
  if (std::exchange(lost_, true)) return;
  outcome_.kind = Outcome::Kind::Different;
  outcome_.recorded = std::move(recorded);
  outcome_.replayed = std::move(replayed);
}

void Replayer::malformed(Item item) const {
  differ("malformed content of " + std::string(nameOf(item)), "nothing");
}

void Replayer::stop() {
  stopped_ = true;
  lost_ = true;
  outcome_.kind = Outcome::Kind::Stopped;
}

const Record* Replayer::expect(Item item) const {
  if (lost_ || !running_) return nullptr;
  const Record* next = reader_.peek();
  if (!next) {
    lost_ = true;  // the recording ends within this turn
    return nullptr;
  }
  if (next->item == item) return next;
  differ(beginsTurn(next->item) ? "the turn ends here" : describe(*next),
         std::string(nameOf(item)));
  return nullptr;
}

// Adds a recorded change to a reading of a clock, which may be hostile.
bool Replayer::advance(std::int64_t& reading, Item item, std::int64_t limit) const {
  const Record* next = expect(item);
  if (!next) return false;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(reading, unzigzag(next->number), &sum) || sum > limit ||
      sum < -limit) {
    malformed(item);
    return false;
  }
  reading = sum;
  reader_.pop();
  return true;
}

SteadyTime Replayer::steadyNow() const {
  (void)advance(steady_, Item::Steady, kMaxSteady);
  return lastSteady();
}

WallTime Replayer::wallNow() const {
  if (advance(wallAhead_, Item::Wall, kMaxWallAhead)) {
    outcome_.end = lastWall();
    if (outcome_.begin == WallTime{}) outcome_.begin = outcome_.end;
  }
  return lastWall();
}

TimerId Replayer::runAt(SteadyTime /*when*/, Callback fn) {
  timers_[++lastTimer_] = std::move(fn);
  return lastTimer_;
}

void Replayer::output(Item item, std::uint64_t number, std::string_view bytes) {
  if (lost_ || !running_) return;
  const Record* next = reader_.peek();
  if (!next) {
    lost_ = true;
    return;
  }
  const Record own{item, number, bytes};
  if (next->item == item && next->number == number && next->bytes == bytes) {
    if (item == Item::Decision) ++outcome_.decisions;
    return reader_.pop();
  }
  std::string recorded = beginsTurn(next->item) ? "the turn ends here" : describe(*next);
  std::string replayed = describe(own);
  if (recorded == replayed) {  // they differ in what the description leaves out
    recorded += ": " + std::string(next->bytes);
    replayed += ": " + std::string(bytes);
  }
  differ(std::move(recorded), std::move(replayed));
}

std::optional<DecisionText> Replayer::decisionAfter(const std::string& pod) {
  for (; const Record* next = reader_.peek(); reader_.pop()) {
    if (next->item != Item::Decision) continue;
    auto decision = decodeDecision(next->bytes);
    if (decision && decision->pod == pod) return decision;
  }
  return std::nullopt;
}

Replayer::Outcome Replayer::run() {
  while (!lost_) {
    const Record* next = reader_.peek();
    if (!next) break;
    if (!beginsTurn(next->item)) {
      differ(describe(*next), "the turn ends here");
      break;
    }
    // Reading on within the turn overwrites it.
    const std::string bytes(next->bytes);
    const Record record{next->item, next->number, bytes};
    reader_.pop();
    outcome_.bytes += bytes.size();
    running_ = true;
    runTurn(record);
    running_ = false;
    ++outcome_.turns;
  }
  lost_ = true;
  outcome_.source = reader_.end();
  outcome_.why = reader_.why();
  return outcome_;
}

void Replayer::runTurn(const Record& record) {
  switch (record.item) {
    case Item::Begin:
      return inputs_.begin();
    case Item::Start:
      return inputs_.start();
    case Item::Lead:
      return inputs_.lead();
    case Item::Stop:
      return inputs_.stop();
    case Item::Http:
      return http(record.bytes);
    case Item::Posted: {
      if (posted_.empty()) return differ(describe(record), "no callback waits");
      auto fn = std::move(posted_.front());
      posted_.pop_front();
      return fn();
    }
    case Item::Timer: {
      auto timer = timers_.extract(record.number);
      if (timer.empty()) return differ(describe(record), "this timer is not set");
      return timer.mapped()();
    }
    case Item::Reply:
      return reply(record);
    case Item::Fetched:
      return fetched(record);
    case Item::Event:
      return event(record);
    case Item::Closed:
      return closed(record);
    default:
      return malformed(record.item);
  }
}

template <class T>
void Replayer::deliver(Waiting<T>& waiting, const Record& record, T answer) {
  auto found = waiting.extract(record.number);
  const auto pending = found.empty() ? nullptr : found.mapped().lock();
  if (!pending) return differ(describe(record), "nothing waits for it");
  pending->deliver(std::move(answer));
}

void Replayer::reply(const Record& record) {
  auto answer = decodeResult(record.bytes);
  if (!answer) return malformed(record.item);
  deliver(calls_, record, *std::move(answer));
}

void Replayer::fetched(const Record& record) {
  auto answer = decodeResult(record.bytes);
  if (!answer) return malformed(record.item);
  if (!*answer)
    return deliver(fetches_, record,
                   Result<net::HttpResponse>(koord::fail(std::move(answer->error()))));
  std::string_view body = **answer;
  const auto status = takeNumber(body);
  if (!status || *status > 999) return malformed(record.item);
  net::HttpResponse response;
  response.status = static_cast<int>(*status);
  response.body = body;
  deliver(fetches_, record, Result<net::HttpResponse>(std::move(response)));
}

// Keeps the sink, which may end its watch.
std::shared_ptr<kube::WatchSink> Replayer::sinkOf(const Record& record) const {
  const auto found = watches_.find(record.number);
  if (found != watches_.end()) return found->second;
  differ(describe(record), "this watch is not open");
  return nullptr;
}

void Replayer::event(const Record& record) {
  if (const auto sink = sinkOf(record)) sink->onEvent(record.bytes);
}

void Replayer::closed(const Record& record) {
  auto result = decodeResult(record.bytes);
  if (!result || result->has_value()) return malformed(record.item);
  if (const auto sink = sinkOf(record)) sink->onClosed(std::move(result->error()));
}

void Replayer::http(std::string_view bytes) {
  const auto texts = textsIn(bytes);
  if (!texts || texts->size() != 3) return malformed(Item::Http);
  inputs_.http((*texts)[0], (*texts)[1], (*texts)[2]);
}

template <class T>
Task<T> Replayer::ask(Waiting<T>* waiting, Item item, std::string request) {
  const std::uint64_t number = ++numbers_;
  output(item, number, request);
  auto pending = std::make_shared<Pending<T>>();
  (*waiting)[number] = pending;
  Answer<T> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
}

Task<Result<std::string>> ReplayApi::call(kube::Request request) {
  return replayer_.ask(&replayer_.calls_, Item::Call, encodeRequest(request));
}

std::unique_ptr<kube::Watch> ReplayApi::watch(kube::Request request, kube::WatchSink sink) {
  const std::uint64_t number = ++replayer_.numbers_;
  replayer_.output(Item::Watch, number, encodeRequest(request));
  replayer_.watches_[number] = std::make_shared<kube::WatchSink>(std::move(sink));
  return std::make_unique<ReplayWatch>([replayer = &replayer_, number] {
    replayer->output(Item::Unwatch, number, {});
    replayer->watches_.erase(number);
  });
}

bool ReplayApi::takesProtobuf() const {
  const Record* next = replayer_.expect(Item::Protobuf);
  if (!next) return false;
  const bool takes = next->number != 0;
  replayer_.reader_.pop();
  return takes;
}

Task<Result<net::HttpResponse>> ReplayTransport::fetch(Executor& /*executor*/,
                                                       net::HttpRequest request) {
  return replayer_.ask(&replayer_.fetches_, Item::Fetch, encodeFetch(request));
}

std::unique_ptr<net::Stream> ReplayTransport::stream(Executor& /*executor*/,
                                                     net::HttpRequest /*request*/,
                                                     net::StreamSink /*sink*/) {
  return std::make_unique<SilentStream>();
}

}  // namespace koord::scheduler::recording
