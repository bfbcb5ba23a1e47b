#pragma once

// Pressure stall information of pods and containers (gate PSICollector), every ten seconds: into the
// metric cache for those who decide, into the metrics for people.

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
  // Why there is none; empty when the last round found some.
  const std::string& problem() const { return problem_; }

 private:
  // The six series of a pod or a container, in the order of the enumeration.
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
