#include "net/rpc/grpc_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <unordered_map>

#include "base/caught.h"
#include "base/log.h"

namespace koord::net {
namespace {

constexpr std::size_t kMaxAsked = 16 << 20;  // bytes of one request
// Bytes of answers that the other side has not read. Above this, no more messages are read.
constexpr std::size_t kMaxUnread = 256 << 10;

const Http2Headers kAnswerHeaders{{":status", "200"}, {"content-type", "application/grpc"}};

}  // namespace

GrpcAnswer::GrpcAnswer(std::move_only_function<void(GrpcReply)> send) : send_(std::move(send)) {}

GrpcAnswer::~GrpcAnswer() {
  if (send_)
    (*this)(std::unexpected(GrpcStatus{GrpcCode::Internal, "the server sent no response"}));
}

void GrpcAnswer::operator()(GrpcReply reply) {
  if (auto send = std::exchange(send_, nullptr)) send(std::move(reply));
}

class GrpcServer::Connection final : public Http2User,
                                     public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(GrpcServer& server) : server_(&server), loop_(server.loop_) {}

  void start(Fd socket) {
    session_ = Http2Session::start(loop_, std::move(socket), Http2Session::Role::Server, *this);
  }
  void close() {
    session_->close();
    server_ = nullptr;
  }

  void onHeaders(std::int32_t stream, Http2Headers headers, bool last) override {
    Call& call = calls_[stream];
    call.headers = std::move(headers);
    if (server_)
      if (const auto found = server_->conversations_.find(headerOf(call.headers, ":path"));
          found != server_->conversations_.end())
        call.conversation = &found->second;
    if (last) onEnd(stream);
  }
  void onData(std::int32_t stream, std::string_view bytes) override {
    const auto found = calls_.find(stream);
    if (found == calls_.end()) return session_->consume(stream, bytes.size());
    found->second.body += bytes;
    if (found->second.conversation) {
      found->second.taken += bytes.size();
      return handleStream(stream, found->second);
    }
    session_->consume(stream, bytes.size());
    if (found->second.body.size() > kMaxAsked + kGrpcPrefix)
      refuse(stream, {GrpcCode::ResourceExhausted,
                      fmt::format("the request has more than {} bytes", kMaxAsked)});
  }
  void onEnd(std::int32_t stream) override {
    const auto found = calls_.find(stream);
    if (found == calls_.end() || !found->second.conversation) return dispatch(stream);
    found->second.ended = true;
    handleStream(stream, found->second);
  }
  void onSent(std::int32_t stream, std::size_t bytes) override {
    const auto found = calls_.find(stream);
    if (found == calls_.end() || !found->second.conversation) return;
    found->second.unread -= bytes;
    // Posted, because the session is in the middle of sending.
    if (found->second.taken > 0 || found->second.ended)
      loop_.post([self = weak_from_this(), stream] {
        const auto connection = self.lock();
        if (!connection) return;
        if (const auto call = connection->calls_.find(stream); call != connection->calls_.end())
          connection->handleStream(stream, call->second);
      });
  }
  void onClosed(std::int32_t stream, std::uint32_t) override {
    const auto node = calls_.extract(stream);
    if (!node.empty()) session_->consume(stream, node.mapped().taken);
  }
  void onLost(const std::string&) override {
    if (server_) server_->connections_.erase(shared_from_this());
  }

 private:
  struct Call {
    Http2Headers headers;
    std::string body;
    // For conversations:
    const StreamHandler* conversation = nullptr;
    std::size_t taken = 0;   // bytes that use the other side's window
    std::size_t unread = 0;  // bytes of unsent answers
    bool answering = false;  // the headers are sent
    bool ended = false;      // the caller sends nothing more
  };

  void refuse(std::int32_t stream, const GrpcStatus& status) {
    session_->headers(stream, grpcFailure(status), true);
    calls_.erase(stream);
  }

  void dispatch(std::int32_t stream) {
    auto node = calls_.extract(stream);
    if (node.empty() || !server_) return;
    Call& call = node.mapped();
    const auto message = grpcMessage(call.body);
    if (!message) return refuse(stream, message.error());
    GrpcRequest request{std::string(headerOf(call.headers, ":path")), std::string(*message),
                        parseGrpcTimeout(headerOf(call.headers, "grpc-timeout")),
                        std::move(call.headers)};
    const std::string method = request.method;
    GrpcAnswer answer([&loop = loop_, self = weak_from_this(), stream](GrpcReply reply) {
      loop.post([self, stream, reply = std::move(reply)]() mutable {
        if (const auto connection = self.lock()) connection->answer(stream, std::move(reply));
      });
    });
    try {
      server_->handler_(std::move(request), std::move(answer));
    } catch (...) {  // the GrpcAnswer is destroyed with the handler and answers Internal
      log::error("{}: unexpected exception: {}", method, thrownText());
    }
  }

  static GrpcReply answerOf(const StreamHandler& conversation, const std::string& message) {
    try {
      return conversation(message);
    } catch (...) {
      log::error("a message of a stream: unexpected exception: {}", thrownText());
      return std::unexpected(GrpcStatus{GrpcCode::Internal, "unexpected exception"});
    }
  }

  // Answers the messages received. Returns this call's data to the other side's window only while
  // it reads the answers.
  void handleStream(std::int32_t stream, Call& call) {
    while (call.unread < kMaxUnread) {
      auto message = takeGrpcMessage(call.body, kMaxAsked);
      if (!message) return end(stream, call, message.error());
      if (!*message) {
        session_->consume(stream, std::exchange(call.taken, 0));
        if (!call.ended) return;
        return end(stream, call,
                   call.body.empty()
                       ? GrpcStatus{}
                       : GrpcStatus{GrpcCode::InvalidArgument, "the last message is incomplete"});
      }
      auto reply = answerOf(*call.conversation, **message);
      if (!reply) return end(stream, call, reply.error());
      if (!std::exchange(call.answering, true)) session_->headers(stream, kAnswerHeaders, false);
      std::string frame = grpcFrame(*reply);
      call.unread += frame.size();
      session_->data(stream, std::move(frame), false);
    }
  }

  void end(std::int32_t stream, const Call& call, const GrpcStatus& status) {
    session_->consume(stream, call.taken);
    if (call.answering)
      session_->trailers(stream, grpcTrailers(status));
    else
      session_->headers(stream, grpcFailure(status), true);
    calls_.erase(stream);
  }

  void answer(std::int32_t stream, GrpcReply reply) {
    if (!reply) return session_->headers(stream, grpcFailure(reply.error()), true);
    session_->headers(stream, kAnswerHeaders, false);
    session_->data(stream, grpcFrame(*reply), false);
    session_->trailers(stream, grpcTrailers({}));
  }

  GrpcServer* server_;
  IoLoop& loop_;
  std::shared_ptr<Http2Session> session_;
  std::unordered_map<std::int32_t, Call> calls_;
};

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(IoLoop& loop, std::string socketPath,
                                                      Handler handler,
                                                      StreamHandlers conversations) {
  auto listener = listenUnix(socketPath);
  if (!listener) return fail(std::move(listener.error()));
  auto server =
      std::unique_ptr<GrpcServer>(new GrpcServer(loop, std::move(socketPath), *std::move(listener),
                                                 std::move(handler), std::move(conversations)));
  server->watch_ = loop.watch(server->listener_.get(),
                              [server = server.get()](IoLoop::Ready) { server->accept(); });
  server->watch_->want({.read = true});
  return server;
}

GrpcServer::GrpcServer(IoLoop& loop, std::string path, Fd listener, Handler handler,
                       StreamHandlers conversations)
    : loop_(loop),
      path_(std::move(path)),
      listener_(std::move(listener)),
      handler_(std::move(handler)),
      conversations_(std::move(conversations)) {}

GrpcServer::~GrpcServer() {
  ::unlink(path_.c_str());
  for (const auto& connection : connections_) connection->close();
}

void GrpcServer::accept() {
  for (;;) {
    auto socket = acceptUnix(listener_);
    if (!socket) {
      if (socket.error().code != ErrorCode::Invalid)
        log::warn("{}: {}", path_, socket.error().message);
      return;
    }
    const auto connection = std::make_shared<Connection>(*this);
    connections_.insert(connection);
    connection->start(*std::move(socket));
  }
}

}  // namespace koord::net
