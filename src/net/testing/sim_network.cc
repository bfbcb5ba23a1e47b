#include "net/testing/sim_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "net/url.h"

namespace koord::net {

// One request on its way, and its answer. Timers hold it weakly: when the client destroys it,
// nothing more is delivered.
class SimNetwork::Exchange : public std::enable_shared_from_this<SimNetwork::Exchange> {
 public:
  Exchange(SimNetwork& network, HttpRequest request, StreamSink sink)
      : network_(network), request_(std::move(request)), sink_(std::move(sink)) {}

  void begin() {
    const auto limit = request_.timeout.count() > 0 ? request_.timeout : request_.idleTimeout;
    if (limit.count() > 0) {
      after(limit, [](Exchange& self) {
        self.close(fail(ErrorCode::Timeout, self.about("no complete response in time")));
      });
    }
    const NetworkFaults& faults = network_.faults;
    Random& random = network_.random_;
    if (!network_.handler_ || random.chance(faults.refuse)) return breakOff("connection refused");
    if (random.chance(faults.swallow)) return;
    if (random.chance(faults.loseRequest)) return breakOff("the connection was lost");
    if (random.chance(faults.overload)) return refuse();
    answered_ = random.chance(faults.loseAnswer) ? 0 : 1;
    const bool repeated = random.chance(faults.repeat);
    if (repeated && answered_ == 1) answered_ = 2;
    deliver(1);
    if (repeated) deliver(2);
  }

  // Called by the server, or by a fault in its place.
  void head(int sending, int status, Headers headers) {
    if (!awaited(sending)) return;
    arrive([status, headers = std::move(headers)](Exchange& self) mutable {
      if (self.sink_.onHead) self.sink_.onHead({status, std::move(headers), {}});
    });
  }
  void body(int sending, std::string bytes) {
    if (!awaited(sending) || bytes.empty() || cut_) return;
    if (network_.random_.chance(network_.faults.cut)) {
      cut_ = true;
      bytes.resize(network_.random_.below(bytes.size()));
    } else if (auto& left = network_.cutAfterBytes) {
      if (bytes.size() > *left) {
        cut_ = true;
        bytes.resize(*std::exchange(left, std::nullopt));
      } else {
        *left -= bytes.size();
      }
    }
    // Chunk boundaries mean nothing to the receiver.
    const std::size_t first = network_.random_.below(bytes.size() + 1);
    for (std::string part : {bytes.substr(0, first), bytes.substr(first)}) {
      if (part.empty()) continue;
      arrive([part = std::move(part)](Exchange& self) mutable {
        self.network_.bytes += part.size();
        if (self.sink_.onChunk) self.sink_.onChunk(std::move(part));
      });
    }
    if (!cut_) return;
    const bool proper =
        network_.faults.cut > 0 ? network_.random_.chance(0.5) : network_.cutsLookComplete;
    finish(proper);
  }
  void end(int sending) {
    if (awaited(sending) && !cut_) finish(true);
  }
  void lost(int sending) {
    if (awaited(sending) && !cut_) finish(false);
  }
  void whenLost(Callback fn) {
    if (open_) {
      onLost_.push_back(std::move(fn));
    } else {
      network_.executor_.post(std::move(fn));
    }
  }

  void close(Result<> result) {
    if (!std::exchange(open_, false)) return;
    const auto self = shared_from_this();
    network_.open_.erase(self);
    for (auto& fn : std::exchange(onLost_, {})) network_.executor_.post(std::move(fn));
    if (sink_.onClosed) sink_.onClosed(std::move(result));
    sink_ = {};
  }
  // Called by the client: ends the delivery. The sink may be on the stack.
  void cancel() {
    if (!std::exchange(open_, false)) return;
    network_.open_.erase(shared_from_this());
    for (auto& fn : std::exchange(onLost_, {})) network_.executor_.post(std::move(fn));
  }
  void breakNow() { close(fail(ErrorCode::Unavailable, about("the connection was lost"))); }

 private:
  template <class Fn>
  void after(Duration delay, Fn fn) {
    network_.executor_.runAfter(delay, [weak = weak_from_this(), fn = std::move(fn)]() mutable {
      if (const auto self = weak.lock(); self && self->open_) fn(*self);
    });
  }
  // Delivers to the client, after everything sent before.
  template <class Fn>
  void arrive(Fn fn) {
    const SteadyTime now = network_.executor_.steadyNow();
    arrival_ = std::max(arrival_, now + delay());
    after(arrival_ - now, std::move(fn));
  }
  Duration delay() {
    const auto& faults = network_.faults;
    const auto spread = (faults.maxDelay - faults.minDelay).count();
    return faults.minDelay + Duration(spread > 0 ? network_.random_.below(spread) : 0);
  }
  bool awaited(int sending) const { return open_ && sending == answered_; }
  std::string about(std::string_view what) const {
    return fmt::format("{} {}: {}", request_.method, request_.url, what);
  }

  void breakOff(std::string_view why) {
    arrive([text = about(why)](Exchange& self) { self.close(fail(ErrorCode::Unavailable, text)); });
  }
  void finish(bool proper) {
    cut_ = true;
    if (!proper) return breakOff("the connection was lost");
    arrive([](Exchange& self) { self.close({}); });
  }
  void refuse() {
    constexpr std::array kStatus{429, 500, 503};
    const int status = kStatus[network_.random_.below(kStatus.size())];
    answered_ = 1;
    head(1, status, status == 429 ? Headers{{"Retry-After", "1"}} : Headers{});
    body(1, "overloaded");
    end(1);
  }
  void deliver(int sending);

  SimNetwork& network_;
  const HttpRequest request_;
  StreamSink sink_;
  SteadyTime arrival_{};
  int answered_ = 1;  // which copy's answer the client gets; 0 = none, the connection breaks off
  bool cut_ = false;  // nothing more arrives
  bool open_ = true;
  std::vector<Callback> onLost_;
};

class SimNetwork::SimResponder final : public Responder {
 public:
  SimResponder(std::weak_ptr<Exchange> exchange, int sending)
      : exchange_(std::move(exchange)), sending_(sending) {}
  ~SimResponder() override {
    if (ended_) return;
    if (!begun_) {
      respond(500, {}, std::make_shared<const std::string>());
    } else if (const auto exchange = exchange_.lock()) {
      exchange->lost(sending_);
    }
  }

  void respond(int status, Headers headers, Bytes body) override {
    begin(status, std::move(headers));
    write(std::move(body));
    end();
  }
  void begin(int status, Headers headers) override {
    if (std::exchange(begun_, true)) return;
    if (const auto exchange = exchange_.lock())
      exchange->head(sending_, status, std::move(headers));
  }
  void write(Bytes chunk) override {
    if (ended_) return;
    if (const auto exchange = exchange_.lock()) exchange->body(sending_, *chunk);
  }
  void end() override {
    if (std::exchange(ended_, true)) return;
    if (const auto exchange = exchange_.lock()) exchange->end(sending_);
  }
  std::size_t queuedBytes() const override { return 0; }
  void abort() override {
    if (std::exchange(ended_, true)) return;
    if (const auto exchange = exchange_.lock()) exchange->lost(sending_);
  }
  void onClosed(Callback fn) override {
    if (const auto exchange = exchange_.lock()) exchange->whenLost(std::move(fn));
  }

 private:
  std::weak_ptr<Exchange> exchange_;
  const int sending_;
  bool begun_ = false;
  bool ended_ = false;
};

// A request that is on its way when the client gives up still arrives if the server exists.
void SimNetwork::Exchange::deliver(int sending) {
  network_.executor_.runAfter(
      delay() * sending, [network = &network_, request = request_, sending, weak = weak_from_this(),
                          server = network_.server_] {
        if (network->server_ != server) return;
        ServerRequest arrived;
        arrived.method = request.method;
        if (const auto url = parseUrl(request.url)) arrived.target = url->target;
        arrived.headers = request.headers;
        arrived.body = request.body;
        arrived.remote = "simulated";
        network->handler_(std::move(arrived), std::make_shared<SimResponder>(weak, sending));
        const auto self = weak.lock();
        if (self && self->answered_ == 0) self->breakOff("the connection was lost");
      });
}

class SimNetwork::Handle final : public Stream {
 public:
  explicit Handle(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Handle() override { exchange_->cancel(); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

SimNetwork::SimNetwork(Executor& executor, Random random) : executor_(executor), random_(random) {}

SimNetwork::~SimNetwork() = default;

void SimNetwork::listen(HttpServer::Handler handler) {
  handler_ = std::move(handler);
  ++server_;
  breakAll();
}

void SimNetwork::breakAll() {
  for (const auto& exchange : std::vector(open_.begin(), open_.end())) exchange->breakNow();
}

std::unique_ptr<Stream> SimNetwork::stream(Executor&, HttpRequest request, StreamSink sink) {
  ++requests;
  const auto exchange = std::make_shared<Exchange>(*this, std::move(request), std::move(sink));
  open_.insert(exchange);
  exchange->begin();
  return std::make_unique<Handle>(exchange);
}

Task<Result<HttpResponse>> SimNetwork::fetch(Executor& executor, HttpRequest request) {
  auto ends = Future<Result<HttpResponse>>::make(executor);
  const auto response = std::make_shared<HttpResponse>();
  StreamSink sink;
  sink.onHead = [response](HttpResponse head) { *response = std::move(head); };
  sink.onChunk = [response](std::string part) { response->body += part; };
  sink.onClosed = [response, completer = ends.second](Result<> result) {
    if (!result) return completer.complete(fail(std::move(result.error())));
    completer.complete(std::move(*response));
  };
  const auto running = stream(executor, std::move(request), std::move(sink));
  Result<HttpResponse> reply = co_await ends.first;
  co_return std::move(reply);
}

}  // namespace koord::net
