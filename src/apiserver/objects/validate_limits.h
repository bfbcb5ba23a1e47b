#pragma once

// Validation of LimitRange, ResourceQuota and PriorityClass objects.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

void validateLimitRange(const json::value& object, FieldErrors& errors);
// `before` is null for a new object.
void validateResourceQuota(const json::value& object, const json::value* before,
                           FieldErrors& errors);
void validatePriorityClass(const json::value& object, const json::value* before,
                           FieldErrors& errors);

}  // namespace koord::apiserver
