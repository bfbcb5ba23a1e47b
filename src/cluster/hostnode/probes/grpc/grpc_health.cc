#include "cluster/hostnode/probes/grpc/grpc_health.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "base/time.h"
#include "cluster/grpc/calls_in_flight.h"
#include "health.grpc.pb.h"

namespace koord::cluster {

namespace health = ::grpc::health::v1;
using Outcome = ProbeResult::Outcome;

namespace {

ProbeResult resultOf(const ::grpc::Status& status, const health::HealthCheckResponse& response,
                     const std::string& address, Duration timeout) {
  if (status.ok()) {
    if (response.status() == health::HealthCheckResponse::SERVING) return {Outcome::Success, {}};
    return {Outcome::Failure,
            fmt::format("service unhealthy (responded with \"{}\")",
                        health::HealthCheckResponse::ServingStatus_Name(response.status()))};
  }
  switch (status.error_code()) {
    case ::grpc::StatusCode::UNIMPLEMENTED:
      return {Outcome::Failure,
              fmt::format("error: this server does not implement the grpc health protocol "
                          "(grpc.health.v1.Health): {}",
                          status.error_message())};
    case ::grpc::StatusCode::DEADLINE_EXCEEDED:
      return {Outcome::Failure, fmt::format("timeout: health rpc did not complete within {}",
                                            formatDuration(timeout))};
    case ::grpc::StatusCode::UNAVAILABLE:
      return {Outcome::Failure, fmt::format("error: failed to connect service \"{}\": {}", address,
                                            status.error_message())};
    default:
      return {Outcome::Failure,
              fmt::format("error: health rpc probe failed: {}", status.error_message())};
  }
}

struct Call {
  std::unique_ptr<health::Health::Stub> stub;
  ::grpc::ClientContext context;
  health::HealthCheckRequest request;
  health::HealthCheckResponse response;
};

}  // namespace

GrpcHealth::GrpcHealth(Executor& executor)
    : executor_(executor), calls_(std::make_unique<CallsInFlight>(executor)) {}

GrpcHealth::~GrpcHealth() = default;

Task<ProbeResult> GrpcHealth::ask(std::string address, std::string service, Duration timeout) {
  auto call = std::make_shared<Call>();
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetUserAgentPrefix("kube-probe/1.28");
  call->stub = health::Health::NewStub(
      ::grpc::CreateCustomChannel(address, ::grpc::InsecureChannelCredentials(), arguments));
  call->request.set_service(service);
  call->context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  auto [future, completer] = Future<ProbeResult>::make(executor_);
  calls_->begin(
      std::move(call),
      [](Call& sent, auto answered) {
        sent.stub->async()->Check(&sent.context, &sent.request, &sent.response,
                                  std::move(answered));
      },
      [address, timeout, completer = std::move(completer)](const auto& status, const Call& ended) {
        completer.complete(resultOf(status, ended.response, address, timeout));
      });
  auto answer = std::move(future);
  co_return co_await answer;
}

}  // namespace koord::cluster
