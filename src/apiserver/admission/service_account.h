#pragma once

// Upstream's admission plugin ServiceAccount: a new pod runs as a service account that must exist
// and takes its imagePullSecrets. Every container mounts a volume with a token of the account, the
// cluster's CA certificate and the namespace.

#include "apiserver/objects/failure.h"
#include "apiserver/store/store.h"
#include "base/random.h"

namespace koord::apiserver {

// Idempotent.
Outcome<> admitServiceAccount(json::value& pod, Store& store, Random& random);

}  // namespace koord::apiserver
