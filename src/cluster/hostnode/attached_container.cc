#include "cluster/hostnode/attached_container.h"

#include "cluster/hostnode/attach_socket.h"
#include "cluster/streaming/byte_queue.h"

namespace koord::cluster {

namespace {

class AttachedContainer final : public StreamedCommand {
 public:
  AttachedContainer(Executor& executor, StreamIo& io, Fd socket)
      : socket_(io.open(std::move(socket))), out_(executor), err_(executor) {}

  // ended() reads the messages of both outputs.
  Task<std::optional<std::string>> readOut() override { return out_.next(); }
  Task<std::optional<std::string>> readErr() override { return err_.next(); }
  Task<bool> write(std::string bytes) override {
    for (std::size_t at = 0; at < bytes.size(); at += kMaxAttachBytes) {
      auto sending =
          socket_->write(messageOf(AttachMessage::In, bytes.substr(at, kMaxAttachBytes)));
      const bool sent = co_await sending;
      if (!sent) co_return false;
    }
    co_return true;
  }
  void closeInput() override { socket_->post(messageOf(AttachMessage::InEnd, "")); }
  void resize(TerminalSize size) override {
    const char bytes[] = {static_cast<char>(size.columns >> 8), static_cast<char>(size.columns),
                          static_cast<char>(size.rows >> 8), static_cast<char>(size.rows)};
    socket_->post(messageOf(AttachMessage::Size, {bytes, sizeof bytes}));
  }
  // Reads until the shim has closed the connection. The container's exit code is in its status.
  Task<Result<int>> ended() override {
    for (;;) {
      auto reading = socket_->read();
      const auto message = co_await reading;
      if (!message || message->empty()) break;
      const auto bytes = std::string_view(*message).substr(1);
      auto& queue = message->front() == static_cast<char>(AttachMessage::Err) ? err_ : out_;
      queue.push(bytes);
      // The shim waits for a client that reads slowly, so that memory stays small.
      auto draining = queue.drained();
      co_await draining;
    }
    out_.end();
    err_.end();
    co_return 0;
  }
  // The shim ends the input when the connection closes.
  void hangUp() override {}

 private:
  static std::string messageOf(AttachMessage kind, std::string_view bytes) {
    return std::string(1, static_cast<char>(kind)).append(bytes);
  }

  std::unique_ptr<FdStream> socket_;
  ByteQueue out_;
  ByteQueue err_;
};

}  // namespace

std::shared_ptr<StreamedCommand> attachToContainer(Executor& executor, StreamIo& io, Fd socket) {
  return std::make_shared<AttachedContainer>(executor, io, std::move(socket));
}

}  // namespace koord::cluster
