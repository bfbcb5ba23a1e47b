#include "cluster/hostnode/probes/grpc/grpc_health.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

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

  LoopThread thread_{"test"};
  GrpcHealth health_{thread_.loop()};
};

TEST_F(GrpcHealthTest, SaysWhatTheServerSays) {
  Service service;
  int port = 0;
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  EXPECT_EQ(ask(port, "").outcome, Outcome::Success);
  EXPECT_EQ(ask(port, "sick").output, "service unhealthy (responded with \"NOT_SERVING\")");
  EXPECT_THAT(ask(port, "unknown").output, HasSubstr("health rpc probe failed: unknown service"));
  server->Shutdown();
}

TEST_F(GrpcHealthTest, AServerWithoutTheServiceFails) {
  int port = 0;
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
  ::grpc::CallbackGenericService nothing;  // which it says of every method
  builder.RegisterCallbackGenericService(&nothing);
  const auto server = builder.BuildAndStart();
  ASSERT_TRUE(server);
  const auto result = ask(port, "");
  EXPECT_EQ(result.outcome, Outcome::Failure);
  EXPECT_THAT(result.output, HasSubstr("does not implement the grpc health protocol"));
  server->Shutdown();
}

// Each probe has a channel of its own, which must not end on the thread that brings its answer.
TEST_F(GrpcHealthTest, ManyProbesInARowGetTheirAnswers) {
  Service service;
  int port = 0;
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ask(port, "").outcome, Outcome::Success) << i;
  server->Shutdown();
}

TEST_F(GrpcHealthTest, NobodyThereFails) {
  const auto result = ask(1, "");
  EXPECT_EQ(result.outcome, Outcome::Failure);
  EXPECT_THAT(result.output, HasSubstr("failed to connect service \"127.0.0.1:1\""));
}

}  // namespace
}  // namespace koord::cluster
