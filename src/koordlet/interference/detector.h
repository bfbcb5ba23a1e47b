#pragma once

// Detects latency-sensitive pods that suffer from their neighbours: for a while, their cycles per
// instruction, or the time that they wait for CPU, memory or I/O, have been far above their
// application's normal range. The verdict and its reason go into a metric, the pod's entry in
// NodeMetric and the audit log. Runs once a minute.

#include <deque>
#include <map>

#include "base/json.h"
#include "koordlet/interference/baseline.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/resourceexecutor/audit_ring.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

// "<namespace>/<owner>": the application of a pod. All pods of an application share baselines.
std::string applicationOf(const api::Pod& pod);

struct Interference {
  std::string podUid, pod, podNamespace, container, application;
  std::string cause;  // "cpi", "cpu", "memory", "io"
  double value = 0;   // cycles per instruction, or percent of the time
  double normal = 0;  // the mean of the baseline
  double deviation = 0;
  WallTime since{};
  std::string reason() const;
};

class InterferenceDetector {
 public:
  InterferenceDetector(const Clock& clock, const States& states, const MetricCache& cache,
                       Metrics& metrics, AuditRing& audit);
  // One round.
  void run();
  // The verdicts in force, by container and cause.
  std::vector<Interference> current() const;
  // The entry of a pod in NodeMetric's extensions; null if the pod does not suffer.
  json::value extensionOf(const std::string& podUid) const;
  // The verdicts and the number of baselines, for the status page.
  json::value view() const;

 private:
  struct Figure {
    std::string_view cause;
    double value = 0;
    double least = 0;  // smaller values are not suspicious
  };
  // The last few rounds of one container and cause.
  struct Suspicion {
    std::deque<bool> rounds;
    std::optional<Interference> verdict;
    SteadyTime at{};
  };
  std::vector<Figure> figuresOf(const std::string& containerId) const;
  void judge(const PodView& pod, const ContainerView& container, const Figure& figure);
  void tell(const Interference& one, bool begins);
  void forgetOld();

  const Clock& clock_;
  const States& states_;
  const MetricCache& cache_;
  Metrics& metrics_;
  AuditRing& audit_;
  struct Known {
    Baseline baseline;
    SteadyTime at{};
  };
  std::map<std::string, Known> baselines_;       // by application, container and cause
  std::map<std::string, Suspicion> suspicions_;  // by container id and cause
};

}  // namespace koord::koordlet
