#pragma once

// Admission of volumes and claims: sets the StorageClass of claims that name none, and the
// finalizers that keep both while they are in use. Upstream's DefaultStorageClass and
// StorageObjectInUseProtection.

#include "apiserver/registry/resource.h"
#include "apiserver/store/store.h"
#include "base/json.h"

namespace koord::apiserver {

// Completes a new volume or claim; other kinds do not change. Idempotent.
void completeStorage(json::value& object, const Resource& resource, Store& store);

}  // namespace koord::apiserver
