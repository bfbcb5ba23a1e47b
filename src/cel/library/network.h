#pragma once

#include "cel/library.h"
#include "cel/library/ip_address.h"

namespace koord::cel {

// ip("10.0.0.1"), cidr("10.0.0.0/8") and their functions, as the extension of the language defines
// them.
const Library& networkLibrary();
// The same as Kubernetes has it (its libraries ip and cidr): IPv4 addresses that are mapped into
// IPv6 are refused in every form, and there is only what Kubernetes has. An environment has either
// of the two.
const Library& kubernetesNetworkLibrary();

// Values of types net.IP and net.CIDR.
const Type& ipType();
const Type& cidrType();
Value ipValue(const IpAddress& address);
Value cidrValue(const IpRange& range);
const IpAddress& ipOf(const Value& value);
const IpRange& cidrOf(const Value& value);

}  // namespace koord::cel
