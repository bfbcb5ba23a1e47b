#include "cluster/hostnode/probes/grpc/grpc_health.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "base/event_loop.h"
#include "health.grpc.pb.h"

namespace koord::cluster {
namespace {

namespace health = ::grpc::health::v1;
using namespace std::chrono_literals;
using Outcome = ProbeResult::Outcome;
using testing::HasSubstr;

class Service final : public health::Health::Service {
  ::grpc::Status Check(::grpc::ServerContext*, const health::HealthCheckRequest* request,
                       health::HealthCheckResponse* response) override {
    if (request->service() == "unknown") return {::grpc::StatusCode::NOT_FOUND, "unknown service"};
    response->set_status(request->service() == "sick" ? health::HealthCheckResponse::NOT_SERVING
                                                      : health::HealthCheckResponse::SERVING);
    return ::grpc::Status::OK;
  }
};

class GrpcHealthTest : public testing::Test {
 protected:
  ~GrpcHealthTest() override {
    if (server_) server_->Shutdown();
  }
  // Starts a server with the services of `offer` and returns its port.
  int serve(const std::function<void(::grpc::ServerBuilder&)>& offer) {
    int port = 0;
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
    offer(builder);
    server_ = builder.BuildAndStart();
    return port;
  }
  int serveHealth() {
    return serve([this](auto& builder) { builder.RegisterService(&service_); });
  }
  ProbeResult ask(int port, std::string service) {
    std::promise<ProbeResult> promise;
    std::unique_ptr<TaskGroup> tasks;
    thread_.runSync([&] {
      tasks = std::make_unique<TaskGroup>();
      tasks->spawn(keep(health_.ask("127.0.0.1:" + std::to_string(port), service, 5s), &promise));
    });
    auto result = promise.get_future().get();
    thread_.runSync([&] { tasks.reset(); });
    return result;
  }
  static Task<void> keep(Task<ProbeResult> task, std::promise<ProbeResult>* out) {
    out->set_value(co_await task);
  }

  Service service_;
  std::unique_ptr<::grpc::Server> server_;
  LoopThread thread_{"test"};
  GrpcHealth health_{thread_.loop()};
};

TEST_F(GrpcHealthTest, SaysWhatTheServerSays) {
  const int port = serveHealth();
  EXPECT_EQ(ask(port, "").outcome, Outcome::Success);
  EXPECT_EQ(ask(port, "sick").output, "service unhealthy (responded with \"NOT_SERVING\")");
  EXPECT_THAT(ask(port, "unknown").output, HasSubstr("health rpc probe failed: unknown service"));
}

TEST_F(GrpcHealthTest, AServerWithoutTheServiceFails) {
  ::grpc::CallbackGenericService nothing;  // its answer for every method
  const int port = serve([&](auto& builder) { builder.RegisterCallbackGenericService(&nothing); });
  ASSERT_TRUE(server_);
  const auto result = ask(port, "");
  EXPECT_EQ(result.outcome, Outcome::Failure);
  EXPECT_THAT(result.output, HasSubstr("does not implement the grpc health protocol"));
  server_.reset();  // before its services
}

// Each probe has its own channel, which must not be destroyed on the thread that delivers the
// answer.
TEST_F(GrpcHealthTest, ManyProbesInARowGetTheirAnswers) {
  const int port = serveHealth();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ask(port, "").outcome, Outcome::Success) << i;
}

TEST_F(GrpcHealthTest, NobodyThereFails) {
  const auto result = ask(1, "");
  EXPECT_EQ(result.outcome, Outcome::Failure);
  EXPECT_THAT(result.output, HasSubstr("failed to connect service \"127.0.0.1:1\""));
}

}  // namespace
}  // namespace koord::cluster
