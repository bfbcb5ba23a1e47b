#pragma once

// healthzBindAddress and metricsBindAddress: "0.0.0.0:10251".

#include <string>

namespace koord::descheduler {

// ":p" means all addresses; an IP without a port gets the default port.
std::string completeBindAddress(std::string address);
// The error of the address; "" if it is valid.
std::string checkBindAddress(const std::string& address);
// Returns false for port 0: the endpoint is not served.
bool isServed(const std::string& address);

}  // namespace koord::descheduler
