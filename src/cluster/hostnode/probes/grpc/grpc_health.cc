#include "cluster/hostnode/probes/grpc/grpc_health.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "base/time.h"
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

}  // namespace

// What is under way: each call answers on a thread of gRPC. What a call holds is released by the
// executor: the last holder of a channel waits for gRPC's threads to end, which none of them may.
class GrpcHealth::Calls {
 public:
  struct Call {
    std::unique_ptr<health::Health::Stub> stub;
    ::grpc::ClientContext context;
    health::HealthCheckRequest request;
    health::HealthCheckResponse response;
  };
  using Done = std::function<void(const ::grpc::Status&, const health::HealthCheckResponse&)>;

  explicit Calls(Executor& executor) : executor_(executor) {}
  ~Calls() {
    std::unique_lock lock(mutex_);
    for (auto* context : inFlight_) context->TryCancel();
    idle_.wait(lock, [this] { return inFlight_.empty(); });
  }

  void begin(std::shared_ptr<Call> call, Done done) {
    auto& [stub, context, request, response] = *call;
    {
      std::lock_guard lock(mutex_);
      inFlight_.insert(&context);
    }
    stub->async()->Check(
        &context, &request, &response,
        [this, call = std::move(call), done = std::move(done)](::grpc::Status status) mutable {
          auto* const ended = &call->context;
          done(status, call->response);
          executor_.post([call = std::move(call)] {});
          std::lock_guard lock(mutex_);
          inFlight_.erase(ended);
          idle_.notify_all();
        });
  }

 private:
  Executor& executor_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::set<::grpc::ClientContext*> inFlight_;  // guarded by mutex_
};

GrpcHealth::GrpcHealth(Executor& executor)
    : executor_(executor), calls_(std::make_shared<Calls>(executor)) {}

GrpcHealth::~GrpcHealth() = default;

Task<ProbeResult> GrpcHealth::ask(std::string address, std::string service, Duration timeout) {
  auto call = std::make_shared<Calls::Call>();
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
  calls_->begin(std::move(call), [address, timeout, completer = std::move(completer)](
                                     const auto& status, const auto& response) {
    completer.complete(resultOf(status, response, address, timeout));
  });
  auto answer = std::move(future);
  co_return co_await answer;
}

}  // namespace koord::cluster
