#pragma once

// The rules of single kinds, except pods (validate.h) and limits (validate_limits.h).

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// `before` is null for a new object.
void validateService(const json::value& service, const json::value* before, FieldErrors& errors);
void validateEndpoints(const json::value& endpoints, FieldErrors& errors, bool loopback);
void validateEndpointSlice(const json::value& slice, const json::value* before, FieldErrors& errors,
                           bool loopback);
void validateConfigMap(const json::value& map, const json::value* before, FieldErrors& errors);
void validateSecret(const json::value& secret, const json::value* before, FieldErrors& errors);
void validateAutoscaler(const json::value& autoscaler, FieldErrors& errors);

void validateLabels(const json::value* labels, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
