#include "runtimeproxy/frontends.h"

namespace koord::runtimeproxy {

CriFrontend::CriFrontend(FrontendContext context)
    : context_(std::move(context)),
      channel_(context_.loop),
      runtime_(channel_, context_.runtimeSocket),
      interceptor_(context_.dispatcher, runtime_, context_.store, context_.skip) {}

Task<Result<std::string>> CriFrontend::rebuild(Store& store) {
  auto asking = runtime_.version();
  auto version = co_await asking;
  if (!version) co_return fail(std::move(version.error()));
  auto listing = runtime_.listInto(store);
  const auto listed = co_await listing;
  if (!listed) co_return fail(listed.error());
  co_return std::move(version);
}

std::shared_ptr<Connection> CriFrontend::connection(WhenLost onLost) {
  return std::make_shared<Relay>(
      RelayContext{context_.loop, context_.runtimeSocket, interceptor_, context_.metrics},
      std::move(onLost));
}

DockerFrontend::DockerFrontend(FrontendContext context)
    : context_(std::move(context)),
      docker_(context_.loop, context_.runtimeSocket),
      interceptor_(context_.dispatcher, docker_, context_.store, context_.skip) {}

std::shared_ptr<Connection> DockerFrontend::connection(WhenLost onLost) {
  return std::make_shared<DockerRelay>(
      DockerRelayContext{context_.loop, context_.runtimeSocket, interceptor_, context_.metrics},
      std::move(onLost));
}

}  // namespace koord::runtimeproxy
