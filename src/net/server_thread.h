#pragma once

// One I/O thread of the server: an Asio context and the connections that live on it.

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include "net/asio.h"
#include "net/connection.h"

namespace koord::net {

class ServerThread final : public ConnectionOwner,
                           public std::enable_shared_from_this<ServerThread> {
 public:
  // Called on this thread when a connection has ended.
  using OnClosed = std::function<void(const Connection& connection)>;

  ServerThread(std::shared_ptr<const ServerOptions> options, std::shared_ptr<HandlerSlot> slot,
               OnClosed onClosed);
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  asio::io_context& context() { return context_; }
  void run();
  // Ends the thread; connections are closed when this object is destroyed. Not from this thread.
  void stop();

  // The rest on this thread only.
  void add(Socket socket, TlsContext tls, std::string remote, std::string client);
  // Closes the connections of least worth, of one client or, for "", of all: several if they are
  // unauthenticated, else one. Returns false if all are busy.
  bool evict(std::string_view client);
  void shutdownAll();
  void closeAll();

  std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::now();
  }
  const ServerOptions& options() const override { return *options_; }
  const std::shared_ptr<HandlerSlot>& slot() const override { return slot_; }
  std::string_view date() const override;
  std::move_only_function<void()> wakerOf(std::weak_ptr<Connection> connection) override;
  void onConnectionClosed(const std::shared_ptr<Connection>& connection) override;

 private:
  // Checks deadlines now and then, as long as there are connections.
  void tick();

  std::shared_ptr<const ServerOptions> options_;
  std::shared_ptr<HandlerSlot> slot_;
  OnClosed onClosed_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  asio::steady_timer timer_{context_};
  std::chrono::milliseconds tickTime_;
  bool ticking_ = false;
  mutable std::time_t dateSecond_ = -1;
  mutable std::string date_;  // of dateSecond_
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace koord::net
