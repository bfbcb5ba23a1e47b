#pragma once

// RunHistory: the last run times of the workloads, learned from pods that end.
//
// A pod has ended by itself if the API shows it as Succeeded or Failed, or if it is gone and was
// not being deleted: the scheduler follows pods that have not ended, so the API reports an end as a
// deletion. Pods that were deleted, evicted or preempted say nothing about how long they would have
// run. A run begins at status.startTime, else when the scheduler saw the pod get its node.
//
// Bounds: the kWorkloads workloads that ended a pod last, kRuns runs each: at most 7 MiB and 100
// bytes for each running pod whose status has no startTime yet. A pod event costs a look at the
// pod's policy, and an end one look-up (bench_forecast).
//
// After a restart it is empty; learn() takes the pods that the API still has of earlier runs.
//
// Members of a gang begin and end together: they are one run. An end that is reported twice, by two
// schedulers of one process or by a list, is one run, too.
//
// On the scheduler's thread. Times are wall times of the API: clocks may differ and go backwards;
// runs that would end before they began are ignored.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "scheduler/forecast/run_model.h"
#include "scheduler/forecast/workload.h"

namespace koord::scheduler::forecast {

class RunHistory {
 public:
  static constexpr std::size_t kWorkloads = 4'096;
  static constexpr std::size_t kRuns = 64;
  static constexpr std::size_t kStarting = 200'000;

  explicit RunHistory(const Executor& clock);

  // A change of a pod, before it is counted (Scheduler::Hooks::podChanging).
  void podChanging(const std::shared_ptr<const api::Pod>& before,
                   const std::shared_ptr<const api::Pod>& after);
  // A pod that ended before this process looked; others are ignored. Any order.
  void learn(const api::Pod& ended);

  // When the run of a pod on a node began; nullopt: that is not known.
  std::optional<WallTime> startOf(const api::Pod& pod) const;

  // The pods that run now, as (start) times, must be given for an estimate without bias.
  RunModel modelOf(const Workload& workload, std::span<const WallTime> running, WallTime now) const;

  std::size_t workloads() const { return entries_.size(); }
  std::size_t runsOf(const Workload& workload) const;
  std::size_t starting() const { return starting_.size(); }

 private:
  using Seconds = std::int64_t;  // since the epoch
  struct Run {
    Seconds start = 0;
    Seconds end = 0;
    std::uint32_t unit = 0;  // hash of the gang, else of the pod
  };
  struct Entry {
    std::vector<Run> runs;
    Seconds from = 0;  // all ends since then are in `runs`
    std::list<const Workload*>::iterator use;
  };
  void ended(const api::Pod& pod, std::optional<WallTime> end);
  void add(const Workload& workload, Run run);
  Entry& entryOf(const Workload& workload);

  const Executor& clock_;
  Seconds from_;  // ends since then were seen, of all workloads
  std::map<Workload, Entry> entries_;
  std::list<const Workload*> uses_;                     // the least recent first
  std::unordered_map<std::string, WallTime> starting_;  // by uid, without a startTime
};

}  // namespace koord::scheduler::forecast
