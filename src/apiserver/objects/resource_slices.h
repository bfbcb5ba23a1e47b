#pragma once

// The rules for the spec of a ResourceSlice.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// `before` is null for a new slice.
void validateSliceSpec(const json::value& spec, const json::value* before, FieldErrors& errors);
// The attributes and capacities of a device, and what it consumes of counters and node resources.
void validateDeviceContents(const json::value& device, const std::string& path,
                            FieldErrors& errors);
// A map of counters, which must not be empty.
void validateCounters(const json::value& owner, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
