#include "manager/webhook/server.h"

#include <gmock/gmock.h>

#include "base/event_loop.h"
#include "net/http_client.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

Task<Verdict> refuseEverything(api::AdmissionRequest request) {
  co_return refuse(403, "not " + request.name);
}

Task<void> post(net::HttpClient& client, EventLoop& loop, net::HttpRequest request,
                std::vector<net::HttpResponse>& answers) {
  auto fetch = client.fetch(loop, std::move(request));
  auto answer = co_await fetch;
  EXPECT_TRUE(answer) << answer.error().message;
  if (answer) answers.push_back(*std::move(answer));
  if (answers.size() == 6 || !answer) loop.stop();
}

TEST(WebhookServer, AnswersReviewsOverTlsThatItsAuthorityVouchesFor) {
  EventLoop loop;
  WebhookServer server(loop, "127.0.0.1:0");
  server.handle("/validate-pod", refuseEverything);
  const auto certs = renewCerts(nullptr, "127.0.0.1", loop.wallNow());
  ASSERT_TRUE(certs);
  ASSERT_TRUE(server.setCerts(*certs));

  net::HttpClient client;
  TaskGroup tasks;
  std::vector<net::HttpResponse> answers;
  const auto send = [&](const char* path, const char* method, std::string body) {
    net::HttpRequest request;
    request.method = method;
    request.url = "https://127.0.0.1:" + std::to_string(server.port()) + path;
    request.body = std::move(body);
    auto tls = std::make_shared<net::TlsConfig>();
    tls->caPem = certs->authority.certPem;
    request.tls = tls;
    tasks.spawn(post(client, loop, std::move(request), answers));
  };
  send("/healthz", "GET", "");
  send("/validate-pod", "POST", R"({"request":{"uid":"1","name":"p"}})");
  send("/validate-pod", "POST", "{");
  send("/other", "POST", "{}");
  send("/convert", "POST",
       R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"7",
       "desiredAPIVersion":"slo.koordinator.sh/v2","objects":[{"apiVersion":"slo.koordinator.sh/v1alpha1",
       "kind":"NodeSLO","metadata":{"name":"n1"}}]}})");
  send("/convert", "POST", "[]");
  loop.runAfter(20s, [&] { loop.stop(); });
  loop.run();

  ASSERT_EQ(answers.size(), 6u);
  std::vector<std::string> texts;
  for (const auto& answer : answers)
    texts.push_back(std::to_string(answer.status) + " " + answer.body);
  EXPECT_THAT(texts,
              testing::UnorderedElementsAre(
                  "200 ok", testing::HasSubstr(R"("message":"not p")"),
                  testing::AllOf(testing::HasSubstr(R"("code":400)"),
                                 testing::HasSubstr("AdmissionReview")),
                  testing::StartsWith("404"),
                  testing::AllOf(testing::StartsWith("200"), testing::HasSubstr(R"("uid":"7")"),
                                 testing::HasSubstr("cannot convert NodeSLO")),
                  testing::AllOf(testing::StartsWith("400"), testing::HasSubstr("request"))));
}

}  // namespace
}  // namespace koord::manager
