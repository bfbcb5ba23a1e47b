#pragma once

// The metrics of the workload auditor, under upstream's names: scheduler_workload_auditor_...

#include <prometheus/registry.h>

#include <string>
#include <vector>

#include "base/executor.h"
#include "net/prometheus.h"
#include "scheduler/auditor/audit_options.h"

namespace koord::scheduler {

class AuditMetrics {
 public:
  explicit AuditMetrics(const std::vector<AuditLabel>& labels);

  // The label values of a workload, `priority` first.
  using Values = std::vector<std::string>;

  void repeatedPreemption(const Values& of) { repeated_.Add(labels(of)).Increment(); }
  void invalidated(const Values& of) { invalidations_.Add(labels(of)).Increment(); }
  void rescheduled(const Values& of, Duration took);
  // A preemption ended: its victims are gone, or another event ended it.
  void preemptionEnded(const Values& of, bool victimsGone, Duration took, std::int64_t retries);
  // The workload is dropped; `count` is how often the event happened to it.
  void outcome(const Values& of, std::string_view event, std::string_view outcome, double count);
  void interval(const Values& of, Duration took);
  void recordLatency(std::string_view method, Duration took);

  std::string text() const { return net::prometheusText(registry_); }

 private:
  prometheus::Labels labels(const Values& of) const;

  std::vector<std::string> names_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& repeated_;
  prometheus::Family<prometheus::Counter>& invalidations_;
  prometheus::Family<prometheus::Histogram>& reschedule_;
  prometheus::Family<prometheus::Histogram>& retries_;
  prometheus::Family<prometheus::Histogram>& victimTermination_;
  prometheus::Family<prometheus::Histogram>& interrupted_;
  prometheus::Family<prometheus::Histogram>& events_;
  prometheus::Family<prometheus::Histogram>& intervals_;
  prometheus::Family<prometheus::Histogram>& methods_;
};

}  // namespace koord::scheduler
