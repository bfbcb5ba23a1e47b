#pragma once

// The way to the leader of a component, for other programs of the cluster: the address of the pod
// that holds the lease, and the certificate that the leader has written into the lease. So a client
// can verify a self-signed certificate and send credentials.

#include <cstdint>
#include <string>

#include "api/meta.h"
#include "kube/api.h"

namespace koord::kube {

struct LeaderAddress {
  std::string url;          // "https://10.0.0.7:10259"
  std::string certificate;  // PEM; "" = the lease does not name it
};

// The holder of the lease is <host name>_<uuid>; in a cluster the host name is the name of its pod,
// which is in the namespace of the lease. Needs the verb get on leases and pods there. Errors name
// what is missing.
Task<Result<LeaderAddress>> findLeader(Api& api, api::ObjectKey lease, std::int64_t port);

}  // namespace koord::kube
