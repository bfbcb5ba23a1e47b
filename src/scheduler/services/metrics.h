#pragma once

// The scheduler's Prometheus metrics, under kube-scheduler's names.

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

class Metrics final : public Observer {
 public:
  Metrics();

  void attempt(std::string_view result, const std::string& profile, Duration duration) override;
  void algorithm(Duration duration) override;
  void extensionPoint(std::string_view point, Code code, const std::string& profile,
                      Duration duration) override;
  void bound(const QueuedPod& pod, Duration sinceFirstAttempt) override;
  void searched(std::size_t evaluated, std::size_t feasible) override;
  void incoming(std::string_view queue, const std::string& event) override;
  void permitWait(Code code, Duration duration) override;
  void preemption(std::size_t victims) override;
  void cacheCorrected() override;

  // The exposition text, with gauges as they are now.
  std::string text(const Scheduler& scheduler);

 private:
  template <class T>
  using Family = prometheus::Family<T>;
  using Buckets = prometheus::Histogram::BucketBoundaries;

  Family<prometheus::Histogram>& histogram(const char* name, const char* help);
  Family<prometheus::Counter>& counter(const char* name, const char* help);
  Family<prometheus::Gauge>& gauge(const char* name, const char* help);

  prometheus::Registry registry_;
  Family<prometheus::Counter>& attempts_;
  Family<prometheus::Histogram>& attemptDuration_;
  prometheus::Histogram& algorithmDuration_;
  Family<prometheus::Histogram>& extensionDuration_;
  Family<prometheus::Histogram>& sli_;
  prometheus::Histogram& podAttempts_;
  prometheus::Histogram& evaluated_;
  prometheus::Histogram& feasible_;
  Family<prometheus::Counter>& incoming_;
  Family<prometheus::Histogram>& permitWait_;
  prometheus::Counter& preemptions_;
  prometheus::Histogram& victims_;
  prometheus::Counter& corrections_;
  Family<prometheus::Gauge>& pending_;
  Family<prometheus::Gauge>& cacheSize_;
  Family<prometheus::Gauge>& unschedulable_;
  Family<prometheus::Gauge>& goroutines_;
  std::map<std::string, std::size_t> known_;  // plugins that have an unschedulable_ gauge
};

}  // namespace koord::scheduler
