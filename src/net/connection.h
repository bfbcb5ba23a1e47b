#pragma once

// One connection of the server: reads a request, hands it to the handler, sends the answer, reads
// the next. Everything on the I/O thread that owns it.
//
//   handshake -> (read request -> answer it)* -> closed
//                           \-> refuse it -> drain -> closed
//
// A read stays pending while an answer is sent, to notice that the client disconnects. Further
// requests that a pipelining client sends meanwhile are kept for later, up to a limit.
//
// Every step but the handler's has a deadline. The deadline of a body, and of an answer that the
// client reads, moves with the bytes transferred, at the lowest rate that is allowed. The owner
// gives the time.

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "net/exchange.h"
#include "net/http_server.h"
#include "net/transport.h"
#include "net/write_queue.h"

namespace koord::net {

class Connection;

// What connections need from the thread that runs them.
class ConnectionOwner {
 public:
  virtual std::chrono::steady_clock::time_point now() const = 0;
  virtual const ServerOptions& options() const = 0;
  virtual const std::shared_ptr<HandlerSlot>& slot() const = 0;
  virtual std::string_view date() const = 0;  // as in the Date header
  // Calls connection->takeSteps(exchange) on the I/O thread, if both still exist then.
  virtual std::move_only_function<void()> wakerOf(std::weak_ptr<Connection> connection) = 0;
  virtual void onConnectionClosed(const std::shared_ptr<Connection>& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : public TransportUser, public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Which connections to close first when there are too many: the least worth first.
  enum class KeepPriority {
    Unproven,  // in the middle of a handshake or request of an unknown client
    Idle,      // between requests
    Known,     // between requests, of an authenticated client
    Busy,      // within a request of an authenticated client, or an answer
  };

  // client: the key that connections are counted by (clientOf in listen.h).
  Connection(ConnectionOwner& owner, std::unique_ptr<Transport> transport, std::string remote,
             std::string client, bool tls);
  ~Connection();

  void start();
  // The answer has new steps.
  void takeSteps();
  KeepPriority keepPriority() const;
  Time since() const { return since_; }  // when the present state began
  const std::string& client() const { return client_; }
  // Drops the connection if its deadline has passed.
  void checkDeadline(Time now);
  // No further requests: ends a streamed answer, lets another one complete, otherwise closes.
  void shutdown();
  void close();

  void onReady(error_code ec, PeerCertificate peer) override;
  void onRead(error_code ec, std::size_t size) override;
  void onWritten(error_code ec, std::size_t size) override;
  void onFinished() override { close(); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class State { Handshake, Reading, Answering, Draining, Closed };

  void beginRequest();
  void read();
  void parse();
  void dispatch();
  void refuse(int status, std::string_view why);
  void apply(Exchange::Step step);
  void upgrade(const Headers& headers);
  void deliver(std::string bytes);
  void addHead(int status, const Headers& headers, std::optional<std::size_t> length);
  void send();
  void endExchange();
  void notifyLost();
  void finish();
  void allow(std::chrono::milliseconds time) { deadline_ = owner_.now() + time; }
  // Sets the deadline to `time` after `start`, plus the time that so many bytes may take.
  void allow(Time start, std::chrono::milliseconds time, std::size_t bytes);
  void allowRequest();
  void endIdle();
  // Sets the deadline of an upgraded connection after bytes have moved.
  void allowUpgraded() { allow(owner_.options().upgradedIdleTimeout); }

  ConnectionOwner& owner_;
  std::unique_ptr<Transport> transport_;
  std::string remote_;
  std::string client_;
  bool tls_;
  PeerCertificate peer_;

  State state_ = State::Handshake;
  Time deadline_ = Time::max();
  Time since_;              // when the state began
  Time bodySince_;          // when the request's headers were complete
  Time queueSince_;         // since when there has been something to send
  std::size_t sent_ = 0;    // since then
  bool known_ = false;      // the client is authenticated
  bool idle_ = false;       // between requests
  bool reading_ = false;    // a read is pending
  bool writing_ = false;    // a write is pending
  bool readEnded_ = false;  // the client sends nothing more
  bool stopping_ = false;   // no request after the current one

  std::array<char, 16 << 10> input_;
  boost::beast::flat_buffer buffer_;  // read, but not yet parsed
  std::optional<Parser> parser_;

  // The request being answered.
  std::shared_ptr<Exchange> exchange_;
  std::weak_ptr<ExchangeResponder> responder_;
  bool head_ = false;      // a HEAD request
  bool bodyless_ = false;  // the answer has no body
  bool chunked_ = false;  // the streamed answer is sent in chunks, else it ends with the connection
  bool keepAlive_ = false;
  bool http10_ = false;
  bool upgraded_ = false;  // the connection has another protocol and ends with it
  bool begun_ = false;     // a streamed answer has begun
  bool complete_ = false;  // all of the answer is in queue_
  bool refused_ = false;   // the request was not taken; the rest of it may still be coming
  bool continueSent_ = false;
  WriteQueue queue_;
};

}  // namespace koord::net
