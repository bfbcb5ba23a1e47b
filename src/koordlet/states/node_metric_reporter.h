#pragma once

// Reports measurements in the status of this node's NodeMetric: averages and percentiles of node
// and system usage, averages per pod and host application. koord-manager owns the object and its
// spec (the interval and the windows).

#include "api/slo.h"
#include "base/random.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/states/states.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace koord::koordlet {

struct ReportPolicy {
  Duration interval = std::chrono::seconds(60);
  Duration window = std::chrono::seconds(300);  // of the averages
  std::vector<Duration> aggregateWindows;       // of the percentiles
  bool memoryWithPageCache = false;
  bool memoryWithHotPages = false;  // if hot pages are measured; else without page cache
};
// The spec over the defaults; values that are too small are raised to the minimum.
ReportPolicy reportPolicyOf(const api::NodeMetricSpec& spec);

// The part of prod pods' requests that will stay unused, and their predicted peak. CPU in
// milli-cores, memory in bytes.
struct ProdForecast {
  std::int64_t reclaimableMilli = 0, reclaimableBytes = 0;
  std::int64_t peakMilli = 0, peakBytes = 0;
};
// Returns nullopt while there is no prediction.
using ProdForecaster = std::function<std::optional<ProdForecast>()>;
void addForecast(const std::optional<ProdForecast>& forecast, api::NodeMetricStatus& status);

// The status to report at `now`; nullopt while there is no sample of the node in the window.
std::optional<api::NodeMetricStatus> nodeMetricStatus(const ReportPolicy& policy,
                                                      const MetricCache& cache,
                                                      const States& states, WallTime now);

class NodeMetricReporter {
 public:
  struct Options {
    std::string nodeName;
    bool mirrorToMetrics = false;  // gate NodeMetricPromMetrics
  };
  NodeMetricReporter(kube::Api& api, Executor& executor, MetricCache& cache, const States& states,
                     Metrics& metrics, Options options, ProdForecaster forecaster, Random random);
  // Returns the `extensions` of a pod's entry; null for none.
  using PodExtensions = std::function<json::value(const std::string& podUid)>;
  void setPodExtensions(PodExtensions fn) { podExtensions_ = std::move(fn); }
  void start();
  bool memoryWithPageCacheWanted() const { return policy_.memoryWithPageCache; }

 private:
  Task<void> loop();
  Task<void> report();
  void takeSpec(const api::NodeMetric& object);
  json::value patchOf(const api::NodeMetricStatus& status) const;
  void mirror(const api::NodeMetricInfo& info);
  bool spendToken();

  kube::Api& api_;
  Executor& executor_;
  MetricCache& cache_;
  const States& states_;
  Metrics& metrics_;
  Options options_;
  ProdForecaster forecaster_;
  PodExtensions podExtensions_;
  kube::Informer<api::NodeMetric> informer_;
  std::optional<std::int64_t> generation_;
  ReportPolicy policy_;
  double tokens_;
  SteadyTime refilled_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
