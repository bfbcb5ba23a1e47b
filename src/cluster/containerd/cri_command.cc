#include "cluster/containerd/cri_command.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <charconv>

#include "base/ascii.h"
#include "base/json.h"
#include "cluster/streaming/byte_queue.h"
#include "net/streaming/spdy.h"
#include "net/url.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMaxHead = 64 << 10;
constexpr std::size_t kMaxStatus = 64 << 10;

class CriCommand final : public StreamedCommand {
 public:
  CriCommand(Executor& executor, std::unique_ptr<FdStream> socket, CommandStreams streams)
      : socket_(std::move(socket)), out_(executor), err_(executor), session_(true, events()) {
    const auto open = [this](const char* type) { return session_.open({{"streamtype", type}}); };
    statusStream_ = open("error");
    if (streams.in) inStream_ = open("stdin");
    if (streams.out) outStream_ = open("stdout");
    if (streams.err && !streams.terminal) errStream_ = open("stderr");
    if (streams.terminal) sizeStream_ = open("resize");
    flush();
  }

  // Bytes that came with the head of the answer.
  Result<> feed(std::string_view bytes) { return session_.feed(bytes); }

  Task<std::optional<std::string>> readOut() override { return out_.next(); }
  Task<std::optional<std::string>> readErr() override { return err_.next(); }
  Task<bool> write(std::string bytes) override {
    if (inStream_ == 0) co_return false;
    session_.write(inStream_, bytes);
    auto sending = socket_->write(std::exchange(unsent_, {}));
    co_return co_await sending;
  }
  void closeInput() override {
    if (inStream_ != 0) session_.write(inStream_, "", true);
    flush();
  }
  void resize(TerminalSize size) override {
    if (sizeStream_ == 0) return;
    session_.write(sizeStream_,
                   fmt::format("{{\"Width\":{},\"Height\":{}}}\n", size.columns, size.rows));
    flush();
  }
  // Reads until the server says that it is done, or closes the connection.
  Task<Result<int>> ended() override {
    std::optional<Error> broken;
    while (!over_) {
      auto reading = socket_->read();
      const auto bytes = co_await reading;
      if (!bytes) break;
      if (auto fed = session_.feed(*bytes); !fed) {
        broken = std::move(fed.error());
        break;
      }
      flush();
      // The server waits for a client that reads slowly.
      for (auto* queue : {&out_, &err_}) {
        auto draining = queue->drained();
        co_await draining;
      }
    }
    out_.end();
    err_.end();
    if (broken) co_return fail(*std::move(broken));
    co_return exitCodeOf(status_);
  }
  void hangUp() override {}  // the connection ends with this object

 private:
  net::SpdySession::Events events() {
    net::SpdySession::Events events;
    events.send = [this](std::string bytes) { unsent_ += bytes; };
    events.onStream = [this](std::uint32_t stream, const net::SpdyHeaders&, bool) {
      session_.reset(stream, net::kSpdyRefusedStream);
    };
    events.onData = [this](std::uint32_t stream, std::string_view bytes, bool) {
      if (stream == outStream_) out_.push(bytes);
      if (stream == errStream_) err_.push(bytes);
      if (stream == statusStream_ && status_.size() < kMaxStatus) status_ += bytes;
    };
    events.onReset = [](std::uint32_t) {};
    events.onGoAway = [this] { over_ = true; };
    return events;
  }
  void flush() {
    if (!unsent_.empty()) socket_->post(std::exchange(unsent_, {}));
  }

  std::unique_ptr<FdStream> socket_;
  ByteQueue out_;
  ByteQueue err_;
  std::string unsent_;
  std::string status_;
  bool over_ = false;
  net::SpdySession session_;
  std::uint32_t statusStream_ = 0;
  std::uint32_t inStream_ = 0;
  std::uint32_t outStream_ = 0;
  std::uint32_t errStream_ = 0;
  std::uint32_t sizeStream_ = 0;
};

// The head of the answer, and the bytes after it.
struct Head {
  std::string text;
  std::string rest;
};

Task<Result<Head>> readHead(FdStream* socket) {
  std::string text;
  for (;;) {
    if (const auto end = text.find("\r\n\r\n"); end != std::string::npos)
      co_return Head{text.substr(0, end), text.substr(end + 4)};
    if (text.size() > kMaxHead) co_return fail(ErrorCode::Internal, "its answer is too long");
    auto reading = socket->read();
    const auto bytes = co_await reading;
    if (!bytes) co_return fail(ErrorCode::Unavailable, "it closed the connection");
    text += *bytes;
  }
}

}  // namespace

Task<Result<std::shared_ptr<StreamedCommand>>> openCriCommand(Executor& executor, StreamIo& io,
                                                              std::string url,
                                                              CommandStreams streams) {
  const auto problem = [&url](std::string_view what) {
    return fail(ErrorCode::Unavailable,
                fmt::format("the runtime's streaming server {}: {}", url, what));
  };
  const auto parsed = net::parseUrl(url);
  const bool local = parsed && (parsed->host == "127.0.0.1" || parsed->host == "localhost" ||
                                parsed->host == "::1" || parsed->host == "[::1]");
  if (!local) co_return problem("it must listen on a loopback address");
  auto connecting = io.connectLoopback(parsed->port);
  auto connected = co_await connecting;
  if (!connected) co_return problem(connected.error().message);
  auto socket = io.open(*std::move(connected));
  auto asking = socket->write(
      fmt::format("POST {} HTTP/1.1\r\nHost: {}:{}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
                  "X-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n",
                  parsed->target, parsed->host, parsed->port));
  if (!co_await asking) co_return problem("it does not read the request");
  auto reading = readHead(socket.get());
  auto head = co_await reading;
  if (!head) co_return problem(head.error().message);
  if (head->text.starts_with("HTTP/1.1 101 ")) {
    auto command = std::make_shared<CriCommand>(executor, std::move(socket), streams);
    if (auto fed = command->feed(head->rest); !fed) co_return problem(fed.error().message);
    co_return command;
  }
  co_return problem(fmt::format("{} {}", head->text.substr(0, head->text.find('\r')), head->rest));
}

Result<int> exitCodeOf(std::string_view status) {
  if (status.empty()) return fail(ErrorCode::Unavailable, "the runtime closed the connection");
  const auto document = parseJson(status);
  if (!document) return fail(ErrorCode::Internal, std::string(status));
  if (textAt(*document, "status") == "Success") return 0;
  const auto* details = find(*document, "details");
  const auto* causes = details ? find(*details, "causes") : nullptr;
  if (causes && causes->is_array())
    for (const auto& cause : causes->get_array()) {
      if (textAt(cause, "reason") != "ExitCode") continue;
      const auto text = textAt(cause, "message");
      int code = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
      if (error == std::errc{} && end == text.data() + text.size()) return code;
    }
  // The answer to the client begins so, too.
  auto message = textAt(*document, "message");
  constexpr std::string_view kPrefix = "Internal error occurred: ";
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  return fail(ErrorCode::Internal, std::string(message));
}

}  // namespace koord::cluster
