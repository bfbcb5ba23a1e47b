#pragma once

#include "cel/library.h"
#include "cel/library/ip_address.h"

namespace koord::cel {

// ip("10.0.0.1"), cidr("10.0.0.0/8") and what can be asked of them, as the extension of the language has them.
// Kubernetes has a library of its own for the same (kubernetes_network.h); an environment has either.
const Library& networkLibrary();

// Values of types net.IP and net.CIDR.
const Type& ipType();
const Type& cidrType();
Value ipValue(const IpAddress& address);
Value cidrValue(const IpRange& range);
const IpAddress& ipOf(const Value& value);
const IpRange& cidrOf(const Value& value);

}  // namespace koord::cel
