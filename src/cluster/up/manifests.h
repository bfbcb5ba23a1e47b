#pragma once

// The manifests of deploy/ and of the demo, embedded as JSON (by embed/main.cc), and functions that
// apply them.

#include <string_view>
#include <vector>

#include "apiserver/registry/registry.h"
#include "base/task.h"
#include "kube/api.h"

namespace koord::cluster {

struct Manifest {
  std::string_view set;   // crds, base, webhooks, storage, slo, demo
  std::string_view json;  // one object
};
const std::vector<Manifest>& embeddedManifests();

enum class ApplyMode {
  CreateOnly,  // existing objects do not change
  Merge,       // existing objects get the manifest's fields (not status and metadata)
  Apply,  // as kubectl apply --server-side --force-conflicts: fields of others stay, also in lists
};

// Applies every object of a set, in order. Errors name the object; Apply continues with the others
// and returns all errors.
Task<Result<>> applySet(kube::Api& api, const apiserver::Registry& registry, std::string_view set,
                        ApplyMode mode);
Task<Result<>> applyObject(kube::Api& api, const apiserver::Registry& registry, json::value object,
                           ApplyMode mode);

}  // namespace koord::cluster
