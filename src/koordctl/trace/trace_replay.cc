#include "koordctl/trace/trace_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "koordctl/trace/cluster_state.h"
#include "koordctl/trace/trace_cluster.h"

namespace koord::koordctl {

namespace {

constexpr std::int64_t kLongest = 100'000;  // virtual seconds of a replay

// The state of one replay. Times are seconds of the trace, from its first arrival on.
class Replay {
 public:
  Replay(ScheduledCluster& cluster, const std::vector<TraceNode>& nodes,
         const std::vector<TraceTask>& tasks, const TraceOptions& options)
      : cluster_(cluster),
        tasks_(tasks),
        state_(cluster.scheduler(), nodes, tasks),
        loadPercent_(std::max<std::int64_t>(options.loadPercent, 1)) {
    for (std::size_t n = 0; n < tasks.size(); ++n) order_.push_back(n);
    std::ranges::stable_sort(order_, {}, [&](std::size_t n) { return tasks[n].arrival; });
    now_ = first_ = order_.empty() ? 0 : tasks[order_.front()].arrival;
    for (const std::size_t n : order_)
      last_ = std::max(last_, arrivalOf(n) + tasks[n].duration.value_or(0));
    scale_ = options.scale > 0 ? options.scale : 1 + (last_ - first_) / kLongest;
    step_ = std::max<std::int64_t>(
        1, (last_ - first_) / static_cast<std::int64_t>(std::max<std::size_t>(options.samples, 2)));
    cluster_.onPlaced = [this](const std::string& name) { placed(name); };
    cluster_.onPreempted = [this](const std::string& name) { preempted(name); };
  }

  ReplayReport run() {
    std::int64_t sampleAt = first_;
    std::size_t next = 0;
    while (next < order_.size() || !ends_.empty()) {
      std::int64_t at = sampleAt;
      if (next < order_.size()) at = std::min(at, arrivalOf(order_[next]));
      if (!ends_.empty()) at = std::min(at, ends_.top().first);
      moveTo(at);
      while (!ends_.empty() && ends_.top().first <= now_) endFirst();
      while (next < order_.size() && arrivalOf(order_[next]) <= now_) arrive(order_[next++]);
      cluster_.advance({});
      restart();
      if (now_ < sampleAt) continue;
      sample();
      sampleAt = now_ + step_;
    }
    sample();
    return finish();
  }

 private:
  struct Run {
    std::size_t task = 0;
    std::int64_t since = 0;  // of waiting
    int attempt = 0;         // rises with every preemption
  };
  using End = std::pair<std::int64_t, std::string>;

  std::int64_t arrivalOf(std::size_t task) const {
    return first_ + (tasks_[task].arrival - first_) * 100 / loadPercent_;
  }

  void moveTo(std::int64_t time) {
    if (time <= now_) return;
    const auto span = std::chrono::milliseconds((time - now_) * 1000 / scale_);
    now_ = time;
    cluster_.advance(span);
  }

  void arrive(std::size_t task, int attempt = 0) {
    const std::string name = attempt == 0 ? fmt::format("task-{}", task)
                                          : fmt::format("task-{}-again-{}", task, attempt);
    runs_.emplace(name, Run{task, now_, attempt});
    addTask(cluster_, tasks_[task], name);
  }

  void placed(const std::string& name) {
    const Run& run = runs_.at(name);
    const TraceTask& task = tasks_[run.task];
    waits_.push_back(static_cast<double>(now_ - run.since));
    if (run.attempt == 0) ++report_.placed;
    if (task.duration) ends_.emplace(now_ + *task.duration, name);
  }

  void preempted(const std::string& name) {
    const auto run = runs_.extract(name);
    if (run.empty()) return;
    ++report_.preemptions;
    again_.push_back(run.mapped());
  }

  void endFirst() {
    const std::string name = ends_.top().second;
    ends_.pop();
    if (runs_.erase(name) > 0) cluster_.remove(name);
  }

  void restart() {
    if (again_.empty()) return;
    for (const Run& run : std::exchange(again_, {})) arrive(run.task, run.attempt + 1);
    cluster_.advance({});
  }

  void sample() {
    const TraceState::Shares shares = state_.measure();
    report_.points.push_back({now_, shares.gpu, shares.cpu, shares.fragmentation,
                              cluster_.waiting(), report_.preemptions});
  }

  ReplayReport finish() {
    report_.tasks = tasks_.size();
    const auto count = static_cast<double>(report_.points.size());
    for (const ReplayPoint& point : report_.points) {
      report_.gpuMean += point.gpuAllocated / count;
      report_.cpuMean += point.cpuAllocated / count;
      report_.fragmentationMean += point.fragmentation / count;
    }
    if (waits_.empty()) return std::move(report_);
    std::ranges::sort(waits_);
    for (const double wait : waits_) report_.waitMean += wait / static_cast<double>(waits_.size());
    report_.waitMedian = waits_[waits_.size() / 2];
    report_.waitP99 = waits_[waits_.size() * 99 / 100];
    return std::move(report_);
  }

  ScheduledCluster& cluster_;
  const std::vector<TraceTask>& tasks_;
  TraceState state_;
  const std::int64_t loadPercent_;
  std::vector<std::size_t> order_;
  std::int64_t first_ = 0, last_ = 0, now_ = 0, scale_ = 1, step_ = 1;
  std::unordered_map<std::string, Run> runs_;  // by name of the pod
  std::vector<Run> again_;                     // preempted, to arrive again
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<double> waits_;
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> replayTrace(const std::string& name,
                                 const scheduler::SchedulerConfiguration& configuration,
                                 const std::vector<TraceNode>& nodes,
                                 const std::vector<TraceTask>& tasks, const TraceOptions& options) {
  auto cluster = traceCluster(configuration, nodes, options.seed);
  if (!cluster) return fail(cluster.error());
  ReplayReport report = Replay(**cluster, nodes, tasks, options).run();
  report.name = name;
  return report;
}

}  // namespace koord::koordctl
