#include "console/questions/scheduler_question.h"

#include <gtest/gtest.h>

#include "base/event_loop.h"
#include "kube/fake_api.h"

namespace koord::console {

namespace {

class TokenCaller final : public kube::Caller {
 public:
  explicit TokenCaller(std::string token) : token_(std::move(token)) {}
  const std::string& name() const override { return token_; }
  const std::string& identity() const override { return token_; }
  const std::string& token() const override { return token_; }
  Task<Result<bool>> may(kube::ResourceAccess) const override { co_return false; }
  Task<Result<>> stillValid() const override { co_return Result<>(); }

 private:
  const std::string token_;
};

class RecordingTransport final : public net::HttpTransport {
 public:
  std::vector<net::HttpRequest> requests;
  net::HttpResponse reply;
  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest request) override {
    requests.push_back(std::move(request));
    co_return reply;
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
    return nullptr;
  }
};

class SchedulerQuestionTest : public testing::Test {
 protected:
  SchedulerQuestionTest() {
    api_.answer = [this](const kube::Request& request) -> Result<std::string> {
      if (request.resource == "leases") return lease;
      if (request.resource == "pods")
        return R"({"metadata":{"name":"koord-scheduler-7"},"status":{"podIP":"10.0.0.7"}})";
      return fail(ErrorCode::NotFound, "not found");
    };
  }
  Task<void> keep(std::string token, std::string request, SchedulerPlace place) {
    auto asking = simulateAs(loop_, api_, http_, std::move(place), std::move(request),
                             std::make_shared<const TokenCaller>(std::move(token)));
    answer_ = co_await asking;
    loop_.stop();
  }
  const Result<json::value>& ask(std::string token, std::string request,
                                 SchedulerPlace place = {}) {
    TaskGroup tasks;
    tasks.spawn(keep(std::move(token), std::move(request), std::move(place)));
    loop_.run();
    return answer_;
  }

  EventLoop loop_;
  kube::FakeApi api_{loop_};
  RecordingTransport http_;
  Result<json::value> answer_;
  std::string lease = R"({"metadata":{"annotations":{"koordinator.sh/serving-certificate":"PEM"}},
    "spec":{"holderIdentity":"koord-scheduler-7_1234"}})";
};

const std::string kQuestion = R"({"manifest":"{apiVersion: v1, kind: Pod}","spec":{}})";

}  // namespace

TEST_F(SchedulerQuestionTest, TheTokenGoesToTheHolderOfTheLeaseWithItsCertificate) {
  http_.reply = {200, {}, R"({"status":{"placed":1}})"};
  const auto& answer = ask("secret", kQuestion);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(http_.requests.size(), 1u);
  const auto& sent = http_.requests.front();
  EXPECT_EQ(sent.url, "https://10.0.0.7:10259/apis/v1/simulations");
  EXPECT_EQ(net::headerOf(sent.headers, "Authorization"), "Bearer secret");
  ASSERT_TRUE(sent.tls);
  EXPECT_EQ(sent.tls->caPem, "PEM");
  EXPECT_FALSE(sent.tls->insecureSkipVerify);
  EXPECT_NE(toJson(*answer).find("without the defaults and webhooks"), std::string::npos);
}

TEST_F(SchedulerQuestionTest, WithoutATokenOrACertificateNothingIsSent) {
  EXPECT_EQ(ask("", kQuestion).error().code, ErrorCode::Forbidden);
  lease = R"({"metadata":{},"spec":{"holderIdentity":"koord-scheduler-7_1234"}})";
  EXPECT_EQ(ask("secret", kQuestion).error().code, ErrorCode::NotFound);
  SchedulerPlace place;
  place.url = "https://elsewhere:1/";
  EXPECT_EQ(ask("secret", kQuestion, place).error().code, ErrorCode::NotFound);
  EXPECT_EQ(ask("secret", "{}").error().code, ErrorCode::Invalid);
  EXPECT_TRUE(http_.requests.empty());
}

TEST_F(SchedulerQuestionTest, ARefusalHasTheWordsOfTheScheduler) {
  http_.reply = {403, {}, R"({"message":"user \"u\" cannot create pods"})"};
  const auto& refused = ask("secret", kQuestion);
  EXPECT_EQ(refused.error().code, ErrorCode::Forbidden);
  EXPECT_EQ(refused.error().message, "koord-scheduler: user \"u\" cannot create pods (status 403)");
  for (const char* hostile : {"", "[]", "null", R"({"status":3})", "<html>"}) {
    http_.reply = {200, {}, hostile};
    EXPECT_FALSE(ask("secret", kQuestion)) << hostile;
  }
}

}  // namespace koord::console
