#pragma once

// SPDY/3.1 frames and streams, without sockets: what kubectl up to 1.30 speaks for exec, attach and
// port-forward, and later versions within a WebSocket. As in the libraries of Kubernetes there is
// no flow control: windows are neither kept nor announced, and TCP slows a fast sender down.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::net {

// Names are lower case.
using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;
// The first value of a header; "" if there is none.
std::string_view spdyHeader(const SpdyHeaders& headers, std::string_view name);

inline constexpr std::uint32_t kSpdyProtocolError = 1;
inline constexpr std::uint32_t kSpdyRefusedStream = 3;
inline constexpr std::uint32_t kSpdyCancel = 5;

class SpdySession {
 public:
  // Calls that the session makes from feed(). They may call the session.
  struct Events {
    std::function<void(std::string bytes)> send;  // to the other end
    // The other end has opened a stream: answer by accept() or reset(). fin: it will send nothing.
    std::function<void(std::uint32_t stream, const SpdyHeaders& headers, bool fin)> onStream;
    std::function<void(std::uint32_t stream, std::string_view bytes, bool fin)> onData;
    std::function<void(std::uint32_t stream)> onReset;
    std::function<void()> onGoAway;
  };
  // client: this end opens streams with odd numbers.
  SpdySession(bool client, Events events);
  ~SpdySession();
  SpdySession(const SpdySession&) = delete;
  SpdySession& operator=(const SpdySession&) = delete;

  // The next bytes of the connection. Invalid: they are not SPDY; the session must not be used
  // again.
  Result<> feed(std::string_view bytes);

  std::uint32_t open(const SpdyHeaders& headers, bool fin = false);
  void accept(std::uint32_t stream);
  void reset(std::uint32_t stream, std::uint32_t status);
  // Ignores streams that this end has ended.
  void write(std::uint32_t stream, std::string_view bytes, bool fin = false);
  void goAway();
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Zlib;
  struct Open {
    bool here = true;   // this end may write
    bool there = true;  // the other end may write
  };

  Result<> readHead();
  Result<> readControl();
  Result<> readSynStream(std::string_view body);
  void readData(std::string_view& bytes);
  Result<SpdyHeaders> readHeaders(std::string_view block);
  std::string headerBlock(const SpdyHeaders& headers);
  void control(int type, int flags, std::string_view body);
  void ended(std::uint32_t stream, bool here);

  bool client_;
  Events events_;
  std::unique_ptr<Zlib> zlib_;
  std::map<std::uint32_t, Open> streams_;
  std::uint32_t next_;  // number of the next stream of this end
  std::uint32_t lastTheirs_ = 0;
  std::string head_;  // of the frame, until it is complete
  std::string body_;  // of a control frame, until it is complete
  bool inFrame_ = false;
  bool isControl_ = false;
  std::uint32_t type_ = 0;  // of a control frame, or the stream of a data frame
  int flags_ = 0;
  std::size_t left_ = 0;
};

}  // namespace koord::net
