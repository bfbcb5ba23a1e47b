#include "net/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

#include "base/log.h"
#include "net/answering.h"

namespace koord::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// Bytes that a client may send before it has its answer.
constexpr std::size_t kMaxPipelined = 64 << 10;
// Time for the client of a refused request to read the answer and close. To close while bytes are
// unread would reset the connection and lose the answer.
constexpr std::chrono::milliseconds kDrainTime{2000};

bool isServersHeader(std::string_view name) {
  return sameHeaderName(name, "Content-Length") || sameHeaderName(name, "Transfer-Encoding") ||
         sameHeaderName(name, "Connection") || sameHeaderName(name, "Date");
}

// A line break in a value would begin another header.
std::string_view cleanValue(std::string_view value) {
  return value.substr(0, value.find_first_of("\r\n"));
}

}  // namespace

Connection::Connection(ConnectionOwner& owner, std::unique_ptr<Transport> transport,
                       std::string remote, std::string client, bool tls)
    : owner_(owner),
      transport_(std::move(transport)),
      remote_(std::move(remote)),
      client_(std::move(client)),
      tls_(tls),
      since_(owner.now()) {}

Connection::~Connection() {
  if (exchange_) exchange_->close();
}

void Connection::allow(Time start, std::chrono::milliseconds time, std::size_t bytes) {
  const std::size_t rate = std::max<std::size_t>(owner_.options().minBytesPerSecond, 1);
  deadline_ = start + time + std::chrono::milliseconds(bytes * 1000 / rate);
}

Connection::KeepPriority Connection::keepPriority() const {
  if (state_ == State::Answering) return KeepPriority::Busy;
  if (known_) return idle_ ? KeepPriority::Known : KeepPriority::Busy;
  return idle_ ? KeepPriority::Idle : KeepPriority::Unproven;
}

void Connection::start() {
  allow(owner_.options().handshakeTimeout);
  transport_->start(shared_from_this());
}

void Connection::onReady(error_code ec, PeerCertificate peer) {
  if (state_ == State::Closed) return;
  if (ec) {
    log::v(2, "TLS handshake with {} failed: {}", remote_, ec.message());
    close();
    return;
  }
  peer_ = std::move(peer);
  known_ = peer_.identity != nullptr;
  beginRequest();
  // The first request may already be on its way; otherwise the connection has no use.
  endIdle();
}

void Connection::beginRequest() {
  state_ = State::Reading;
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(owner_.options().maxHeaderBytes));
  parser_->body_limit(owner_.options().maxBodyBytes);
  continueSent_ = false;
  since_ = owner_.now();
  idle_ = true;
  allow(owner_.options().idleTimeout);
  if (buffer_.size() > 0) endIdle();
  parse();
}

void Connection::endIdle() {
  if (state_ != State::Reading || !std::exchange(idle_, false)) return;
  since_ = owner_.now();
  allow(owner_.options().headerTimeout);
}

// Sets the time for the rest of a request, after a part has arrived.
void Connection::allowRequest() {
  if (!parser_->is_header_done()) return;
  if (bodySince_ == Time()) bodySince_ = owner_.now();
  allow(bodySince_, owner_.options().bodyTimeout, parser_->get().body().size());
}

void Connection::read() {
  if (reading_ || readEnded_) return;
  if (state_ == State::Answering && buffer_.size() >= kMaxPipelined) return;
  if (state_ == State::Answering && upgraded_ && exchange_ && exchange_->inputIsFull()) return;
  reading_ = true;
  transport_->read(shared_from_this(), asio::buffer(input_));
}

void Connection::onRead(error_code ec, std::size_t size) {
  reading_ = false;
  if (state_ == State::Closed) return;
  if (ec) {
    readEnded_ = true;
    // A client may close its sending side and still wait for an answer, but not for a stream.
    const bool answer = state_ == State::Answering && !begun_ && ec == asio::error::eof;
    if (!answer) close();
    return;
  }
  if (state_ == State::Draining) {
    read();
    return;
  }
  if (upgraded_) {
    allowUpgraded();
    deliver(std::string(input_.data(), size));
    read();
    return;
  }
  endIdle();
  buffer_.commit(asio::buffer_copy(buffer_.prepare(size), asio::buffer(input_, size)));
  if (state_ == State::Reading) {
    parse();
  } else {
    read();
  }
}

void Connection::parse() {
  error_code ec;
  while (buffer_.size() > 0 && !parser_->is_done()) {
    const std::size_t used = parser_->put(buffer_.data(), ec);
    buffer_.consume(used);
    if (ec) break;
  }
  if (ec == http::error::need_more) ec = {};
  if (ec == http::error::body_limit) {
    refuse(413,
           fmt::format("the request body is larger than {} bytes", owner_.options().maxBodyBytes));
  } else if (ec == http::error::header_limit) {
    refuse(431, fmt::format("the request headers are larger than {} bytes",
                            owner_.options().maxHeaderBytes));
  } else if (ec) {
    refuse(400, "not a valid HTTP request: " + ec.message());
  } else if (parser_->is_done()) {
    dispatch();
    read();
  } else {
    if (parser_->is_header_done() && !std::exchange(continueSent_, true) &&
        beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      queue_.add("HTTP/1.1 100 Continue\r\n\r\n");
      send();
    }
    allowRequest();
    read();
  }
}

void Connection::dispatch() {
  auto message = parser_->release();
  parser_.reset();
  ServerRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.headers.reserve(16);
  for (const auto& field : message) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  request.body = std::move(message.body());
  request.remote = remote_;
  request.peer = peer_.identity;
  request.peerProblem = peer_.problem;
  request.tls = tls_;

  state_ = State::Answering;
  since_ = owner_.now();
  bodySince_ = {};
  deadline_ = Time::max();  // a handler may take its time
  head_ = message.method() == http::verb::head;
  http10_ = message.version() < 11;
  keepAlive_ = message.keep_alive();
  begun_ = complete_ = upgraded_ = false;
  exchange_ = std::make_shared<Exchange>(owner_.wakerOf(weak_from_this()));
  auto responder = std::make_shared<ExchangeResponder>(owner_.slot(), exchange_);
  responder_ = responder;
  owner_.slot()->executor.post([slot = owner_.slot(), request = std::move(request),
                                responder = std::move(responder)]() mutable {
    if (!slot->active) return;
    const std::string what = request.method + " " + request.target;
    try {
      slot->handler(std::move(request), responder);
    } catch (...) {
      answerException(what, *responder);
    }
  });
}

void Connection::refuse(int status, std::string_view why) {
  const std::string body = fmt::format("{}\n", why);
  head_ = keepAlive_ = http10_ = begun_ = upgraded_ = false;
  complete_ = refused_ = true;
  state_ = State::Answering;
  bodySince_ = {};
  addHead(status, {{"Content-Type", "text/plain; charset=utf-8"}}, body.size());
  queue_.add(body);
  // What arrives from here on is not read as a request.
  buffer_.clear();
  send();
}

void Connection::takeSteps() {
  if (!exchange_ || complete_) return;
  const auto exchange = exchange_;
  for (auto& step : exchange->take()) {
    apply(std::move(step));
    if (state_ == State::Closed) return;
  }
  exchange->setInConnection(queue_.size());
  send();
  if (upgraded_ && state_ == State::Answering && !complete_) read();
}

void Connection::apply(Exchange::Step step) {
  using Kind = Exchange::Step::Kind;
  switch (step.kind) {
    case Kind::Respond:
      addHead(step.status, step.headers, step.bytes->size());
      if (!bodyless_) queue_.add(std::move(step.bytes));
      complete_ = true;
      break;
    case Kind::Begin:
      begun_ = true;
      chunked_ = !http10_;
      addHead(step.status, step.headers, std::nullopt);
      if (readEnded_) close();
      break;
    case Kind::Upgrade:
      upgrade(step.headers);
      break;
    case Kind::Chunk:
      if (bodyless_) break;
      if (chunked_) queue_.add(fmt::format("{:x}\r\n", step.bytes->size()));
      queue_.add(std::move(step.bytes));
      if (chunked_) queue_.add("\r\n");
      break;
    case Kind::End:
      if (chunked_ && !bodyless_) queue_.add("0\r\n\r\n");
      complete_ = true;
      break;
    case Kind::Abort:
      close();
      break;
  }
}

void Connection::upgrade(const Headers& headers) {
  begun_ = upgraded_ = true;
  chunked_ = keepAlive_ = bodyless_ = false;
  // The client may still send when the handler ends: its bytes are drained, as after a refusal.
  refused_ = true;
  std::string head = fmt::format("HTTP/1.1 101 Switching Protocols\r\nDate: {}\r\n", owner_.date());
  for (const auto& header : headers)
    if (!isServersHeader(header.name))
      head.append(header.name).append(": ").append(cleanValue(header.value)).append("\r\n");
  queue_.add(head + "Connection: Upgrade\r\n\r\n");
  if (readEnded_) return close();
  // What the client has sent after its request.
  std::string first(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  buffer_.clear();
  if (!first.empty()) deliver(std::move(first));
}

void Connection::deliver(std::string bytes) {
  if (!exchange_) return;
  exchange_->received(bytes.size());
  owner_.slot()->executor.post(
      [slot = owner_.slot(), weak = responder_, bytes = std::move(bytes)]() mutable {
        const auto responder = weak.lock();
        if (responder && slot->active) responder->input(std::move(bytes));
      });
}

// A length of nullopt means a streamed answer.
void Connection::addHead(int status, const Headers& headers, std::optional<std::size_t> length) {
  if (!length && http10_) keepAlive_ = false;  // the end of the connection is the end of the answer
  if (stopping_ || readEnded_) keepAlive_ = false;
  bodyless_ = head_ || status == 204 || status == 304;
  std::string head;
  head.reserve(256);
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\nDate: {}\r\n", status,
                 std::string_view(reason.data(), reason.size()), owner_.date());
  for (const auto& header : headers) {
    if (isServersHeader(header.name)) continue;
    head.append(header.name).append(": ").append(cleanValue(header.value)).append("\r\n");
  }
  if (!length) {
    if (!http10_) head += "Transfer-Encoding: chunked\r\n";
  } else if (head_ || !bodyless_) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", *length);
  }
  if (!keepAlive_) {
    head += "Connection: close\r\n";
  } else if (http10_) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  queue_.add(head);
}

void Connection::send() {
  if (writing_ || state_ == State::Closed) return;
  if (!queue_.empty()) {
    writing_ = true;
    if (queueSince_ == Time()) queueSince_ = owner_.now();
    if (upgraded_) {
      allowUpgraded();  // a reader may pause, as a pager does
    } else if (state_ == State::Answering) {
      allow(queueSince_, owner_.options().writeTimeout, sent_);
      // Bytes that fit the kernel's buffer at once must not extend the deadline by minutes.
      deadline_ = std::min(deadline_, owner_.now() + owner_.options().writeTimeout);
    }
    const auto bytes = queue_.front();
    transport_->write(shared_from_this(), asio::buffer(bytes.data(), bytes.size()));
    return;
  }
  queueSince_ = {};
  sent_ = 0;
  if (state_ != State::Answering) return;
  if (upgraded_) {
    allowUpgraded();
  } else {
    deadline_ = Time::max();
  }
  if (complete_) endExchange();
}

void Connection::onWritten(error_code ec, std::size_t size) {
  writing_ = false;
  if (state_ == State::Closed) return;
  if (ec) {
    close();
    return;
  }
  queue_.sent(size);
  sent_ += size;
  if (exchange_) exchange_->setInConnection(queue_.size());
  send();
}

void Connection::endExchange() {
  if (exchange_) {
    known_ = known_ || exchange_->isAuthenticated();
    std::exchange(exchange_, nullptr)->close();
  }
  if (!keepAlive_ || readEnded_ || stopping_) {
    finish();
  } else {
    beginRequest();
  }
}

void Connection::finish() {
  state_ = State::Draining;
  if (refused_ && !readEnded_) {
    allow(kDrainTime);
    read();
  } else {
    deadline_ = Time::max();
    transport_->finish(shared_from_this());
  }
}

void Connection::notifyLost() {
  owner_.slot()->executor.post([slot = owner_.slot(), weak = std::move(responder_)] {
    const auto responder = weak.lock();
    if (responder && slot->active) responder->lost();
  });
}

void Connection::checkDeadline(Time now) {
  if (now >= deadline_) close();
}

void Connection::shutdown() {
  stopping_ = true;
  if (state_ == State::Handshake) {
    close();
  } else if (state_ == State::Reading) {
    finish();
  } else if (state_ == State::Answering && begun_ && !complete_) {
    if (chunked_ && !bodyless_) queue_.add("0\r\n\r\n");
    complete_ = true;
    exchange_->close();
    notifyLost();
    send();
  }
}

void Connection::close() {
  if (state_ == State::Closed) return;
  const auto self = shared_from_this();
  state_ = State::Closed;
  transport_->close();
  if (auto exchange = std::exchange(exchange_, nullptr)) {
    exchange->close();
    notifyLost();
  }
  owner_.onConnectionClosed(self);
}

}  // namespace koord::net
