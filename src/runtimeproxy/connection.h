#pragma once

// A client's connection, and what speaks the runtime's language on it (CRI over gRPC, or Docker's HTTP).

#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "net/rpc/unix_socket.h"

namespace koord::runtimeproxy {

class Store;

class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start(net::Fd client) = 0;
  // No new calls; those that are under way may end.
  virtual void drain() = 0;
  virtual std::size_t callsUnderWay() const = 0;
};

// The client has gone; called once, from the loop.
using WhenLost = std::function<void(Connection*)>;

class Frontend {
 public:
  virtual ~Frontend() = default;
  // Asks the runtime what it is and what it has, and puts that into the store: "containerd 1.6.20".
  virtual Task<Result<std::string>> rebuild(Store& store) = 0;
  virtual std::shared_ptr<Connection> connection(WhenLost onLost) = 0;
};

}  // namespace koord::runtimeproxy
