#pragma once

// Calls admission webhooks over HTTPS.

#include <functional>
#include <string>

#include "apiserver/admission/webhooks.h"
#include "base/executor.h"

namespace koord::net {
class HttpTransport;
}

namespace koord::apiserver {

// Returns the address of a service, as "https://127.0.0.1:9876"; an error if no endpoint serves it.
// The certificate is still verified for the service's DNS name.
using ServiceResolver = std::function<Result<std::string>(const api::ServiceReference& service)>;

// Client and executor must outlive the caller and its calls. A webhook gets at most 64 calls at the
// same time. Further calls wait for their turn, within their timeout.
WebhookCaller makeWebhookCaller(net::HttpTransport& client, Executor& executor,
                                ServiceResolver resolver);

}  // namespace koord::apiserver
