#pragma once

// One end of an HTTP/2 connection over a unix socket, client or server: nghttp2 on an IoLoop.
// Streams are numbers. Received frames are reported to one user, frames to send are queued.
//
// Flow control is the user's: bytes passed to onData use the other side's window until consume()
// returns them, and onSent reports bytes that left the queue. So a relay never reads faster from
// one side than the other side takes.
//
// Everything is on the loop's thread. A session lives while it has an owner or an open socket. The
// user may end its calls at any time, also from inside one, by detach().

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "net/rpc/io_loop.h"
#include "net/rpc/send_queue.h"
#include "net/rpc/unix_socket.h"

struct nghttp2_session;

namespace koord::net {

struct Http2Header {
  std::string name;  // lower case; ":path" and its like first
  std::string value;
  bool operator==(const Http2Header&) const = default;
};
using Http2Headers = std::vector<Http2Header>;
// "" if there is none.
std::string_view headerOf(const Http2Headers& headers, std::string_view name);

class Http2User {
 public:
  // Called with the headers of a request or answer, or with trailers. `last`: the other end sends
  // nothing more.
  virtual void onHeaders(std::int32_t stream, Http2Headers headers, bool last) = 0;
  virtual void onData(std::int32_t stream, std::string_view bytes) = 0;
  // Called when the body has ended without trailers.
  virtual void onEnd(std::int32_t stream) = 0;
  // Called when so many bytes of data() have been sent.
  virtual void onSent(std::int32_t, std::size_t) {}
  // Called when the stream is closed. Code 0: both ends have completed it; else the HTTP/2 error
  // code.
  virtual void onClosed(std::int32_t stream, std::uint32_t code) = 0;
  // Called when the connection is lost, and with it all streams. onClosed is not called for these.
  virtual void onLost(const std::string& why) = 0;

 protected:
  ~Http2User() = default;
};

inline constexpr std::uint32_t kHttp2InternalError = 2;
inline constexpr std::uint32_t kHttp2Cancel = 8;

class Http2Session : public std::enable_shared_from_this<Http2Session> {
 public:
  enum class Role { Client, Server };

  static std::shared_ptr<Http2Session> start(IoLoop& loop, Fd socket, Role role, Http2User& user);
  ~Http2Session();

  // Opens a stream of a client; -1 if the connection takes no new streams.
  std::int32_t open(const Http2Headers& headers, bool last);
  // Sends an answer's headers. `last`: the answer has nothing else.
  void headers(std::int32_t stream, const Http2Headers& headers, bool last);
  void data(std::int32_t stream, std::string bytes, bool last);
  // Ends the stream, after its data.
  void trailers(std::int32_t stream, Http2Headers headers);
  void reset(std::int32_t stream, std::uint32_t code);
  void consume(std::int32_t stream, std::size_t bytes);

  // Takes no new streams; open streams may complete.
  void sendGoAway();
  bool acceptsStreams() const { return session_ && !goingAway_; }
  void detach() { user_ = nullptr; }
  // Drops the connection without a call to the user.
  void close();

 private:
  struct Outgoing {
    std::deque<std::string> chunks;
    std::size_t offset = 0;  // in the first
    std::size_t size = 0;    // of all unsent bytes
    bool last = false;
    bool waiting = false;  // nghttp2 has deferred the stream
    bool hasTrailers = false;
    Http2Headers trailers;
  };
  struct Callbacks;

  Http2Session(IoLoop& loop, Fd socket, Http2User& user);
  void begin(Role role);
  void onReady(IoLoop::Ready ready);
  void read();
  void flushSoon();
  void flush();
  bool send();
  void lose(const std::string& why);
  Outgoing* outgoing(std::int32_t stream);
  void wake(std::int32_t stream, Outgoing& out);
  long produce(std::int32_t stream, std::size_t length, std::uint32_t& flags);
  int frameData(std::int32_t stream, std::string_view header, std::size_t length);

  IoLoop& loop_;
  Fd socket_;
  Http2User* user_;
  nghttp2_session* session_ = nullptr;
  std::unique_ptr<IoLoop::Watch> watch_;
  std::unordered_map<std::int32_t, Outgoing> out_;
  std::unordered_map<std::int32_t, Http2Headers> arriving_;  // headers that are not complete yet
  SendQueue unsent_;                                         // bytes framed by nghttp2
  bool flushing_ = false;                                    // a flush has been posted
  bool inside_ = false;  // nghttp2 is running; it must not be entered again
  bool goingAway_ = false;
};

}  // namespace koord::net
