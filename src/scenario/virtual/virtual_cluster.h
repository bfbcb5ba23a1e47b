#pragma once

// A whole cluster on virtual time in one process and one thread: API server in memory, workload
// controllers, simulated nodes, koordlet on nodes with a machine (machines.h), koord-manager's
// controllers and pod webhooks, koord-scheduler, koord-descheduler. The same seed gives the same
// run. An hour takes milliseconds if little happens.

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
  // configurations, configuration of the components. Webhooks are answered in the process by the
  // path of their clientConfig (/mutate-pod, /validate-pod).
  std::vector<json::value> manifests;
  std::uint64_t seed = 1;
  // Records by service account the permissions of its role that each program uses. Must outlive the
  // cluster.
  std::map<std::string, apiserver::RoleUse>* roleUses = nullptr;
};

// Returns a ready cluster, whose components have seen the manifests. The error names the failing
// manifest or component.
Result<std::unique_ptr<Environment>> startVirtualCluster(const VirtualClusterOptions& options);

}  // namespace koord::scenario
