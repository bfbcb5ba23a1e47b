#pragma once

// Admission rules that are part of the server: namespaces must exist, pods get their priority and
// the tolerations every pod has, services an address.

#include "apiserver/registry/registry.h"
#include "apiserver/server/target.h"
#include "base/random.h"

namespace koord::apiserver {

// Refuses new objects in namespaces that do not exist or go away.
Outcome<> admitToNamespace(std::string_view namespace_, const Target& target, std::string_view name,
                           Store& store);

// Completes a new pod from its PriorityClass and with the default tolerations. Idempotent.
Outcome<> completePod(json::value& pod, Store& store);

// Gives a new service its cluster IP, unless it has one or wants none.
Outcome<> completeService(json::value& service, Store& store, Random& random);

}  // namespace koord::apiserver
