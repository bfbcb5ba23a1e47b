#pragma once

// A whole cluster on virtual time in one process and one thread: API server in memory, workload
// controllers, simulated nodes, koordlet on those that have a machine (machines.h), koord-manager's
// controllers and pod webhooks, koord-scheduler, koord-descheduler. The same seed gives the same
// run. An hour of it takes milliseconds when little happens.

#include <memory>
#include <vector>

#include "base/json.h"
#include "cluster/scenario/environment.h"

namespace koord::scenario {

struct VirtualClusterOptions {
  // Created first, in this order: namespaces, CustomResourceDefinitions, priority classes, webhook
  // configurations, configuration of the components. Webhooks are answered in the process, whatever
  // their clientConfig says, by its path (/mutate-pod, /validate-pod).
  std::vector<json::value> manifests;
  std::uint64_t seed = 1;
};

// Ready when it returns: the components have seen the manifests. The error names the manifest or
// the component that is in the way.
Result<std::unique_ptr<Environment>> startVirtualCluster(const VirtualClusterOptions& options);

}  // namespace koord::scenario
