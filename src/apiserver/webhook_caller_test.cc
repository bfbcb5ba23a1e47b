// How webhooks are called over HTTP.

#include "apiserver/webhook_caller.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "net/http_transport.h"

namespace koord::apiserver {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A network on which each call takes a second.
class SlowTransport final : public net::HttpTransport {
 public:
  explicit SlowTransport(Executor& executor) : executor_(executor) {}

  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest request) override {
    most = std::max(most, ++running);
    last = std::move(request);
    auto pause = sleepFor(executor_, takes);
    co_await pause;
    --running;
    ++answered;
    net::HttpResponse response;
    response.status = 200;
    response.body = "answer";
    co_return response;
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
    return nullptr;
  }

  net::HttpRequest last;
  Duration takes = 1s;
  int running = 0, most = 0, answered = 0;

 private:
  Executor& executor_;
};

class WebhookCallerTest : public ::testing::Test {
 protected:
  void call(const std::string& service) {
    WebhookRequest request;
    request.service = {"system", service, "/check", {}};
    request.timeout = 10s;
    request.body = "review";
    group.spawn(record(this, caller(std::move(request))));
  }
  static Task<void> record(WebhookCallerTest* self, Task<Result<std::string>> call) {
    auto result = co_await call;
    self->results.push_back(std::move(result));
  }

  VirtualLoop loop;
  SlowTransport network{loop};
  WebhookCaller caller = makeWebhookCaller(
      network, loop, [](const api::ServiceReference& service) -> Result<std::string> {
        if (service.name == "gone") return fail(ErrorCode::Unavailable, "no endpoints");
        return "https://127.0.0.1:9876";
      });
  std::vector<Result<std::string>> results;
  TaskGroup group;
};

TEST_F(WebhookCallerTest, ABurstOfCallsOpensABoundedNumberOfConnections) {
  for (int i = 0; i < 200; ++i) call("pods");
  loop.advance(500ms);
  EXPECT_EQ(network.most, 64);
  loop.advance(10s);
  EXPECT_EQ(network.answered, 200);
  EXPECT_EQ(network.most, 64);
  ASSERT_EQ(results.size(), 200u);
  for (const auto& result : results) EXPECT_EQ(result, "answer");
}

TEST_F(WebhookCallerTest, TheWaitForOtherCallsCountsForTheTimeout) {
  network.takes = 7s;
  for (int i = 0; i < 200; ++i) call("pods");
  loop.advance(7s + 1ms);
  EXPECT_EQ(network.last.timeout, 3s) << "of 10 s";
  EXPECT_EQ(results.size(), 64u);
  loop.advance(7s);
  EXPECT_EQ(network.answered, 128) << "the others have no time left";
  ASSERT_EQ(results.size(), 200u);
  ASSERT_FALSE(results.back());
  EXPECT_THAT(results.back().error().message, HasSubstr("did not end within the timeout of 10s"));
}

TEST_F(WebhookCallerTest, ASlowWebhookDoesNotDelayAnother) {
  for (int i = 0; i < 200; ++i) call("slow");
  call("other");
  loop.advance(1500ms);
  EXPECT_EQ(network.answered, 65);
}

TEST_F(WebhookCallerTest, TheCertificateIsVerifiedForTheNameOfTheService) {
  call("pods");
  loop.advance(10ms);
  ASSERT_TRUE(network.last.tls);
  EXPECT_EQ(network.last.tls->serverName, "pods.system.svc");
  EXPECT_EQ(network.last.url, "https://127.0.0.1:9876/check?timeout=10s");
}

TEST_F(WebhookCallerTest, AServiceWithoutEndpointsFailsAtOnce) {
  call("gone");
  loop.advance(1ms);
  ASSERT_EQ(results.size(), 1u);
  ASSERT_FALSE(results[0]);
  EXPECT_THAT(results[0].error().message, HasSubstr("no endpoints"));
  EXPECT_EQ(network.running, 0);
}

}  // namespace
}  // namespace koord::apiserver
