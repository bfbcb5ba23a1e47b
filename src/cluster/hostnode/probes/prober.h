#pragma once

// The real probes: commands through the runtime, HTTP, TCP and gRPC over the network. Messages are
// kubelet's, except for those of its transport. On the executor; nothing blocks.

#include <functional>

#include "cluster/hostnode/probes/probe.h"
#include "net/http_transport.h"

namespace koord::cluster {

// The result of a command in a container: status and output. Timeout: it was killed.
struct CommandEnd {
  int exitCode = 0;
  std::string output;
};
using RunCommand = std::function<Task<Result<CommandEnd>>(
    std::string containerId, std::vector<std::string> command, Duration timeout)>;
// Queries a gRPC health service (grpc/grpc_health.h).
using CheckGrpcHealth =
    std::function<Task<ProbeResult>(std::string address, std::string service, Duration timeout)>;

struct ProbeTransports {
  net::HttpTransport* http = nullptr;
  RunCommand command;
  CheckGrpcHealth grpc;
};

class NetworkProber final : public Prober {
 public:
  NetworkProber(Executor& executor, ProbeTransports transports)
      : executor_(executor), transports_(std::move(transports)) {}

  Task<ProbeResult> probe(ProbeTarget target, spec::Probe probe) override;

 private:
  Task<ProbeResult> exec(std::string id, spec::ExecAction action, Duration timeout);
  Task<ProbeResult> http(ProbeTarget target, spec::HttpGetAction action, Duration timeout);
  Task<ProbeResult> tcp(ProbeTarget target, spec::TcpSocketAction action, Duration timeout);
  Task<ProbeResult> grpc(ProbeTarget target, spec::GrpcAction action, Duration timeout);

  Executor& executor_;
  ProbeTransports transports_;
};

// Sends the GET of a probe or hook; returns any answer, or why there is none.
Task<Result<net::HttpResponse>> getForProbe(Executor& executor, net::HttpTransport& http,
                                            ProbeTarget target, spec::HttpGetAction action,
                                            Duration timeout);

}  // namespace koord::cluster
