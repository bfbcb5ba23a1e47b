#pragma once

// Admission of volumes and claims: the StorageClass of claims that name none, and the finalizers
// that keep both while they are used. Upstream's DefaultStorageClass and
// StorageObjectInUseProtection.

#include "apiserver/registry/resource.h"
#include "apiserver/store/store.h"
#include "base/json.h"

namespace koord::apiserver {

// Completes a new object; other kinds than volumes and claims stay as they are. Idempotent.
void completeStorage(json::value& object, const Resource& resource, Store& store);

}  // namespace koord::apiserver
