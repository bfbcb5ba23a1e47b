#pragma once

// Older history from the HTTP API of a Prometheus (query_range), whose address only a flag gives.
//
// Answers are bounded in points, bytes and time, and are checked value by value: a Prometheus may
// be broken, or not be one. The columns of a series are asked at once; each is cached for a minute,
// for all users, before anything is shown to one. TLS is verified.
//
// One executor.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bounded_map.h"
#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "console/prometheus/queries.h"
#include "net/http_transport.h"

namespace koord::console {

// Times in seconds since 1970: from, from + step, ... before to.
struct TimeGrid {
  std::int64_t from = 0;
  std::int64_t step = 15;
  std::size_t points = 0;

  // About so many points, on multiples of the step, so that grids of one minute are mostly equal.
  static TimeGrid over(std::int64_t from, std::int64_t to, std::size_t points);
  bool operator==(const TimeGrid&) const = default;
};

// The values at the times of the grid; null where there is none. Invalid: not an answer of
// query_range with at most one series.
Result<json::array> readRange(const std::string& body, const TimeGrid& grid);

class Prometheus {
 public:
  // url: "https://prometheus.monitoring:9090", also with a path. caPem: "" = the authorities of the
  // system. Transport and executor must outlive it.
  Prometheus(net::HttpTransport& http, Executor& executor, std::string url, std::string caPem);

  // {"times": [...], "columns": {...}} as History::query(). An error if no column could be read.
  // The Prometheus must outlive the task.
  Task<Result<json::value>> read(std::vector<ColumnQuery> columns, TimeGrid grid);

 private:
  struct Known {
    TimeGrid grid;
    SteadyTime until{};
    json::array values;
  };
  Task<Result<json::array>> column(std::string query, TimeGrid grid);

  net::HttpTransport& http_;
  Executor& executor_;
  const std::string url_;
  std::shared_ptr<const net::TlsConfig> tls_;
  BoundedMap<std::string, Known> known_;  // by query
};

// older: of read(), before the first time of own. own: of History::query().
json::value joinHistory(json::value older, json::value own);

// "" or why the text cannot be the address of a Prometheus.
Result<> checkPrometheusUrl(const std::string& url);

}  // namespace koord::console
