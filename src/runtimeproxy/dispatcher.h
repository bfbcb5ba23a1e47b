#pragma once

// Calls the hook servers that want a hook, one after the other in the order of their files' names.
// Each sees the pod or container as the servers before it changed it. Each server has a short
// timeout, so that a hanging server costs a pod seconds and not its whole deadline.

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

  // `ask` returns the message for the next server. `take` merges its answer; returns false if the
  // bytes cannot be decoded. Both must outlive the dispatch.
  struct Exchange {
    std::function<std::string()> ask;
    std::function<bool(const std::string& answer)> take;
  };
  // Returns the error for the call to the runtime, if a server failed whose policy is to fail. Ends
  // by the deadline.
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
