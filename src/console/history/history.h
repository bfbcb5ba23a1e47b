#pragma once

// The history that the console keeps in memory: of the cluster, of each node and of each quota, for
// 24 hours at 15 s. So the console needs no other system; Prometheus has what is older.
//
// Memory: 23 KB a node, 140 KB a quota; 1,000 nodes and 50 quotas need 30 MiB. Quotas beyond
// kMostQuotas have no history. What has had no sample for a day is dropped.

#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"
#include "console/history/series.h"

namespace koord::console {

class History {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(15);
  static constexpr std::size_t kSamples = 5760;
  static constexpr std::size_t kMostQuotas = 64;

  // A step with all its samples.
  struct Step {
    Series<float>::Sample cluster;                                      // clusterColumns()
    std::vector<std::pair<std::string, Series<float>::Sample>> quotas;  // quotaColumns()
    std::vector<std::pair<std::string, Series<Share>::Sample>> nodes;   // nodeColumns()
  };
  static const std::vector<std::string>& clusterColumns();
  static const std::vector<std::string>& quotaColumns();
  static const std::vector<std::string>& nodeColumns();

  // What came before a clock went back is not returned: times on a chart rise.
  void add(WallTime now, const Step& step);

  // {"times": [...], "columns": {"cpuUsed": [...], ...}} of "cluster", "node/NAME" or
  // "quota/NAMESPACE/NAME" over the last seconds, averaged to at most `points`. NotFound for
  // others.
  Result<json::value> query(std::string_view series, std::int64_t seconds,
                            std::size_t points) const;
  // The error for a series that does not exist.
  static Error unknown(std::string_view series);
  std::size_t bytes() const;

 private:
  template <class T>
  json::value read(const Series<T>& series, const std::vector<std::string>& columns,
                   std::int64_t seconds, std::size_t points) const;
  void dropOld();

  std::vector<std::int64_t> times_ = std::vector<std::int64_t>(kSamples);  // seconds, by number
  std::uint64_t next_ = 0;   // number of the next step
  std::uint64_t first_ = 0;  // of the first since the clock last went back
  Series<float> cluster_{clusterColumns().size(), kSamples};
  std::unordered_map<std::string, Series<float>> quotas_;
  std::unordered_map<std::string, Series<Share>> nodes_;
};

}  // namespace koord::console
