#pragma once

// Asks a server's gRPC health service, as a gRPC probe does. Answers come on the executor; each
// question has a connection of its own.

#include <memory>
#include <string>

#include "cluster/hostnode/probes/probe.h"

namespace koord::cluster {

class CallsInFlight;

class GrpcHealth {
 public:
  explicit GrpcHealth(Executor& executor);
  // Ends what is under way.
  ~GrpcHealth();

  Task<ProbeResult> ask(std::string address, std::string service, Duration timeout);

 private:
  Executor& executor_;
  std::unique_ptr<CallsInFlight> calls_;
};

}  // namespace koord::cluster
