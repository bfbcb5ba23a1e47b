#include "net/rpc/grpc_channel.h"

#include <fmt/format.h>

namespace koord::net {
namespace {

constexpr std::size_t kMaxAnswered = 64 << 20;  // bytes of one answer

GrpcReply failed(GrpcCode code, std::string message) {
  return std::unexpected(GrpcStatus{code, std::move(message)});
}

}  // namespace

GrpcChannel::GrpcChannel(IoLoop& loop, std::string socketPath)
    : loop_(loop), path_(std::move(socketPath)) {}

GrpcChannel::~GrpcChannel() {
  if (session_) session_->close();
  for (auto& [stream, call] : calls_) {
    loop_.cancel(call.timer);
    call.completer.complete(failed(GrpcCode::Cancelled, "the client is closed"));
  }
}

Result<> GrpcChannel::connect() {
  if (session_ && session_->acceptsStreams()) return {};
  auto socket = connectUnix(path_);
  if (!socket) return fail(std::move(socket.error()));
  // Calls on a connection that takes no new calls fail with it.
  if (session_) {
    session_->close();
    onLost("the server closed the connection");
  }
  session_ = Http2Session::start(loop_, *std::move(socket), Http2Session::Role::Client, *this);
  return {};
}

Future<GrpcReply> GrpcChannel::call(const std::string& method, std::string_view message,
                                    Duration timeout) {
  auto [future, completer] = Future<GrpcReply>::make(loop_);
  if (auto connected = connect(); !connected) {
    completer.complete(failed(GrpcCode::Unavailable, std::move(connected.error().message)));
    return std::move(future);
  }
  const std::int32_t stream = session_->open({{":method", "POST"},
                                              {":scheme", "http"},
                                              {":path", method},
                                              {":authority", "localhost"},
                                              {"te", "trailers"},
                                              {"content-type", "application/grpc"},
                                              {"user-agent", "koordinator"},
                                              {"grpc-timeout", formatGrpcTimeout(timeout)}},
                                             false);
  if (stream < 0) {
    completer.complete(failed(GrpcCode::Unavailable, path_ + ": the connection accepts no calls"));
    return std::move(future);
  }
  session_->data(stream, grpcFrame(message), true);
  const TimerId timer = loop_.runAfter(timeout, [this, stream, timeout] {
    session_->reset(stream, kHttp2Cancel);
    finish(stream,
           failed(GrpcCode::DeadlineExceeded,
                  fmt::format("{}: no response within {} ms", path_,
                              std::chrono::ceil<std::chrono::milliseconds>(timeout).count())));
  });
  calls_.emplace(stream, Call{completer, {}, {}, timer});
  return std::move(future);
}

void GrpcChannel::onHeaders(std::int32_t stream, Http2Headers headers, bool last) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  found->second.headers = std::move(headers);
  if (last) finishCall(stream);
}

void GrpcChannel::onData(std::int32_t stream, std::string_view bytes) {
  session_->consume(stream, bytes.size());
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  found->second.body += bytes;
  if (found->second.body.size() <= kMaxAnswered) return;
  session_->reset(stream, kHttp2Cancel);
  finish(stream, failed(GrpcCode::ResourceExhausted,
                        fmt::format("the response has more than {} bytes", kMaxAnswered)));
}

void GrpcChannel::onEnd(std::int32_t stream) {
  finishCall(stream);
}

void GrpcChannel::onClosed(std::int32_t stream, std::uint32_t code) {
  finish(stream, failed(GrpcCode::Unavailable,
                        fmt::format("{}: the call was aborted with HTTP/2 error {}", path_, code)));
}

void GrpcChannel::onLost(const std::string& why) {
  session_ = nullptr;
  while (!calls_.empty())
    finish(calls_.begin()->first, failed(GrpcCode::Unavailable, path_ + ": " + why));
}

void GrpcChannel::finishCall(std::int32_t stream) {
  const auto found = calls_.find(stream);
  if (found == calls_.end()) return;
  const auto status = grpcStatusOf(found->second.headers);
  if (!status.ok()) return finish(stream, std::unexpected(status));
  const auto message = grpcMessage(found->second.body);
  if (!message) return finish(stream, std::unexpected(message.error()));
  finish(stream, std::string(*message));
}

void GrpcChannel::finish(std::int32_t stream, GrpcReply reply) {
  auto node = calls_.extract(stream);
  if (node.empty()) return;
  loop_.cancel(node.mapped().timer);
  node.mapped().completer.complete(std::move(reply));
}

}  // namespace koord::net
