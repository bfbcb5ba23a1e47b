#include "runtimeproxy/relay.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace koord::runtimeproxy {
namespace {

using net::GrpcCode;
using net::GrpcStatus;
using net::Http2Headers;

constexpr std::size_t kMaxAsked = 16 << 20;  // bytes of an intercepted request
constexpr Duration kNoDeadline = std::chrono::hours(24);

GrpcStatus unreachable(const std::string& socket, const std::string& why) {
  return {GrpcCode::Unavailable, fmt::format("koord-runtime-proxy: runtime {}: {}", socket, why)};
}

bool isOk(const Http2Headers& last) {
  return net::headerOf(last, "grpc-status") == "0";
}

void set(Http2Headers& headers, std::string_view name, std::string value) {
  for (auto& header : headers)
    if (header.name == name) header.value = std::move(value);
}

}  // namespace

// One connection to the runtime, and its calls.
class Relay::Backend final : public net::Http2User, public std::enable_shared_from_this<Backend> {
 public:
  explicit Backend(Relay& relay) : relay_(relay) {}
  ~Backend() {
    if (session_) session_->close();
  }

  Result<> connect() {
    auto socket = net::connectUnix(relay_.context_.runtimeSocket);
    if (!socket) return fail(std::move(socket.error()));
    session_ = net::Http2Session::start(relay_.context_.loop, *std::move(socket),
                                        net::Http2Session::Role::Client, *this);
    return {};
  }
  net::Http2Session* session() { return session_.get(); }
  bool takesCalls() const { return session_ && session_->acceptsStreams(); }
  void add(std::int32_t stream, CallPtr call) { calls_[stream] = std::move(call); }
  void forget(std::int32_t stream) { calls_.erase(stream); }

  void onHeaders(std::int32_t stream, Http2Headers headers, bool last) override {
    const CallPtr call = find(stream);
    if (!call) return;
    const bool first = call->intercepted ? call->answer.headers.empty() : !call->answered;
    if (call->intercepted) {
      (first ? call->answer.headers : call->answer.trailers) = std::move(headers);
      if (last) complete(*call);
      return;
    }
    const bool ok = last && isOk(headers);
    if (first)
      relay_.front_->headers(call->front, headers, last);
    else
      relay_.front_->trailers(call->front, std::move(headers));
    call->answered = true;
    if (last) end(*call, ok);
  }
  void onData(std::int32_t stream, std::string_view bytes) override {
    const CallPtr call = find(stream);
    if (!call) return session_->consume(stream, bytes.size());
    if (call->intercepted) {
      session_->consume(stream, bytes.size());
      call->answer.body += bytes;
    } else {
      call->toClient += bytes.size();
      relay_.front_->data(call->front, std::string(bytes), false);
    }
  }
  void onEnd(std::int32_t stream) override {
    const CallPtr call = find(stream);
    if (!call) return;
    if (call->intercepted) return complete(*call);
    relay_.front_->data(call->front, {}, true);
    end(*call, false);
  }
  void onSent(std::int32_t stream, std::size_t bytes) override {
    const auto found = calls_.find(stream);
    if (found == calls_.end() || found->second->intercepted) return;
    found->second->toRuntime -= bytes;
    relay_.front_->consume(found->second->front, bytes);
  }
  void onClosed(std::int32_t stream, std::uint32_t code) override {
    const CallPtr call = find(stream);
    if (const auto node = calls_.extract(stream); !node.empty())
      relay_.front_->consume(node.mapped()->front, std::exchange(node.mapped()->toRuntime, 0));
    if (!call) return;
    if (call->intercepted) {
      cut(*call, code);
    } else {
      relay_.front_->reset(call->front, code);
      end(*call, false);
    }
  }
  void onLost(const std::string& why) override {
    const auto keep = shared_from_this();
    session_ = nullptr;
    for (const auto& [stream, call] : calls_)
      relay_.front_->consume(call->front, std::exchange(call->toRuntime, 0));
    if (relay_.backend_.get() == this) relay_.backend_ = nullptr;
    relay_.context_.metrics.runtimeUnreachable();
    for (const auto& [stream, call] : std::exchange(calls_, {})) {
      if (call->ended) continue;
      const auto status = unreachable(relay_.context_.runtimeSocket, why);
      if (call->intercepted) {
        call->answer = {net::grpcFailure(status), {}, {}};
        complete(*call);
      } else {
        relay_.refuse(*call, status);
      }
    }
  }

 private:
  CallPtr find(std::int32_t stream) const {
    const auto found = calls_.find(stream);
    return found == calls_.end() || found->second->ended ? nullptr : found->second;
  }
  // Called when the answer to an intercepted call is complete.
  static void complete(Call& call) {
    if (auto waiting = std::exchange(call.answerComplete, std::nullopt)) waiting->complete(true);
  }
  static void cut(Call& call, std::uint32_t code) {
    if (!call.answerComplete) return;  // complete before it was closed
    call.answer.cut = true;
    call.answer.code = code;
    complete(call);
  }
  void end(Call& call, bool ok) {
    call.ended = true;
    relay_.finish(call, ok);
  }

  Relay& relay_;
  std::shared_ptr<net::Http2Session> session_;
  std::unordered_map<std::int32_t, CallPtr> calls_;
};

Relay::Relay(RelayContext context, WhenLost onLost)
    : context_(std::move(context)), whenLost_(std::move(onLost)) {}

Relay::~Relay() {
  if (front_) front_->close();
  dropCalls();
}

void Relay::start(Fd client) {
  front_ = net::Http2Session::start(context_.loop, std::move(client),
                                    net::Http2Session::Role::Server, *this);
}

void Relay::drain() {
  front_->sendGoAway();
}

Relay::CallPtr Relay::find(std::int32_t stream) const {
  const auto found = calls_.find(stream);
  return found == calls_.end() || found->second->ended ? nullptr : found->second;
}

void Relay::onHeaders(std::int32_t stream, Http2Headers headers, bool last) {
  if (const CallPtr known = find(stream)) {  // trailers of a request, which gRPC does not use
    if (known->back >= 0 && known->runtime->session())
      known->runtime->session()->trailers(known->back, std::move(headers));
    return;
  }
  const auto call = std::make_shared<Call>();
  call->front = stream;
  call->start = context_.loop.steadyNow();
  call->deadline =
      call->start +
      net::parseGrpcTimeout(net::headerOf(headers, "grpc-timeout")).value_or(kNoDeadline);
  if (const auto method = criMethodOf(net::headerOf(headers, ":path")); method && !last)
    call->intercepted.emplace(*method);
  call->request = std::move(headers);
  calls_[stream] = call;
  if (!call->intercepted) forward(*call, last);
}

bool Relay::forward(Call& call, bool last) {
  if (!backend_ || !backend_->takesCalls()) {
    backend_ = std::make_shared<Backend>(*this);
    if (auto connected = backend_->connect(); !connected) {
      backend_ = nullptr;
      context_.metrics.runtimeUnreachable();
      refuse(call, unreachable(context_.runtimeSocket, connected.error().message));
      return false;
    }
  }
  call.runtime = backend_;
  call.back = backend_->session()->open(call.request, last);
  call.forwarded = true;
  if (call.back < 0) {
    refuse(call, unreachable(context_.runtimeSocket, "it accepts no more calls"));
    return false;
  }
  backend_->add(call.back, calls_.at(call.front));
  return true;
}

void Relay::onData(std::int32_t stream, std::string_view bytes) {
  const CallPtr call = find(stream);
  if (!call) return front_->consume(stream, bytes.size());
  if (!call->intercepted) {
    auto* session = call->runtime->session();
    if (!session) return front_->consume(stream, bytes.size());
    call->toRuntime += bytes.size();
    return session->data(call->back, std::string(bytes), false);
  }
  front_->consume(stream, bytes.size());
  call->body += bytes;
  if (call->body.size() > kMaxAsked + net::kGrpcPrefix)
    refuse(*call, {GrpcCode::ResourceExhausted,
                   fmt::format("koord-runtime-proxy: {} with more than {} bytes",
                               nameOf(call->intercepted->method), kMaxAsked)});
}

void Relay::onEnd(std::int32_t stream) {
  const CallPtr call = find(stream);
  if (!call) return;
  if (call->intercepted) return tasks_.spawn(intercept(call));
  if (auto* session = call->runtime->session()) session->data(call->back, {}, true);
}

void Relay::onSent(std::int32_t stream, std::size_t bytes) {
  // Also for calls that have ended: their last bytes are sent after that.
  const auto found = calls_.find(stream);
  if (found == calls_.end() || found->second->intercepted || found->second->back < 0) return;
  found->second->toClient -= bytes;
  if (auto* session = found->second->runtime->session())
    session->consume(found->second->back, bytes);
}

void Relay::releaseWindows(Call& call) {
  if (call.back < 0 || !call.runtime || !call.runtime->session()) return;
  call.runtime->session()->consume(call.back, std::exchange(call.toClient, 0));
}

void Relay::onClosed(std::int32_t stream, std::uint32_t code) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  const CallPtr call = found->second;
  calls_.erase(found);
  if (call->back >= 0 && call->runtime && call->runtime->session()) {
    // The client has cancelled before the answer, or need not send the rest of its request.
    if (!call->ended) call->runtime->session()->reset(call->back, code ? code : net::kHttp2Cancel);
    releaseWindows(*call);
    call->runtime->forget(call->back);
  }
  if (call->ended) return;
  finish(*call, false);
  if (auto waiting = std::exchange(call->answerComplete, std::nullopt)) {
    call->answer.cut = true;
    call->answer.code = code;
    waiting->complete(true);
  }
}

void Relay::onLost(const std::string& why) {
  log::v(4, "a client has disconnected: {}", why);
  dropCalls();
  if (auto lost = std::exchange(whenLost_, nullptr)) lost(this);
}

// Calls and their connections own each other, so the cycle is broken here.
void Relay::dropCalls() {
  backend_ = nullptr;
  for (const auto& [stream, call] : std::exchange(calls_, {})) {
    call->ended = true;
    if (call->runtime) call->runtime->forget(call->back);
    call->runtime = nullptr;
  }
}

Task<void> Relay::intercept(CallPtr call) {
  const auto message = net::grpcMessage(call->body);
  Intercepted& state = *call->intercepted;
  Verdict verdict;
  if (message) {
    auto asking = context_.interceptor.before(state, *message, call->deadline);
    verdict = co_await asking;
  }
  if (call->ended) co_return;
  if (verdict.refusal) {
    refuse(*call, {GrpcCode::Unknown, *std::move(verdict.refusal)});
    co_return;
  }
  // The time of the hooks is subtracted from the client's deadline.
  if (!net::headerOf(call->request, "grpc-timeout").empty())
    set(call->request, "grpc-timeout",
        net::formatGrpcTimeout(call->deadline - context_.loop.steadyNow()));
  if (verdict.message)  // the new message has another length
    std::erase_if(call->request,
                  [](const auto& header) { return header.name == "content-length"; });
  if (!forward(*call, false)) co_return;
  auto [future, completer] = Future<bool>::make(context_.loop);
  call->answerComplete = completer;
  call->runtime->session()->data(
      call->back, verdict.message ? net::grpcFrame(*verdict.message) : std::move(call->body), true);
  call->body = {};
  co_await future;
  const Answer& answer = call->answer;
  net::GrpcReply reply = std::unexpected(
      net::grpcStatusOf(answer.trailers.empty() ? answer.headers : answer.trailers));
  if (answer.cut) {
    reply = std::unexpected(GrpcStatus{GrpcCode::Cancelled, "the call was aborted"});
  } else if (reply.error().ok()) {
    const auto content = net::grpcMessage(answer.body);
    if (content) reply = std::string(*content);
  }
  auto finishing = context_.interceptor.after(state, reply, call->deadline);
  co_await finishing;
  if (!call->ended) deliver(*call);
}

void Relay::refuse(Call& call, const GrpcStatus& status) {
  if (call.answered)
    front_->trailers(call.front, net::grpcTrailers(status));
  else
    front_->headers(call.front, net::grpcFailure(status), true);
  call.answered = true;
  call.ended = true;
  finish(call, false);
}

// Sends the answer of an intercepted call unchanged.
void Relay::deliver(Call& call) {
  Answer& answer = call.answer;
  call.ended = true;
  if (answer.cut) {
    front_->reset(call.front, answer.code);
    return finish(call, false);
  }
  const bool all = answer.trailers.empty() && answer.body.empty();
  const bool ok = isOk(answer.trailers.empty() ? answer.headers : answer.trailers);
  front_->headers(call.front, answer.headers, all);
  if (!all) {
    front_->data(call.front, std::move(answer.body), answer.trailers.empty());
    if (!answer.trailers.empty()) front_->trailers(call.front, std::move(answer.trailers));
  }
  finish(call, ok);
}

void Relay::finish(Call& call, bool ok) {
  call.ended = true;
  context_.metrics.called(call.intercepted ? nameOf(call.intercepted->method) : "other", ok,
                          context_.loop.steadyNow() - call.start);
}

}  // namespace koord::runtimeproxy
