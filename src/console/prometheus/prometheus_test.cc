#include "console/prometheus/prometheus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "net/url.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

class FakePrometheus final : public net::HttpTransport {
 public:
  std::vector<net::HttpRequest> requests;
  std::function<Result<net::HttpResponse>(const net::HttpRequest&)> answer;
  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest request) override {
    requests.push_back(request);
    co_return answer(request);
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
    return nullptr;
  }
};

std::string matrix(std::string_view values) {
  return fmt::format(
      R"({{"status":"success","data":{{"resultType":"matrix","result":[{{"values":{}}}]}}}})",
      values);
}

class PrometheusTest : public testing::Test {
 protected:
  Task<void> keep(std::vector<ColumnQuery> columns, TimeGrid grid) {
    auto reading = prometheus_.read(std::move(columns), grid);
    answer_ = co_await reading;
  }
  std::string read(std::vector<ColumnQuery> columns, TimeGrid grid) {
    TaskGroup tasks;
    tasks.spawn(keep(std::move(columns), grid));
    loop_.runReady();
    return answer_ ? toJson(*answer_) : answer_.error().message;
  }
  VirtualLoop loop_;
  FakePrometheus http_;
  Prometheus prometheus_{http_, loop_, "https://prom.example:9090/prefix/", "PEM"};
  Result<json::value> answer_;
};

const TimeGrid kGrid{.from = 1000, .step = 60, .points = 3};

}  // namespace

TEST(TimeGridTest, ItCoversTheRangeWithoutItsEnd) {
  for (const std::int64_t length : {0, 1, 14, 15, 3600, 86'400, 31 * 86'400}) {
    const auto grid = TimeGrid::over(1'000'003, 1'000'003 + length, 480);
    EXPECT_LE(grid.points, 481u) << length;
    EXPECT_GE(grid.step, 15);
    if (grid.points == 0) continue;
    EXPECT_GE(grid.from, 1'000'003);
    const auto last = grid.from + static_cast<std::int64_t>(grid.points - 1) * grid.step;
    EXPECT_LT(last, 1'000'003 + length);
    EXPECT_GE(last + grid.step, 1'000'003 + length);
  }
  EXPECT_EQ(TimeGrid::over(100, 50, 480).points, 0u);
  EXPECT_EQ(TimeGrid::over(1'000'001, 1'086'401, 480), TimeGrid::over(1'000'009, 1'086'409, 480))
      << "equal within a minute, so that answers can be cached";
}

TEST(PromQueriesTest, NamesOfObjectsStayNames) {
  const std::string hostile = "n\"} or vector(1) #\\\n";
  EXPECT_EQ(promText(hostile), R"("n\"} or vector(1) #\\\n")");
  for (const auto& [column, query] : nodeQueries(hostile, 8000, 1024))
    EXPECT_NE(query.find(R"(node="n\"} or vector(1) #\\\n")"), std::string::npos) << query;
  for (const auto& [column, query] : quotaQueries(hostile))
    EXPECT_NE(query.find(R"(name="n\"} or vector(1) #\\\n")"), std::string::npos) << query;
}

TEST(PromQueriesTest, ColumnsAreThoseOfTheHistory) {
  EXPECT_EQ(nodeQueries("n", 0, 0).size(), 0u);
  EXPECT_EQ(nodeQueries("n", 8000, 0).size(), 3u);
  EXPECT_EQ(nodeQueries("n", 8000, 1024).back().second,
            "100 * max(koordlet_node_used_memory_bytes{node=\"n\"}) / 1048576 / 1024");
  EXPECT_EQ(quotaQueries("q").front(),
            (ColumnQuery{"cpuUsed",
                         "max(scheduler_elastic_quota_status{name=\"q\",resource=\"cpu\","
                         "field=\"used\"}) / 1"}));
}

TEST_F(PrometheusTest, ColumnsAreAskedForOnTheGridWithVerifiedTls) {
  http_.answer = [](const net::HttpRequest& request) -> Result<net::HttpResponse> {
    const bool first = request.url.contains("query=up");
    return net::HttpResponse{
        200,
        {},
        first ? matrix(R"([[1000,"1.25"],[1060.2,"NaN"],[1120,"3"]])")
              : R"({"status":"success","data":{"resultType":"matrix","result":[]}})"};
  };
  EXPECT_EQ(read({{"a", "up"}, {"b", "sum(x{y=\"z\"})"}}, kGrid),
            R"({"times":[1000,1060,1120],"columns":{"a":[1.3E0,null,3E0],"b":[null,null,null]}})");
  ASSERT_EQ(http_.requests.size(), 2u);
  const auto& asked = http_.requests.front();
  EXPECT_EQ(asked.url,
            "https://prom.example:9090/prefix/api/v1/query_range?query=up&start=1000&end=1120&step="
            "60&timeout=10s");
  ASSERT_TRUE(asked.tls);
  EXPECT_EQ(asked.tls->caPem, "PEM");
  EXPECT_FALSE(asked.tls->insecureSkipVerify);
  EXPECT_LE(asked.maxResponseBytes, 1u << 20);
  EXPECT_LE(asked.timeout, 10s);
  read({{"a", "up"}, {"b", "sum(x{y=\"z\"})"}}, kGrid);
  EXPECT_EQ(http_.requests.size(), 2u) << "a minute from the cache";
  loop_.advance(61s);
  read({{"a", "up"}}, kGrid);
  EXPECT_EQ(http_.requests.size(), 3u);
}

TEST_F(PrometheusTest, HostileAnswersAreRefusedOrLeftOut) {
  struct Case {
    const char* name;
    std::string body;
    const char* expected;
  };
  const Case cases[] = {
      {"not JSON", "<html>", "the answer of Prometheus: "},
      {"another document", "[]", "it is not one of query_range"},
      {"an error", R"({"status":"error","error":"bad_data: parse error"})",
       "bad_data: parse error"},
      {"no data", R"({"status":"success"})", "it has no matrix"},
      {"a vector", R"({"status":"success","data":{"resultType":"vector","result":[]}})",
       "it has no matrix"},
      {"a number as a matrix", R"({"status":"success","data":{"resultType":"matrix","result":3}})",
       "it has no matrix"},
      {"two series", R"({"status":"success","data":{"resultType":"matrix","result":[{},{}]}})",
       "it has more than one series"},
      {"a series of a wrong type", R"({"status":"success","data":{"resultType":"matrix",
        "result":[7]}})",
       "the series has no values"},
      {"too many points", matrix(R"([[1000,"1"],[1001,"1"],[1002,"1"],[1003,"1"]])"),
       "more points than asked for"},
      {"a value that is not a pair", matrix("[[1000]]"), "a value is not a pair"},
      {"a time that is not a number", matrix(R"([["x","1"]])"), "a value has no time"},
      {"times that are elsewhere", matrix(R"([[1e300,"1"],[-1e300,"2"],[940,"3"]])"),
       R"("a":[null,null,null])"},
      {"values that are not numbers", matrix(R"([[1000,"+Inf"],[1060,"1x"],[1120,null]])"),
       R"("a":[null,null,null])"},
      {"a value beyond any amount", matrix(R"([[1000,"1e999"],[1060,"1e308"],[1120,"2"]])"),
       R"("a":[null,null,2E0])"},
  };
  for (const auto& one : cases) {
    http_.answer = [&](const net::HttpRequest&) -> Result<net::HttpResponse> {
      return net::HttpResponse{200, {}, one.body};
    };
    loop_.advance(61s);
    const std::string said = read({{"a", "up"}}, kGrid);
    EXPECT_NE(said.find(one.expected), std::string::npos) << one.name << ": " << said;
  }
}

TEST_F(PrometheusTest, AColumnThatFailsDoesNotTakeTheOthersWithIt) {
  http_.answer = [](const net::HttpRequest& request) -> Result<net::HttpResponse> {
    if (request.url.contains("bad")) return fail(ErrorCode::Unavailable, "connection refused");
    return net::HttpResponse{200, {}, matrix(R"([[1000,"1"]])")};
  };
  EXPECT_EQ(read({{"a", "bad"}, {"b", "good"}}, kGrid),
            R"({"times":[1000,1060,1120],"columns":{"b":[1E0,null,null]}})");
  EXPECT_EQ(read({{"a", "bad"}}, kGrid), "Prometheus: connection refused");
  http_.answer = [](const net::HttpRequest&) -> Result<net::HttpResponse> {
    return net::HttpResponse{503, {}, "busy"};
  };
  EXPECT_EQ(read({{"a", "x"}}, kGrid), "Prometheus answers with the status 503");
}

TEST(JoinHistoryTest, OlderValuesStandBeforeTheOwnOnes) {
  const auto joined =
      joinHistory(*parseJson(R"({"times":[1,2],"columns":{"a":[10,20],"b":[1,1]}})"),
                  *parseJson(R"({"times":[3],"columns":{"a":[30],"c":[5]}})"));
  EXPECT_EQ(toJson(joined),
            R"({"times":[1,2,3],"columns":{"a":[10,20,30],"b":[1,1,null],"c":[null,null,5]}})");
  EXPECT_EQ(toJson(joinHistory(json::object(), *parseJson(R"({"times":[3],"columns":{"a":[1]}})"))),
            R"({"times":[3],"columns":{"a":[1]}})");
}

TEST(PrometheusUrlTest, OnlyAddressesOfHttp) {
  for (const char* good : {"", "http://p:9090", "https://p.example/prefix/"})
    EXPECT_TRUE(checkPrometheusUrl(good)) << good;
  for (const char* bad : {"p:9090", "file:///etc/passwd", "http://", "http://p/?x=1", "ftp://p"})
    EXPECT_FALSE(checkPrometheusUrl(bad)) << bad;
}

}  // namespace koord::console
