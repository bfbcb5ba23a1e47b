#pragma once

// A client's connection with the runtime's protocol (CRI over gRPC, or Docker's HTTP).

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
  virtual void start(Fd client) = 0;
  // Takes no new calls; running calls may complete.
  virtual void drain() = 0;
  virtual std::size_t callsInFlight() const = 0;
};

// Called once, on the loop, when the client has disconnected.
using WhenLost = std::function<void(Connection*)>;

class Frontend {
 public:
  virtual ~Frontend() = default;
  // Puts the runtime's pods and containers into the store. Returns its name and version:
  // "containerd 1.6.20".
  virtual Task<Result<std::string>> rebuild(Store& store) = 0;
  virtual std::shared_ptr<Connection> connection(WhenLost onLost) = 0;
};

}  // namespace koord::runtimeproxy
