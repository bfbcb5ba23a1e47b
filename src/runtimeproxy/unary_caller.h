#pragma once

// Interface for unary calls to servers at unix sockets: the runtime and the hook servers.

#include <list>
#include <memory>
#include <string>

#include "net/rpc/grpc_channel.h"

namespace koord::runtimeproxy {

class UnaryCaller {
 public:
  virtual ~UnaryCaller() = default;
  virtual Future<net::GrpcReply> call(const std::string& socket, const std::string& method,
                                      std::string message, Duration timeout) = 0;
};

// Keeps connections open: the ten most recently used, and those in use.
class ChannelPool final : public UnaryCaller {
 public:
  explicit ChannelPool(net::IoLoop& loop) : loop_(loop) {}
  Future<net::GrpcReply> call(const std::string& socket, const std::string& method,
                              std::string message, Duration timeout) override;

 private:
  net::IoLoop& loop_;
  std::list<std::unique_ptr<net::GrpcChannel>> channels_;  // most recently used first
};

}  // namespace koord::runtimeproxy
