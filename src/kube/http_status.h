#pragma once

// From an answer of an API server to an Error.

#include <string>

#include "base/result.h"
#include "net/http_types.h"

namespace koord::kube {

// For a status that is not 2xx. Takes code, message and retryAfterSeconds from the Status object in
// the body; without one the message says what was asked ("GET https://...") and how the answer
// begins.
Error errorOf(const net::HttpResponse& response, const std::string& asked);

// The delay of a Retry-After header in seconds; 0 = none.
std::chrono::seconds retryAfterOf(const net::HttpResponse& response);

}  // namespace koord::kube
