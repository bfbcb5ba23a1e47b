#pragma once

// A DNS server on a loopback address, by UDP and TCP on one port. It answers for one zone, and
// passes other queries to the servers of /etc/resolv.conf, unchanged.
//
// It has a thread of its own. At most 1,000 passed queries and 200 TCP connections are open at a
// time; more are dropped, and clients repeat them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/dns/message.h"

namespace koord::net::dns {

struct ServerOptions {
  std::string listen = "127.0.0.1";  // address, without a port: the kernel picks it
  std::string zone;                  // "cluster.local"
  // What the server knows of a name; nullopt: it is not for it, so the query is passed on. On the
  // server's thread.
  std::function<std::optional<Answer>(const Question& question)> answer;
  // Where other queries go: addresses, "192.0.2.53". Read for each query, so that a change of the
  // network counts at once.
  std::function<std::vector<std::string>()> upstreams;
  std::uint16_t upstreamPort = 53;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  ~Server();
  std::uint16_t port() const;

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The servers that a resolv.conf names, at most three as in glibc.
std::vector<std::string> nameserversIn(std::string_view resolvConf);
// Its search list: the last line of `search` or `domain` counts.
std::vector<std::string> searchIn(std::string_view resolvConf);

}  // namespace koord::net::dns
