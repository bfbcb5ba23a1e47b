#pragma once

// The protocols of exec and attach: a client's standard streams over one connection. SPDY/3.1 with
// a stream for each (v4.channel.k8s.io), or a WebSocket whose messages begin with the number of
// their stream (v5.channel.k8s.io down to channel.k8s.io).

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "cluster/streaming/byte_queue.h"
#include "net/http_server.h"
#include "net/url.h"

namespace koord::cluster {

enum class StreamChannel : std::uint8_t { In = 0, Out = 1, Err = 2, Status = 3, Resize = 4 };

struct TerminalSize {
  std::uint16_t columns = 0;
  std::uint16_t rows = 0;
};

struct CommandStreams {
  bool in = false;
  bool out = false;
  bool err = false;
  bool terminal = false;
};
// From the query of pods/exec and pods/attach, after admission: a stream that is wanted is "true".
// BadRequest if none is.
Result<CommandStreams> commandStreamsOf(const net::Target& target);

// The command at the other side of the connection: a process, or a running container.
class StreamedCommand {
 public:
  virtual ~StreamedCommand() = default;
  // The next output; nullopt at the end.
  virtual Task<std::optional<std::string>> readOut() = 0;
  virtual Task<std::optional<std::string>> readErr() = 0;
  // Returns false if the command does not read its input.
  virtual Task<bool> write(std::string bytes) = 0;
  virtual void closeInput() = 0;
  virtual void resize(TerminalSize size) = 0;
  // When the command has ended: its exit code. The streams end then.
  virtual Task<Result<int>> ended() = 0;
  // The client has gone.
  virtual void hangUp() = 0;
};

class CommandConnection : public std::enable_shared_from_this<CommandConnection> {
 public:
  // Answers 101; or with an error, and returns nullptr.
  static std::shared_ptr<CommandConnection> accept(Executor& executor,
                                                   const net::ServerRequest& request,
                                                   std::shared_ptr<net::Responder> responder,
                                                   CommandStreams streams);
  // The same, and waits for the client's streams. Await it at once.
  static Task<std::shared_ptr<CommandConnection>> open(Executor& executor,
                                                       const net::ServerRequest& request,
                                                       std::shared_ptr<net::Responder> responder,
                                                       CommandStreams streams);
  virtual ~CommandConnection() = default;

  // The client's streams are there. false: they did not come in time, or the client has gone.
  Task<bool> ready();
  ByteQueue& input() { return input_; }
  // Call it for what was taken from input().
  virtual void consumed(std::size_t bytes) = 0;
  virtual void write(StreamChannel channel, std::string_view bytes) = 0;
  virtual std::size_t queuedBytes() const = 0;
  // Sends the result of the command, a Status, and closes the connection.
  virtual void finish(const json::value& status) = 0;

  bool gone() const { return gone_; }
  // Called when the client has gone; at once if it has.
  void onGone(Callback fn);
  // Called with the client's last size, if it has sent one, and with each new one.
  void onResize(std::function<void(TerminalSize)> fn);
  const CommandStreams& streams() const { return streams_; }

 protected:
  CommandConnection(Executor& executor, CommandStreams streams)
      : executor_(executor), streams_(streams), input_(executor) {}
  // For the channels that a client writes.
  std::size_t receive(StreamChannel channel, std::string_view bytes, bool whole);
  void setReady() { ready_ = true; }
  void lost();

 private:
  Executor& executor_;
  CommandStreams streams_;
  ByteQueue input_;
  std::function<void(TerminalSize)> onResize_;
  std::optional<TerminalSize> lastSize_;
  std::string size_;  // the unfinished document of a terminal's size
  bool ready_ = false;
  bool gone_ = false;
  Callback onGone_;
};

// Joins the two until the command has ended or the client has gone.
Task<void> serveCommand(Executor* executor, std::shared_ptr<CommandConnection> client,
                        std::shared_ptr<StreamedCommand> command);
// Ends the connection with an error of the server.
void failCommand(CommandConnection& client, const Error& error);
json::value exitStatus(int code);

}  // namespace koord::cluster
