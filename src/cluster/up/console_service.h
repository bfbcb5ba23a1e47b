#pragma once

// The console (console/console.h) of a cluster on this host.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/screen/live/explain.h"
#include "console/console.h"
#include "net/http_transport.h"

namespace koord::cluster {

struct ConsoleInputs {
  kube::Api* api = nullptr;
  Executor* executor = nullptr;
  net::HttpTransport* http = nullptr;
  std::string address;  // as UpOptions::console, but not "off"
  std::string server;   // the address of the API server
  Question question;    // executor and subject are filled in
  ExplainByName explain = nullptr;
  Simulate simulate = nullptr;
  std::string koordlet;      // the address of this host's koordlet; "" = it does not run
  std::string koordletNode;  // its node
  std::function<std::vector<std::string>()> notes;
};

// A console that listens; start() begins to follow the cluster.
Result<std::unique_ptr<console::Console>> openConsole(ConsoleInputs inputs);

// "", "off" or an address on loopback: the console does not have TLS.
Result<> checkConsoleAddress(const std::string& address);

}  // namespace koord::cluster
