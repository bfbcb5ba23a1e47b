#pragma once

// Converts an answer of an API server to an Error.

#include <string>

#include "base/result.h"
#include "net/http_types.h"

namespace koord::kube {

// The error of a status that is not 2xx. Takes code, message and retryAfterSeconds from the Status
// object in the body. Without a Status the message has the request ("GET https://...") and the
// beginning of the answer.
Error errorOf(const net::HttpResponse& response, const std::string& requestText);

// The delay of a Retry-After header in seconds; 0 = none.
std::chrono::seconds retryAfterOf(const net::HttpResponse& response);

}  // namespace koord::kube
