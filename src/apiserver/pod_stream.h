#pragma once

// The parameters of a stream to a pod (exec, attach, portforward): a query in the request, and an
// object of kind PodExecOptions, PodAttachOptions or PodPortForwardOptions for admission.

#include <string>

#include "base/json.h"
#include "kube/api.h"
#include "net/url.h"

namespace koord::apiserver {

// "PodExecOptions" of "exec"; "" for other subresources.
std::string_view streamOptionsKind(std::string_view subresource);
// Returns true for requests that open a stream to a pod.
bool isPodStream(const kube::Request& request);

json::value streamOptions(std::string_view subresource, const net::QueryParams& query);
net::QueryParams streamQuery(const json::value& options);

}  // namespace koord::apiserver
