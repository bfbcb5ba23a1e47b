#pragma once

// Asks koord-scheduler what would happen, in the name of a user: with the user's own token, so the
// scheduler checks the user's rights (scheduler/oracle/service.h), and the console needs none.
//
// The token goes to the leader only, over TLS that is verified by the certificate in the leader's
// lease. Pods are taken as the manifest has them: unlike koordctl simulate, the console does not
// ask the API server for dry runs, and the answer has a note about it.

#include <memory>
#include <string>

#include "base/json.h"
#include "kube/request_guard.h"
#include "net/http_transport.h"

namespace koord::console {

struct SchedulerPlace {
  std::string url;  // "" = that of the pod that holds the lease
  std::string leaseNamespace = "koordinator-system";
  std::string leaseName = "koord-scheduler";
  std::int64_t port = 10259;
};

// request: simulation_request.h. Errors: Forbidden for a caller without a token, NotFound if the
// leader is not found, Timeout after 45 seconds, and those of koord-scheduler.
Task<Result<json::value>> simulateAs(Executor& executor, kube::Api& api, net::HttpTransport& http,
                                     SchedulerPlace place, std::string request,
                                     std::shared_ptr<const kube::Caller> caller);

}  // namespace koord::console
