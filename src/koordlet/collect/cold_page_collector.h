#pragma once

// Cold memory (gate ColdPageCollector): pages without access for a while, as Anolis' kidled counts
// them in cgroup v1's memory.idle_page_stats. NodeMetric reports the usage without cold pages under
// the policy usageWithHotPageCache.

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

// The bytes of file pages, of all kinds, in the boundary's bucket (kBoundary) and in the buckets of
// longer idle times. Fails if there is no line of file pages.
Result<std::int64_t> coldBytesIn(std::string_view idlePageStats);

class ColdPageCollector {
 public:
  ColdPageCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache)
      : host_(host), clock_(clock), states_(states), cache_(cache), reader_(host.layout) {}

  // Sets the kernel's scan period. Returns false if this kernel does not count cold pages.
  bool start();
  // One round: samples the node, pods and host applications.
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
