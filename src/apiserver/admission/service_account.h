#pragma once

// Upstream's admission plugin ServiceAccount: a new pod runs as a service account that must exist,
// takes its imagePullSecrets, and gets a volume with a token of it, the cluster's authority and its
// namespace, mounted into every container.

#include "apiserver/objects/failure.h"
#include "apiserver/store/store.h"
#include "base/random.h"

namespace koord::apiserver {

// Idempotent.
Outcome<> admitServiceAccount(json::value& pod, Store& store, Random& random);

}  // namespace koord::apiserver
