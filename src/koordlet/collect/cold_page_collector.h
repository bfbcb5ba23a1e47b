#pragma once

// Memory that nobody has touched for a while (gate ColdPageCollector), as Anolis' kidled counts it in cgroup v1's
// memory.idle_page_stats. What is used without it is what NodeMetric reports under the policy usageWithHotPageCache.

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

// The bytes of all kinds of file pages that were idle for as long as the boundary's bucket says, or longer. An error
// when there is no such line.
Result<std::int64_t> coldBytesIn(std::string_view idlePageStats);

class ColdPageCollector {
 public:
  ColdPageCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache)
      : host_(host), clock_(clock), states_(states), cache_(cache), reader_(host.layout) {}

  // Whether this kernel counts them; if so, it is told how often to look.
  bool start();
  void collect();

 private:
  std::optional<double> coldOf(const std::string& dir) const;
  void take(const std::string& dir, std::string_view subject, Metric metric);

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  MetricCache& cache_;
  CgroupReader reader_;
};

}  // namespace koord::koordlet
