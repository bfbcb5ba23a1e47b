#pragma once

// postStart and preStop hooks of containers.

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/probes/prober.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct HookTools {
  Executor& executor;
  Runtime& runtime;
  net::HttpTransport* http = nullptr;
};

// Runs a hook to its end, at most for `limit`. An HTTP hook succeeds with any answer.
Task<Result<>> runHook(HookTools tools, ProbeTarget target, spec::LifecycleHandler hook,
                       Duration limit);

}  // namespace koord::cluster
