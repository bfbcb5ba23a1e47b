#pragma once

// The scheduler's Prometheus metrics, under kube-scheduler's names.

#include <memory>
#include <string>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

class Metrics final : public Observer {
 public:
  Metrics();
  ~Metrics() override;

  void attempt(std::string_view result, const std::string& profile, Duration took) override;
  void algorithm(Duration took) override;
  void extensionPoint(std::string_view point, Code code, const std::string& profile,
                      Duration took) override;
  void plugin(const std::string& plugin, std::string_view point, Code code, Duration took) override;
  void evaluated(const std::string& plugin, std::string_view point,
                 const std::string& profile) override;
  void bound(const QueuedPod& pod, Duration sinceFirstReady) override;
  void searched(std::size_t evaluated, std::size_t feasible) override;
  void incoming(std::string_view queue, const std::string& event) override;
  void handled(const ClusterEvent& event, Duration took) override;
  void hint(const std::string& plugin, const ClusterEvent& event, Hint hint,
            Duration took) override;
  void groupCycle(std::string_view reason, std::size_t pods, Duration took) override;
  void memberTried(Duration took) override;
  void nodeTried(Duration took) override;
  void groupReverted(bool permitted, std::size_t pods) override;
  void memberNotBound(std::string_view phase) override;
  void groupBound(std::size_t bound, std::size_t failed) override;
  void jobPreempted(const std::string& job, std::string_view result, Duration took) override;
  void groupGathered(Duration took) override;
  void permitWait(Code code, Duration took) override;
  void preemption(std::size_t victims) override;
  void evicted(bool good, Duration took) override;
  void pluginThrew(std::string_view plugin, std::string_view point) override;
  void volumesFailed(std::string_view stage) override;
  void timedOut(const std::string& profile) override;
  void cacheCorrected() override;
  void drifted(std::string_view ledger) override;

  // Resets all counts.
  void reset();
  // The exposition text, with gauges as they are now.
  std::string text(const Scheduler& scheduler);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::scheduler
