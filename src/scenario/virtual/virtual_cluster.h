#pragma once

// A whole cluster on virtual time in one process and one thread: API server in memory, workload
// controllers, simulated nodes, koordlet on those that have a machine (machines.h), koord-manager's
// controllers and pod webhooks, koord-scheduler, koord-descheduler. The same seed gives the same
// run. An hour of it takes milliseconds when little happens.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authz/role_use.h"
#include "base/json.h"
#include "scenario/environment.h"

namespace koord::scenario {

struct VirtualClusterOptions {
  // Created first, in this order: namespaces, CustomResourceDefinitions, priority classes, webhook
  // configurations, configuration of the components. Webhooks are answered in the process, whatever
  // their clientConfig says, by its path (/mutate-pod, /validate-pod).
  std::vector<json::value> manifests;
  std::uint64_t seed = 1;
  // By service account: what of its role each program makes use of is added. It must outlive the cluster.
  std::map<std::string, apiserver::RoleUse>* roleUses = nullptr;
};

// Ready when it returns: the components have seen the manifests. The error names the manifest or
// the component that is in the way.
Result<std::unique_ptr<Environment>> startVirtualCluster(const VirtualClusterOptions& options);

}  // namespace koord::scenario
