#pragma once

// Queries a server's gRPC health service, as a gRPC probe does. Answers arrive on the executor;
// each query has its own connection.

#include <memory>
#include <string>

#include "cluster/hostnode/probes/probe.h"

namespace koord::cluster {

class CallsInFlight;

class GrpcHealth {
 public:
  explicit GrpcHealth(Executor& executor);
  // Cancels pending queries.
  ~GrpcHealth();

  Task<ProbeResult> ask(std::string address, std::string service, Duration timeout);

 private:
  Executor& executor_;
  std::unique_ptr<CallsInFlight> calls_;
};

}  // namespace koord::cluster
