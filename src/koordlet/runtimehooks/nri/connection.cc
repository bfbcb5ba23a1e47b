#include "koordlet/runtimehooks/nri/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"

namespace koord::koordlet::nri {
namespace {

constexpr std::uint32_t kRegistration = 1;  // the id of our only call
constexpr int kInvalidArgument = 3, kUnknown = 2, kUnimplemented = 12;

int statusOf(ErrorCode code) {
  if (code == ErrorCode::NotFound) return kUnimplemented;
  return code == ErrorCode::BadRequest ? kInvalidArgument : kUnknown;
}

TtrpcFrame responseTo(std::uint32_t call, const Result<std::string>& answer) {
  TtrpcResponse response;
  auto& status = *response.mutable_status();
  if (answer) {
    response.set_payload(*answer);
  } else {
    status.set_code(statusOf(answer.error().code));
    status.set_message(answer.error().message);
  }
  return {call, kTtrpcResponse, 0, response.SerializeAsString()};
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Result<> check(const Options& options) {
  const auto allowed = [](char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_.+-").find(c) != std::string_view::npos;
  };
  if (options.name.empty() || !std::ranges::all_of(options.name, allowed))
    return fail(ErrorCode::Invalid,
                "--runtime-hooks-nri-plugin-name: must have letters, digits and _.+- only");
  if (options.index.size() != 2 || !std::ranges::all_of(options.index, isDigit))
    return fail(ErrorCode::Invalid, "--runtime-hooks-nri-plugin-index: must be two digits");
  return {};
}

Connection::Connection(net::IoLoop& loop, Executor& executor, Plugin& plugin, Options options)
    : loop_(loop),
      executor_(executor),
      plugin_(plugin),
      options_(std::move(options)),
      pause_(options_.backoff) {}

Connection::~Connection() {
  if (timer_ != 0) loop_.cancel(timer_);
}

void Connection::start() {
  connect();
}

void Connection::connect() {
  timer_ = 0;
  auto socket = net::connectUnix(options_.socket);
  if (!socket) return retry(socket.error().message);
  socket_ = *std::move(socket);
  reader_ = {};
  unsent_.clear();
  lastCall_ = 0;
  registered_ = false;
  session_ = std::make_shared<bool>(true);
  executor_.post([plugin = &plugin_, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) plugin->reset();
  });
  watch_ = loop_.watch(socket_.get(), [this](net::IoLoop::Ready ready) {
    if (ready.write) flush();
    if (ready.read && socket_) read();
  });
  watch_->want({.read = true});
  RegisterPluginRequest request;
  request.set_plugin_name(options_.name);
  request.set_plugin_idx(options_.index);
  TtrpcRequest call;
  call.set_service(std::string(kRuntimeServiceName));
  call.set_method("RegisterPlugin");
  call.set_payload(request.SerializeAsString());
  call.set_timeout_nano(options_.connectTimeout.count());
  timer_ = loop_.runAfter(options_.connectTimeout, [this] {
    timer_ = 0;
    lost("the runtime has not registered the plugin in time");
  });
  send(kRuntimeStream, {kRegistration, kTtrpcRequest, 0, call.SerializeAsString()});
}

void Connection::retry(const std::string& why) {
  ++tries_;
  if (gaveUp()) {
    log::error("NRI: {}; attempt {} of {} (--runtime-hooks-nri-backoff-steps)", why, tries_,
               options_.backoffSteps);
    return;
  }
  if (why != loggedProblem_) log::warn("NRI: {}; trying again", loggedProblem_ = why);
  timer_ = loop_.runAfter(pause_, [this] { connect(); });
  const auto longer =
      std::chrono::duration_cast<Duration>(pause_ * std::max(1.0, options_.backoffFactor));
  pause_ = std::min(longer, options_.backoffCap);
}

void Connection::lost(const std::string& why) {
  if (timer_ != 0) loop_.cancel(timer_);
  watch_.reset();
  socket_ = Fd();
  session_ = nullptr;
  if (registered_) {
    notifyConnected(false);
    pause_ = options_.backoff;
    tries_ = 0;
  }
  retry(fmt::format("{}: {}", options_.socket, why));
}

void Connection::read() {
  std::array<char, 64 << 10> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0)
      return lost(size == 0 ? "the runtime has closed the connection"
                            : errnoError("read", errno).message);
    reader_.add({buffer.data(), static_cast<std::size_t>(size)});
    for (;;) {
      auto frame = reader_.next();
      if (!frame) return lost(frame.error().message);
      if (!*frame) break;
      take(*std::move(*frame));
      if (!socket_) return;
    }
  }
}

void Connection::take(FrameReader::Arrived arrived) {
  if (arrived.stream == kRuntimeStream) {
    if (arrived.frame.type == kTtrpcResponse && arrived.frame.call == kRegistration)
      registered(arrived.frame);
  } else if (arrived.frame.type == kTtrpcRequest) {
    serve(std::move(arrived.frame));
  }
}

void Connection::registered(const TtrpcFrame& frame) {
  TtrpcResponse response;
  if (!response.ParseFromString(frame.data))
    return lost("the reply to RegisterPlugin is not a ttrpc response");
  // containerd omits the status on success.
  if (response.status().code() != 0)
    return lost(fmt::format("the runtime rejects plugin {}-{}: {}", options_.index, options_.name,
                            response.status().message()));
  if (timer_ != 0) loop_.cancel(std::exchange(timer_, 0));
  registered_ = true;
  loggedProblem_.clear();
  log::info("NRI: registered as {}-{} at {}", options_.index, options_.name, options_.socket);
  notifyConnected(true);
}

void Connection::notifyConnected(bool connected) {
  executor_.post([connected, told = options_.onConnected, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) told(connected);
  });
}

void Connection::serve(TtrpcFrame frame) {
  TtrpcRequest request;
  const bool odd = frame.call % 2 == 1 && frame.call > lastCall_;
  if (!odd || !request.ParseFromString(frame.data)) {
    return send(kPluginStream,
                responseTo(frame.call, fail(ErrorCode::BadRequest,
                                            odd ? "not a ttrpc request"
                                                : "the number of a call must be odd and larger "
                                                  "than those before")));
  }
  lastCall_ = frame.call;
  if (request.service() != kPluginService)
    return send(kPluginStream,
                responseTo(frame.call, fail(ErrorCode::NotFound,
                                            fmt::format("unknown service {}", request.service()))));
  executor_.post([this, request = std::move(request), call = frame.call, plugin = &plugin_,
                  called = options_.onCalled, loop = &loop_, alive = std::weak_ptr(alive_),
                  session = std::weak_ptr(session_)] {
    if (alive.expired()) return;
    const auto answer = plugin->answer(request.method(), request.payload());
    const bool served = answer || answer.error().code != ErrorCode::NotFound;
    called(served ? request.method() : "unknown", answer.has_value());
    auto response = responseTo(call, answer);
    loop->post([this, session, response = std::move(response)] {
      if (!session.expired()) send(kPluginStream, response);
    });
  });
}

void Connection::send(std::uint32_t stream, const TtrpcFrame& frame) {
  unsent_ += encode(stream, frame);
  flush();
}

void Connection::flush() {
  std::size_t sent = 0;
  while (socket_ && sent < unsent_.size()) {
    const ssize_t size =
        ::send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return lost(errnoError("write", errno).message);
    sent += static_cast<std::size_t>(size);
  }
  unsent_.erase(0, sent);
  if (watch_) watch_->want({.read = true, .write = !unsent_.empty()});
}

}  // namespace koord::koordlet::nri
