#pragma once

// Addresses of this host, for clusters that other hosts can reach.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

// True for "", 0.0.0.0 and [::]: a server on such a host listens on every address.
bool isEveryAddress(const std::string& host);
bool isLoopback(const std::string& host);

// Addresses of the interfaces that are up, without loopback and link-local ones, IPv4 first.
std::vector<std::string> interfaceAddresses();

// The URL for other hosts of a server that listens on "HOST:PORT"; "" if it listens on loopback.
std::string outsideUrl(const std::string& listen);

// The address of this host that packets to the server of a URL ("https://HOST:PORT") have.
Result<std::string> addressTowards(const std::string& url);

}  // namespace koord::cluster
