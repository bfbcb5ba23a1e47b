#pragma once

// One request and its answer, shared by the executor's side (the Responder) and the I/O thread's
// side (the connection). The Responder puts steps in; the connection takes them out and turns them
// into bytes.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "net/http_server.h"

namespace koord::net {

// The handler and its executor. The server's destructor clears `active`.
struct HandlerSlot {
  Executor& executor;
  HttpServer::Handler handler;
  std::atomic<bool> active = true;
};

class Exchange {
 public:
  struct Step {
    enum class Kind { Respond, Begin, Upgrade, Chunk, End, Abort };
    Kind kind;
    int status = 0;
    Headers headers;
    Responder::Bytes bytes;
  };

  // `wake` makes the I/O thread call take(). It does nothing if the connection is gone.
  explicit Exchange(std::move_only_function<void()> wake) : wake_(std::move(wake)) {}

  // Executor's side. put() wakes the I/O thread. add() returns true if wake() must follow: then
  // many steps cost one wakeup, and the I/O thread does not send the first of them alone.
  void put(Step step);
  bool add(Step step);
  void wake() { wake_(); }
  std::size_t queuedBytes() const { return waiting_ + inConnection_; }

  void setAuthenticated() { authenticated_ = true; }
  // After an upgrade: so many bytes of input have been processed.
  void consumed(std::size_t bytes);

  // I/O thread's side. The steps put in since the last call.
  std::vector<Step> take();
  // The bytes of the answer that the connection has queued.
  void setInConnection(std::size_t bytes) { inConnection_ = bytes; }
  bool isAuthenticated() const { return authenticated_; }
  // After an upgrade: so many bytes of input are on their way to the handler.
  void received(std::size_t bytes) { unread_ += static_cast<std::int64_t>(bytes); }
  bool inputIsFull() const { return unread_ >= kMaxUnread; }
  // The answer is complete or will never be: later steps are dropped.
  void close();

 private:
  static constexpr std::int64_t kMaxUnread = 1 << 20;

  std::move_only_function<void()> wake_;
  std::atomic<std::int64_t> unread_ = 0;
  std::atomic<std::size_t> waiting_ = 0;  // bytes in steps_
  std::atomic<std::size_t> inConnection_ = 0;
  std::atomic<bool> authenticated_ = false;
  std::mutex mutex_;
  std::vector<Step> steps_;  // guarded by mutex_
  bool awake_ = false;       // guarded by mutex_: wake_ was called, take() not yet
  bool closed_ = false;      // guarded by mutex_
};

// The Responder that handlers receive. Executor only, except for the constructor.
class ExchangeResponder final : public Responder {
 public:
  ExchangeResponder(std::shared_ptr<HandlerSlot> slot, std::shared_ptr<Exchange> exchange)
      : slot_(std::move(slot)), exchange_(std::move(exchange)) {}
  ~ExchangeResponder() override;

  using Responder::respond;
  void respond(int status, Headers headers, Bytes body) override;
  void begin(int status, Headers headers) override;
  void upgrade(Headers headers, OnInput onInput) override;
  void consumed(std::size_t bytes) override { exchange_->consumed(bytes); }
  void write(Bytes chunk) override;
  void end() override;
  void authenticated() override { exchange_->setAuthenticated(); }
  std::size_t queuedBytes() const override { return exchange_->queuedBytes(); }
  void abort() override;
  void onClosed(Callback fn) override;

  // Called with the client's bytes after an upgrade.
  void input(std::string bytes);
  // Called when the connection is lost before the answer is complete. Calls the callback of
  // onClosed.
  void lost();

 private:
  enum class State { Fresh, Streaming, Done, Lost };

  void finish(Exchange::Step step);

  std::shared_ptr<HandlerSlot> slot_;
  std::shared_ptr<Exchange> exchange_;
  State state_ = State::Fresh;
  Callback onClosed_;
  OnInput onInput_;
};

}  // namespace koord::net
