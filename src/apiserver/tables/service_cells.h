#pragma once

// What kubectl shows of a service's addresses and of its endpoints, in the words of kube-apiserver.

#include <string>

#include "base/json.h"

namespace koord::apiserver {

// The column External-IP of a service: "<none>", "<pending>", or addresses and names.
std::string externalAddresses(const json::value& service);
// The column Endpoints of an Endpoints object: the first three addresses with their ports.
std::string endpointsText(const json::value& endpoints);
// The columns Ports and Endpoints of an EndpointSlice, each with the first three.
std::string slicePorts(const json::value& slice);
std::string sliceAddresses(const json::value& slice);

}  // namespace koord::apiserver
