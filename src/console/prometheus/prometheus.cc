#include "console/prometheus/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/gather.h"
#include "net/url.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 10s;
constexpr std::size_t kMostBytes = 1 << 20;  // 480 points have 20 KB
constexpr Duration kCached = 60s;
constexpr std::size_t kMostCached = 256;
constexpr std::int64_t kShortestStep = 15;

std::optional<double> numberIn(const json::value& value) {
  const auto* text = value.if_string();
  if (!text) return std::nullopt;
  double number = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> timeIn(const json::value& value) {
  if (const auto* real = value.if_double()) return *real;
  if (const auto* whole = value.if_int64()) return static_cast<double>(*whole);
  return std::nullopt;
}

}  // namespace

TimeGrid TimeGrid::over(std::int64_t from, std::int64_t to, std::size_t points) {
  if (from >= to || points == 0) return {};
  const auto most = static_cast<std::int64_t>(points);
  TimeGrid grid;
  // A minute or more is a whole number of minutes.
  grid.step = std::max(kShortestStep, (to - from + most - 1) / most);
  if (grid.step > kShortestStep) grid.step = (grid.step + 59) / 60 * 60;
  grid.from = (from + grid.step - 1) / grid.step * grid.step;
  if (grid.from < to) grid.points = static_cast<std::size_t>((to - 1 - grid.from) / grid.step + 1);
  return grid;
}

Result<json::array> readRange(const std::string& body, const TimeGrid& grid) {
  const auto document = parseJson(body);
  if (!document) return fail(Error(document.error()).within("the answer of Prometheus"));
  const auto refuse = [](std::string what) {
    return fail(ErrorCode::Invalid, "the answer of Prometheus: " + std::move(what));
  };
  if (textAt(*document, "status") != "success") {
    const auto why = textAt(*document, "error");
    return refuse(why.empty() ? "it is not one of query_range" : std::string(why.substr(0, 300)));
  }
  const json::value* result = at(*document, "data", "result");
  if (textAt(*document, "data", "resultType") != "matrix" || !result || !result->is_array())
    return refuse("it has no matrix");
  if (result->get_array().size() > 1) return refuse("it has more than one series");
  json::array values(grid.points);
  if (result->get_array().empty()) return values;
  const json::value* samples = find(result->get_array().front(), "values");
  if (!samples || !samples->is_array()) return refuse("the series has no values");
  if (samples->get_array().size() > grid.points) return refuse("it has more points than asked for");
  for (const json::value& sample : samples->get_array()) {
    const auto* pair = sample.if_array();
    if (!pair || pair->size() != 2) return refuse("a value is not a pair");
    const auto time = timeIn((*pair)[0]);
    if (!time) return refuse("a value has no time");
    const double place = (*time - static_cast<double>(grid.from)) / static_cast<double>(grid.step);
    if (!(place > -0.5 && place < static_cast<double>(grid.points) - 0.5)) continue;
    const auto number = numberIn((*pair)[1]);
    // Times ten, the largest numbers are none.
    const double rounded = number ? std::round(10 * *number) / 10 : 0;
    if (number && std::isfinite(rounded))
      values[static_cast<std::size_t>(std::lround(place))] = rounded;
  }
  return values;
}

Prometheus::Prometheus(net::HttpTransport& http, Executor& executor, std::string url,
                       std::string caPem)
    : http_(http),
      executor_(executor),
      url_(url.substr(0, url.find_last_not_of('/') + 1)),
      known_(kMostCached) {
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = std::move(caPem);
  if (url_.starts_with("https://")) tls_ = std::move(tls);
}

Task<Result<json::array>> Prometheus::column(std::string query, TimeGrid grid) {
  if (const auto* known = known_.find(query);
      known && known->grid == grid && executor_.steadyNow() < known->until)
    co_return known->values;
  const std::int64_t end =
      grid.from + static_cast<std::int64_t>(grid.points > 0 ? grid.points - 1 : 0) * grid.step;
  net::HttpRequest request;
  request.url =
      fmt::format("{}/api/v1/query_range?{}", url_,
                  net::encodeQuery({{"query", query},
                                    {"start", std::to_string(grid.from)},
                                    {"end", std::to_string(end)},
                                    {"step", std::to_string(grid.step)},
                                    {"timeout", fmt::format("{}s", kAnswerTime.count())}}));
  request.headers = {{"Accept", "application/json"}};
  request.tls = tls_;
  request.timeout = kAnswerTime;
  request.maxResponseBytes = kMostBytes;
  auto fetching = http_.fetch(executor_, std::move(request));
  const auto reply = co_await fetching;
  if (!reply) co_return fail(Error(reply.error()).within("Prometheus"));
  auto values = readRange(reply->body, grid);
  if (!values && reply->status != 200)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("Prometheus answers with the status {}", reply->status));
  if (values) known_.at(query, {}) = {grid, executor_.steadyNow() + kCached, *values};
  co_return values;
}

Task<Result<json::value>> Prometheus::read(std::vector<ColumnQuery> columns, TimeGrid grid) {
  std::vector<Task<Result<json::array>>> tasks;
  for (const auto& [name, query] : columns) tasks.push_back(column(query, grid));
  auto reading = gather(executor_, std::move(tasks));
  auto read = co_await reading;
  json::object byName;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (read[i]) byName.emplace(columns[i].first, *std::move(read[i]));
  if (byName.empty() && !read.empty()) co_return fail(std::move(read.front().error()));
  json::array times;
  for (std::size_t i = 0; i < grid.points; ++i)
    times.emplace_back(grid.from + static_cast<std::int64_t>(i) * grid.step);
  co_return json::value(json::object{{"times", std::move(times)}, {"columns", std::move(byName)}});
}

json::value joinHistory(json::value older, json::value own) {
  json::array times;
  json::object columns;
  std::size_t length = 0;
  for (json::value* part : {&older, &own}) {
    json::value* partTimes = find(*part, "times");
    if (!partTimes || !partTimes->is_array()) continue;
    const std::size_t more = partTimes->get_array().size();
    std::ranges::move(partTimes->get_array(), std::back_inserter(times));
    if (json::value* partColumns = find(*part, "columns"); partColumns && partColumns->is_object())
      for (auto& [name, values] : partColumns->get_object()) {
        json::value& column = columns[name];
        if (!column.is_array()) column = json::array(length);
        if (values.is_array())
          std::ranges::move(values.get_array(), std::back_inserter(column.get_array()));
      }
    length += more;
    for (auto& [name, column] : columns) column.get_array().resize(length);
  }
  return json::object{{"times", std::move(times)}, {"columns", std::move(columns)}};
}

Result<> checkPrometheusUrl(const std::string& url) {
  if (url.empty()) return {};
  const auto parsed = net::parseUrl(url);
  if (!parsed) return fail(Error(parsed.error()));
  if (parsed->scheme != "http" && parsed->scheme != "https")
    return fail(ErrorCode::Invalid, "must begin with http:// or https://");
  if (parsed->target.contains('?') || parsed->target.contains('#'))
    return fail(ErrorCode::Invalid, "must not have a query");
  return {};
}

}  // namespace koord::console
