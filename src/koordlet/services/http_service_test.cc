#include "koordlet/services/http_service.h"

#include <gmock/gmock.h>

namespace koord::koordlet {
namespace {

using testing::HasSubstr;

struct Recorder final : net::Responder {
  int status = 0;
  net::Headers headers;
  std::string body;
  void respond(int code, net::Headers given, Bytes bytes) override {
    status = code;
    headers = std::move(given);
    body = *bytes;
  }
  void begin(int, net::Headers) override {}
  void write(Bytes) override {}
  void end() override {}
  std::size_t queuedBytes() const override { return 0; }
  void abort() override {}
  void onClosed(Callback) override {}
};

Recorder ask(const std::string& target, std::string method = "GET", std::string notReady = "",
             const std::string& accept = "") {
  ServiceViews views;
  views.internalMetrics = [] { return std::string("internal 1\n"); };
  views.externalMetrics = [] { return std::string("external 1\n"); };
  views.qos = [] { return json::value{{"node", "n"}}; };
  views.audit = [](std::size_t limit, std::string_view cgroup) {
    return json::value{{"limit", limit}, {"cgroup", cgroup}};
  };
  views.events = [](std::string_view size, std::string_view token) {
    if (size == "9") return EventPage{400, "size is at most 8", {}, ""};
    return EventPage{200, "", {"{\"a\":1}", "{\"b\":2}"}, token.empty() ? "t" : ""};
  };
  views.notReady = [notReady] { return notReady; };
  views.configz = [] { return json::value{{"componentconfig", {{"a", 1}}}}; };
  views.clientMetrics = [] { return std::string("client 1\n"); };
  net::ServerRequest request;
  request.method = std::move(method);
  request.target = target;
  if (!accept.empty()) request.headers.emplace_back("accept", accept);
  auto recorder = std::make_shared<Recorder>();
  makeHandler(std::move(views))(std::move(request), recorder);
  return *recorder;
}

TEST(HttpService, TheConfigurationIsServed) {
  EXPECT_EQ(ask("/configz").body, "{\"componentconfig\":{\"a\":1}}\n");
}

TEST(HttpService, EventsAreLinesOrADocument) {
  const auto lines = ask("/events?size=2");
  EXPECT_EQ(lines.body, "{\"a\":1}\n{\"b\":2}\n");
  EXPECT_EQ(net::headerOf(lines.headers, "next-page-token"), "t");
  EXPECT_EQ(net::headerOf(ask("/events?pageToken=t").headers, "next-page-token"), "");
  for (const auto* accept : {"application/json", "text/html, application/json;q=0.9"}) {
    const auto document = ask("/events", "GET", "", accept);
    EXPECT_EQ(document.body, "{\"NextPageToken\":\"t\",\"Events\":[{\"a\":1},{\"b\":2}]}");
    EXPECT_THAT(net::headerOf(document.headers, "content-type"), HasSubstr("application/json"));
  }
  EXPECT_EQ(ask("/events", "GET", "", "application/json;q=0, */*").body, lines.body);
  EXPECT_EQ(ask("/events?size=9").status, 400);
}

TEST(HttpService, MetricsAreServedTogetherAndApart) {
  EXPECT_THAT(ask("/metrics").body, HasSubstr("internal 1\nclient 1\nexternal 1\n"));
  EXPECT_THAT(ask("/internal-metrics").body, HasSubstr("internal 1\nclient 1\n"));
  EXPECT_EQ(ask("/external-metrics").body, "external 1\n");
  EXPECT_THAT(net::headerOf(ask("/metrics").headers, "content-type"), HasSubstr("version=0.0.4"));
}

TEST(HttpService, ReadinessSaysWhatIsMissing) {
  EXPECT_EQ(ask("/readyz").status, 200);
  const auto waiting = ask("/readyz", "GET", "pods not listed");
  EXPECT_EQ(waiting.status, 500);
  EXPECT_THAT(waiting.body, HasSubstr("[-]koordlet failed: reason withheld\n"));
  EXPECT_EQ(ask("/healthz", "GET", "pods not listed").status, 200);
}

TEST(HttpService, QosAndAuditAreJson) {
  EXPECT_EQ(ask("/apis/v1/qos").body, "{\"node\":\"n\"}\n");
  EXPECT_EQ(ask("/apis/v1/audit?limit=3&cgroup=kubepods%2Fburstable").body,
            "{\"limit\":3,\"cgroup\":\"kubepods/burstable\"}\n");
}

TEST(HttpService, BadRequestsAreRefusedWithAReason) {
  EXPECT_EQ(ask("/apis/v1/audit?limit=-1").status, 400);
  EXPECT_EQ(ask("/apis/v1/audit?limit=x").status, 400);
  EXPECT_EQ(ask("/metrics", "POST").status, 405);
  EXPECT_THAT(ask("/nope").body, HasSubstr("/apis/v1/qos"));
  EXPECT_EQ(ask("/nope").status, 404);
}

}  // namespace
}  // namespace koord::koordlet
