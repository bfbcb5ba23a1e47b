#pragma once

// The two runtime protocols that the proxy supports.

#include "runtimeproxy/connection.h"
#include "runtimeproxy/docker/docker_relay.h"
#include "runtimeproxy/relay.h"

namespace koord::runtimeproxy {

// The common dependencies of the frontends. Must outlive them.
struct FrontendContext {
  net::IoLoop& loop;
  std::string runtimeSocket;
  Dispatcher& dispatcher;
  Store& store;
  Metrics& metrics;
  SkipRule skip;
};

class CriFrontend final : public Frontend {
 public:
  explicit CriFrontend(FrontendContext context);
  Task<Result<std::string>> rebuild(Store& store) override;
  std::shared_ptr<Connection> connection(WhenLost onLost) override;

 private:
  FrontendContext context_;
  ChannelPool channel_;
  RuntimeView runtime_;
  Interceptor interceptor_;
};

class DockerFrontend final : public Frontend {
 public:
  explicit DockerFrontend(FrontendContext context);
  Task<Result<std::string>> rebuild(Store& store) override { return docker_.rebuild(store); }
  std::shared_ptr<Connection> connection(WhenLost onLost) override;

 private:
  FrontendContext context_;
  DockerView docker_;
  DockerInterceptor interceptor_;
};

}  // namespace koord::runtimeproxy
