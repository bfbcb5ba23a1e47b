#include "runtimeproxy/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace koord::runtimeproxy {

Task<std::optional<std::string>> Dispatcher::dispatch(HookType type, const Exchange& exchange,
                                                      SteadyTime deadline) {
  const HookConfigs::List servers = configs_.servers();
  for (const HookServer& server : *servers) {
    if (!server.hooks.contains(type)) continue;
    const SteadyTime start = executor_.steadyNow();
    const Duration timeout =
        std::clamp<Duration>(deadline - start, std::chrono::milliseconds(1), timeout_);
    auto calling = caller_.call(server.endpoint, hookPath(type), exchange.ask(), timeout);
    net::GrpcReply reply = co_await calling;
    if (reply && !exchange.take(*reply))
      reply = std::unexpected(
          net::GrpcStatus{net::GrpcCode::Internal,
                          server.endpoint + ": the response is not a message of runtime.v1alpha1"});
    metrics_.hookCalled(nameOf(type), reply.has_value(), executor_.steadyNow() - start);
    if (reply) continue;
    // As Go programs print it, because users search kubelet's log for these words.
    std::string why = fmt::format("rpc error: code = {} desc = {}", net::nameOf(reply.error().code),
                                  reply.error().message);
    log::warn("hook {} of {}: {}; {}", nameOf(type), server.name, why,
              server.failureIsFatal ? "the call fails" : "the call continues without it");
    if (server.failureIsFatal) co_return "hook server err: " + why;
  }
  co_return std::nullopt;
}

}  // namespace koord::runtimeproxy
