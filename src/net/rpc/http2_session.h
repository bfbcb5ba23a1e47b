#pragma once

// One HTTP/2 connection over a unix socket, either end of it: nghttp2 on an IoLoop. Streams are
// numbers; what comes on them is told to one user, what is to go out is queued.
//
// Flow control is the user's: bytes that onData brought hold the other side's window until
// consume() gives them back, and onSent tells what has left the queue, so that a relay is never
// further ahead on one side than its reader on the other.
//
// All on the loop's thread. A session lives as long as somebody holds it and its socket; the user
// may forget it at any time, also from within a call of its own, by detach().

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
// "" when there is none.
std::string_view headerOf(const Http2Headers& headers, std::string_view name);

class Http2User {
 public:
  // A request's, an answer's, or those after its body. `last`: the other end says no more.
  virtual void onHeaders(std::int32_t stream, Http2Headers headers, bool last) = 0;
  virtual void onData(std::int32_t stream, std::string_view bytes) = 0;
  // The body has ended, and nothing comes after it.
  virtual void onEnd(std::int32_t stream) = 0;
  // So many bytes of data() have gone.
  virtual void onSent(std::int32_t, std::size_t) {}
  // The stream is over: with 0 when both ends have said all, else cut with that HTTP/2 error code.
  virtual void onClosed(std::int32_t stream, std::uint32_t code) = 0;
  // The connection is over, and with it all streams; no onClosed for these.
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

  // A new stream of a client; -1 when the connection takes none (any more).
  std::int32_t open(const Http2Headers& headers, bool last);
  // An answer's headers. `last`: that is all of it.
  void headers(std::int32_t stream, const Http2Headers& headers, bool last);
  void data(std::int32_t stream, std::string bytes, bool last);
  // Ends the stream, after its data.
  void trailers(std::int32_t stream, Http2Headers headers);
  void reset(std::int32_t stream, std::uint32_t code);
  void consume(std::int32_t stream, std::size_t bytes);

  // No new streams: those there are may end.
  void goAway();
  bool takesStreams() const { return session_ && !goingAway_; }
  void detach() { user_ = nullptr; }
  // Drops the connection. The user is not told.
  void close();

 private:
  struct Outgoing {
    std::deque<std::string> chunks;
    std::size_t offset = 0;  // in the first
    std::size_t size = 0;    // of all, without what is gone
    bool last = false;
    bool waiting = false;  // nghttp2 was told to come back later
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
  SendQueue unsent_;                                         // what nghttp2 has framed
  bool flushing_ = false;                                    // a flush has been posted
  bool inside_ = false;  // nghttp2 is at work; it must not be entered again
  bool goingAway_ = false;
};

}  // namespace koord::net
