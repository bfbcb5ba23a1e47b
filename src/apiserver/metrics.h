#pragma once

// The server's metrics in Prometheus' text format.

#include <string>

namespace koord::apiserver {

class Server;
std::string metricsText(Server& server);

}  // namespace koord::apiserver
