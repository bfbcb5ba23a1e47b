#pragma once

// Pressure stall information of pods and containers (gate PSICollector), every ten seconds. It goes
// into the metric cache for the strategies, and into the metrics for operators.

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"
#include "koordlet/system/pressure.h"

namespace koord::koordlet {

class PsiCollector {
 public:
  PsiCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache,
               Metrics& metrics);
  void collect();
  // Why the last round found no pressure information; empty if it found some.
  const std::string& problem() const { return problem_; }

 private:
  // Samples the six series of a pod or container, from `first` on in the order of Metric.
  void take(const std::string& dir, const std::string& subject, Metric first,
            const Metrics::Subject& who);

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  MetricCache& cache_;
  Metrics& metrics_;
  std::string problem_;
  bool found_ = false;
};

}  // namespace koord::koordlet
