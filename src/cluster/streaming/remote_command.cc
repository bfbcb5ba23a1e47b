#include "cluster/streaming/remote_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>

#include "base/base64.h"
#include "cluster/streaming/upgrade.h"

namespace koord::cluster {

namespace {

using namespace std::chrono_literals;
using ResponderPtr = std::shared_ptr<net::Responder>;

constexpr Duration kStreamsTime = 30s;  // for a SPDY client to open its streams
constexpr Duration kStreamsPoll = 5ms;
constexpr std::size_t kMaxSizeDocument = 4 << 10;
constexpr std::uint8_t kCloseSignal = 255;

struct WebSocketDialect {
  bool base64 = false;
  bool statusObject = false;  // the last message is a Status, else a text
  bool closes = false;        // the client may close its input
};
// The best first.
const std::vector<std::pair<std::string, WebSocketDialect>> kDialects = {
    {"v5.channel.k8s.io", {false, true, true}},
    {"v4.channel.k8s.io", {false, true, false}},
    {"v4.base64.channel.k8s.io", {true, true, false}},
    {"base64.channel.k8s.io", {true, false, false}},
    {"channel.k8s.io", {false, false, false}},
    {"", {false, false, false}}};

// Of clients that expect a text: nothing after success.
std::string statusText(const json::value& status, bool object) {
  if (object) return toJson(status);
  return textAt(status, "status") == "Success" ? "" : std::string(textAt(status, "message"));
}

class WebSocketCommand final : public CommandConnection {
 public:
  WebSocketCommand(Executor& executor, CommandStreams streams, WebSocketDialect dialect)
      : CommandConnection(executor, streams), dialect_(dialect) {}

  bool open(const net::ServerRequest& request, ResponderPtr responder,
            const std::string& protocol) {
    const auto weak = std::weak_ptr(std::static_pointer_cast<WebSocketCommand>(shared_from_this()));
    link_ = WebSocketLink::accept(request, std::move(responder), protocol,
                                  [weak](const net::WebSocketPiece& piece) -> std::size_t {
                                    const auto self = weak.lock();
                                    return self ? self->onPiece(piece) : 0;
                                  });
    if (!link_) return false;
    link_->onClosed([weak] {
      if (const auto self = weak.lock()) self->lost();
    });
    setReady();
    // As upstream: the first message says that the streams are open.
    write(streams().out ? StreamChannel::Out : StreamChannel::Status, "");
    return true;
  }

  void consumed(std::size_t bytes) override {
    const std::size_t known = std::min(bytes, early_);
    early_ -= known;
    link_->consumed(bytes - known);
  }
  std::size_t queuedBytes() const override { return link_->queuedBytes(); }

  void write(StreamChannel channel, std::string_view bytes) override {
    const auto number = static_cast<char>(channel);
    if (dialect_.base64)
      return link_->send(net::WebSocketOp::Text,
                         static_cast<char>('0' + number) + base64Encode(bytes));
    link_->send(net::WebSocketOp::Binary, std::string(1, number).append(bytes));
  }

  void finish(const json::value& status) override {
    if (const auto text = statusText(status, dialect_.statusObject); !text.empty())
      write(StreamChannel::Status, text);
    link_->close(1000, "");
  }

 private:
  std::size_t onPiece(const net::WebSocketPiece& piece) {
    std::string_view bytes = piece.bytes;
    if (piece.first) {
      channel_.reset();
      text_.clear();
    }
    if (!channel_) {
      if (bytes.empty()) return 0;
      channel_ = static_cast<std::uint8_t>(bytes.front());
      if (dialect_.base64) channel_ = static_cast<std::uint8_t>(*channel_ - '0');
      bytes.remove_prefix(1);
    }
    std::string decoded;
    if (dialect_.base64) {
      text_ += bytes;
      const std::size_t whole = piece.last ? text_.size() : text_.size() / 4 * 4;
      auto part = base64Decode(std::string_view(text_).substr(0, whole));
      text_.erase(0, whole);
      if (!part) return 0;
      decoded = *std::move(part);
      bytes = decoded;
    }
    if (*channel_ == kCloseSignal && dialect_.closes) {
      if (!bytes.empty() && bytes.front() == static_cast<char>(StreamChannel::In)) input().end();
      return 0;
    }
    const std::size_t kept = receive(static_cast<StreamChannel>(*channel_), bytes, piece.last);
    if (kept > piece.bytes.size()) early_ += kept - piece.bytes.size();
    return std::min(kept, piece.bytes.size());
  }

  WebSocketDialect dialect_;
  std::shared_ptr<WebSocketLink> link_;
  std::optional<std::uint8_t> channel_;  // of the current message
  std::string text_;                     // of base64, not yet decoded
  std::size_t early_ = 0;  // bytes that counted as consumed while they waited in text_
};

class SpdyCommand final : public CommandConnection, public SpdyLink::Handler {
 public:
  SpdyCommand(Executor& executor, CommandStreams streams) : CommandConnection(executor, streams) {}

  void open(ResponderPtr responder, const std::string& protocol) {
    const auto weak = std::weak_ptr(std::static_pointer_cast<SpdyCommand>(shared_from_this()));
    link_ = SpdyLink::accept(std::move(responder), protocol, weak);
    link_->onClosed([weak] {
      if (const auto self = weak.lock()) self->lost();
    });
  }

  void consumed(std::size_t bytes) override { link_->consumed(bytes); }
  std::size_t queuedBytes() const override { return link_->queuedBytes(); }

  void write(StreamChannel channel, std::string_view bytes) override {
    if (const auto stream = streams_.find(channel); stream != streams_.end())
      link_->session().write(stream->second, bytes);
  }

  void finish(const json::value& status) override {
    for (const auto& [channel, stream] : streams_)
      link_->session().write(
          stream, channel == StreamChannel::Status ? statusText(status, true) : "", true);
    link_->close();
  }

 private:
  void onStream(std::uint32_t stream, const net::SpdyHeaders& headers, bool fin) override {
    static const std::map<std::string_view, StreamChannel> kTypes = {
        {"stdin", StreamChannel::In},
        {"stdout", StreamChannel::Out},
        {"stderr", StreamChannel::Err},
        {"error", StreamChannel::Status},
        {"resize", StreamChannel::Resize}};
    const auto type = kTypes.find(net::spdyHeader(headers, "streamtype"));
    if (type == kTypes.end() || streams_.contains(type->second))
      return link_->session().reset(stream, net::kSpdyProtocolError);
    streams_[type->second] = stream;
    link_->session().accept(stream);
    if (fin && type->second == StreamChannel::In) input().end();
    const auto& wanted = streams();
    const std::size_t expected =
        1U + wanted.in + wanted.out + (wanted.err && !wanted.terminal) + wanted.terminal;
    if (streams_.size() >= expected) setReady();
  }

  std::size_t onData(std::uint32_t stream, std::string_view bytes, bool fin) override {
    std::size_t kept = 0;
    for (const auto& [channel, number] : streams_) {
      if (number != stream) continue;
      kept = receive(channel, bytes, false);
      if (fin && channel == StreamChannel::In) input().end();
    }
    return kept;
  }

  void onReset(std::uint32_t stream) override {
    for (const auto& [channel, number] : streams_)
      if (number == stream && channel == StreamChannel::In) input().end();
    std::erase_if(streams_, [&](const auto& entry) { return entry.second == stream; });
  }

  std::shared_ptr<SpdyLink> link_;
  std::map<StreamChannel, std::uint32_t> streams_;
};

// Copies one output of the command, no faster than the client reads.
Task<void> copyOutput(Executor* executor, std::shared_ptr<CommandConnection> client,
                      std::shared_ptr<StreamedCommand> command, StreamChannel channel,
                      std::shared_ptr<int> open) {
  for (;;) {
    auto reading = channel == StreamChannel::Out ? command->readOut() : command->readErr();
    const auto bytes = co_await reading;
    if (!bytes) break;
    if (channel == StreamChannel::Out ? client->streams().out : client->streams().err)
      client->write(channel, *bytes);
    while (!client->gone() && client->queuedBytes() > kMaxUnsent) {
      auto pause = sleepFor(*executor, kUnsentPause);
      co_await pause;
    }
  }
  --*open;
}

Task<void> copyInput(std::shared_ptr<CommandConnection> client,
                     std::shared_ptr<StreamedCommand> command) {
  bool reads = true;
  for (;;) {
    auto taking = client->input().next();
    auto bytes = co_await taking;
    if (!bytes) break;
    const std::size_t size = bytes->size();
    if (reads) {
      auto writing = command->write(*std::move(bytes));
      reads = co_await writing;
    }
    client->consumed(size);
  }
  command->closeInput();
}

Task<void> awaitEnd(Executor* executor, std::shared_ptr<StreamedCommand> command,
                    std::shared_ptr<int> open, Completer<std::optional<Result<int>>> done) {
  auto ending = command->ended();
  auto code = co_await ending;
  while (*open > 0) {
    auto pause = sleepFor(*executor, kUnsentPause);
    co_await pause;
  }
  done.complete(std::optional(std::move(code)));
}

}  // namespace

Result<CommandStreams> commandStreamsOf(const net::Target& target) {
  const auto isSet = [&](std::string_view name) { return target.param(name) == "true"; };
  CommandStreams streams{isSet("stdin"), isSet("stdout"), isSet("stderr"), isSet("tty")};
  if (streams.terminal) streams.err = false;  // a terminal has one output
  if (!streams.in && !streams.out && !streams.err)
    return fail(ErrorCode::BadRequest, "you must specify at least 1 of stdin, stdout, stderr");
  return streams;
}

std::shared_ptr<CommandConnection> CommandConnection::accept(
    Executor& executor, const net::ServerRequest& request,
    std::shared_ptr<net::Responder> responder, CommandStreams streams) {
  if (wantsWebSocket(request)) {
    std::vector<std::string> known;
    for (const auto& [name, dialect] : kDialects) known.push_back(name);
    const auto protocol = negotiate(request, *responder, known);
    if (!protocol) return nullptr;
    const auto at = std::ranges::find(known, *protocol) - known.begin();
    auto connection = std::make_shared<WebSocketCommand>(
        executor, streams, kDialects[static_cast<std::size_t>(at)].second);
    if (!connection->open(request, std::move(responder), *protocol)) return nullptr;
    return connection;
  }
  const auto protocol = negotiate(request, *responder, {"v4.channel.k8s.io"});
  if (!protocol) return nullptr;
  auto connection = std::make_shared<SpdyCommand>(executor, streams);
  connection->open(std::move(responder), *protocol);
  return connection;
}

Task<std::shared_ptr<CommandConnection>> CommandConnection::open(
    Executor& executor, const net::ServerRequest& request,
    std::shared_ptr<net::Responder> responder, CommandStreams streams) {
  auto client = accept(executor, request, std::move(responder), streams);
  if (!client) co_return nullptr;
  auto opening = client->ready();
  if (co_await opening) co_return client;
  failCommand(*client, {ErrorCode::Timeout, "the client did not open its streams", {}});
  co_return nullptr;
}

Task<bool> CommandConnection::ready() {
  const auto until = executor_.steadyNow() + kStreamsTime;
  while (!ready_ && !gone_ && executor_.steadyNow() < until) {
    auto pause = sleepFor(executor_, kStreamsPoll);
    co_await pause;
  }
  co_return ready_ && !gone_;
}

void CommandConnection::onGone(Callback fn) {
  if (gone_) return fn();
  onGone_ = std::move(fn);
}

void CommandConnection::onResize(std::function<void(TerminalSize)> fn) {
  onResize_ = std::move(fn);
  if (onResize_ && lastSize_) onResize_(*lastSize_);
}

void CommandConnection::lost() {
  gone_ = true;
  input_.end();
  if (auto fn = std::exchange(onGone_, nullptr)) fn();
}

std::size_t CommandConnection::receive(StreamChannel channel, std::string_view bytes, bool whole) {
  if (channel == StreamChannel::In && streams_.in) return input_.push(bytes);
  if (channel != StreamChannel::Resize || !streams_.terminal) return 0;
  size_ += bytes;
  if (!whole && !size_.ends_with('\n') && !size_.ends_with('}')) {
    if (size_.size() > kMaxSizeDocument) size_.clear();
    return 0;
  }
  // Several documents may have come together; the last one counts.
  std::string_view text = size_;
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto document = parseJson(text.substr(text.rfind('\n') + 1));
  size_.clear();
  const auto number = [&](const char* name) -> std::uint16_t {
    const auto* value = document ? find(*document, name) : nullptr;
    const std::int64_t size = value && value->is_int64() ? value->get_int64() : 0;
    return size > 0 && size <= UINT16_MAX ? static_cast<std::uint16_t>(size) : 0;
  };
  if (const TerminalSize size{number("Width"), number("Height")};
      size.columns > 0 && size.rows > 0) {
    lastSize_ = size;
    if (onResize_) onResize_(size);
  }
  return 0;
}

Task<void> serveCommand(Executor* executor, std::shared_ptr<CommandConnection> client,
                        std::shared_ptr<StreamedCommand> command) {
  TaskGroup copies;
  const auto open = std::make_shared<int>(2);
  auto [ended, done] = Future<std::optional<Result<int>>>::make(*executor);
  client->onGone([done = done] { done.complete(std::nullopt); });
  client->onResize([command](TerminalSize size) { command->resize(size); });
  copies.spawn(copyOutput(executor, client, command, StreamChannel::Out, open));
  copies.spawn(copyOutput(executor, client, command, StreamChannel::Err, open));
  if (client->streams().in) copies.spawn(copyInput(client, command));
  copies.spawn(awaitEnd(executor, command, open, done));
  const auto code = co_await ended;
  client->onResize(nullptr);
  if (!code) {
    command->hangUp();
  } else if (*code) {
    client->finish(exitStatus(**code));
  } else {
    failCommand(*client, code->error());
  }
}

void failCommand(CommandConnection& client, const Error& error) {
  client.finish(json::object{{"metadata", json::object{}},
                             {"status", "Failure"},
                             {"message", "Internal error occurred: " + error.message},
                             {"reason", "InternalError"},
                             {"details", {{"causes", {{{"message", error.message}}}}}},
                             {"code", 500}});
}

json::value exitStatus(int code) {
  if (code == 0) return json::object{{"metadata", json::object{}}, {"status", "Success"}};
  return json::object{
      {"metadata", json::object{}},
      {"status", "Failure"},
      {"message", fmt::format("command terminated with non-zero exit code: {}", code)},
      {"reason", "NonZeroExitCode"},
      {"details",
       {{"causes",
         json::array{json::object{{"reason", "ExitCode"}, {"message", std::to_string(code)}}}}}}};
}

}  // namespace koord::cluster
