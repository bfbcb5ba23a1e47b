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

SteadyTime Replayer::steadyNow() const {
  if (const Record* next = expect(Item::Steady)) {
    steady_ += unzigzag(next->number);
    reader_.pop();
  }
  return SteadyTime(Duration(steady_));
}

WallTime Replayer::wallNow() const {
  if (const Record* next = expect(Item::Wall)) {
    wallAhead_ += unzigzag(next->number);
    reader_.pop();
    outcome_.end = WallTime(Duration(steady_ + wallAhead_));
    if (outcome_.begin == WallTime{}) outcome_.begin = outcome_.end;
  }
  return WallTime(Duration(steady_ + wallAhead_));
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
      return reply(record.number, record.bytes);
    case Item::Fetched:
      return fetched(record.number, record.bytes);
    case Item::Event:
      return event(record);
    case Item::Closed:
      return closed(record);
    default:
      return malformed(record.item);
  }
}

void Replayer::reply(std::uint64_t number, std::string_view bytes) {
  auto result = decodeResult(bytes);
  if (!result) return malformed(Item::Reply);
  auto found = calls_.extract(number);
  const auto pending = found.empty() ? nullptr : found.mapped().lock();
  if (!pending) return differ(describe({Item::Reply, number, bytes}), "nothing waits for it");
  pending->deliver(*std::move(result));
}

void Replayer::fetched(std::uint64_t number, std::string_view bytes) {
  auto result = decodeResult(bytes);
  if (!result) return malformed(Item::Fetched);
  auto found = fetches_.extract(number);
  const auto pending = found.empty() ? nullptr : found.mapped().lock();
  if (!pending) return differ(describe({Item::Fetched, number, bytes}), "nothing waits for it");
  if (!*result) return pending->deliver(koord::fail(std::move(result->error())));
  std::string_view body = **result;
  const auto status = takeNumber(body);
  if (!status || *status > 999) return malformed(Item::Fetched);
  net::HttpResponse response;
  response.status = static_cast<int>(*status);
  response.body = body;
  pending->deliver(std::move(response));
}

void Replayer::event(const Record& record) {
  const auto found = watches_.find(record.number);
  if (found == watches_.end()) return differ(describe(record), "this watch is not open");
  const auto kept = found->second;  // the sink may end the watch
  kept->onEvent(record.bytes);
}

void Replayer::closed(const Record& record) {
  auto result = decodeResult(record.bytes);
  if (!result || result->has_value()) return malformed(record.item);
  const auto found = watches_.find(record.number);
  if (found == watches_.end()) return differ(describe(record), "this watch is not open");
  const auto kept = found->second;
  kept->onClosed(std::move(result->error()));
}

void Replayer::http(std::string_view bytes) {
  const auto texts = textsIn(bytes);
  if (!texts || texts->size() != 3) return malformed(Item::Http);
  inputs_.http((*texts)[0], (*texts)[1], (*texts)[2]);
}

Task<Result<std::string>> ReplayApi::call(kube::Request request) {
  const std::uint64_t number = ++replayer_.numbers_;
  replayer_.output(Item::Call, number, encodeRequest(request));
  auto pending = std::make_shared<Replayer::ApiAnswer>();
  replayer_.calls_[number] = pending;
  Answer<Result<std::string>> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
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
  const std::uint64_t number = ++replayer_.numbers_;
  replayer_.output(Item::Fetch, number, encodeFetch(request));
  auto pending = std::make_shared<Replayer::FetchAnswer>();
  replayer_.fetches_[number] = pending;
  Answer<Result<net::HttpResponse>> answer(std::move(pending));
  auto result = co_await answer;
  co_return result;
}

std::unique_ptr<net::Stream> ReplayTransport::stream(Executor& /*executor*/,
                                                     net::HttpRequest /*request*/,
                                                     net::StreamSink /*sink*/) {
  return std::make_unique<SilentStream>();
}

}  // namespace koord::scheduler::recording
