#pragma once

// Says which latency-sensitive pods suffer from their neighbours: their cycles per instruction, or
// the time they wait for CPU, memory or I/O, are far above what is normal for their application, and
// have been for a while. The verdict has its reason: a metric, the pod's entry in NodeMetric, the
// audit. Once a minute.

#include <deque>
#include <map>

#include "base/json.h"
#include "koordlet/interference/baseline.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/resourceexecutor/audit_ring.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

// Pods of one application are judged by what is normal for all of them: namespace and owner.
std::string applicationOf(const api::Pod& pod);

struct Interference {
  std::string podUid, pod, podNamespace, container, application;
  std::string cause;  // "cpi", "cpu", "memory", "io"
  double value = 0;   // cycles per instruction, or percent of the time
  double normal = 0;  // the mean
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
  // What holds now, by container and cause.
  std::vector<Interference> current() const;
  // The entry of a pod in NodeMetric's extensions; null where it does not suffer.
  json::value extensionOf(const std::string& podUid) const;
  json::value view() const;

 private:
  struct Figure {
    std::string_view cause;
    double value = 0;
    double least = 0;  // below it nothing is suspicious
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
