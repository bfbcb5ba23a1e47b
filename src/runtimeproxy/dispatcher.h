#pragma once

// Calls the hook servers that want a hook, one after the other in the order of their files' names.
// Each sees what those before it made of the pod or container. A server has its own short time to
// answer, so that one that hangs costs a pod seconds and not its whole deadline.

#include <functional>
#include <optional>
#include <string>

#include "base/task.h"
#include "runtimeproxy/hook_config.h"
#include "runtimeproxy/metrics.h"
#include "runtimeproxy/unary_caller.h"

namespace koord::runtimeproxy {

class Dispatcher {
 public:
  Dispatcher(Executor& executor, UnaryCaller& caller, const HookConfigs& configs, Metrics& metrics,
             Duration timeout)
      : executor_(executor),
        caller_(caller),
        configs_(configs),
        metrics_(metrics),
        timeout_(timeout) {}

  // The message for the next server, and what its answer does to what is known: false when the
  // bytes are no answer. Both outlive the dispatch.
  struct Exchange {
    std::function<std::string()> ask;
    std::function<bool(const std::string& answer)> take;
  };
  // What the call to the runtime is to fail with: a server failed whose policy says so. Nothing
  // takes longer than until the deadline.
  Task<std::optional<std::string>> dispatch(HookType type, const Exchange& exchange,
                                            SteadyTime deadline);
  bool wants(HookType type) const { return configs_.wants(type); }

 private:
  Executor& executor_;
  UnaryCaller& caller_;
  const HookConfigs& configs_;
  Metrics& metrics_;
  Duration timeout_;
};

}  // namespace koord::runtimeproxy
