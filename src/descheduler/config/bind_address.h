#pragma once

// healthzBindAddress and metricsBindAddress: "0.0.0.0:10251".

#include <string>

namespace koord::descheduler {

// ":p" means all addresses; an IP without a port gets the default one.
std::string completeBindAddress(std::string address);
// What is wrong with it; "" = nothing is.
std::string checkBindAddress(const std::string& address);
// Port 0: it is not served.
bool isServed(const std::string& address);

}  // namespace koord::descheduler
