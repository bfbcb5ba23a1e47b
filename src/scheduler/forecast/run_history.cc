#include "scheduler/forecast/run_history.h"

#include <algorithm>
#include <cstdlib>

namespace koord::scheduler::forecast {

namespace {

constexpr std::int64_t kLongestRun = 10LL * 365 * 86'400;  // seconds; more is a mistake
// Members of a gang begin and end within so many seconds.
constexpr std::int64_t kTogether = 60;

std::int64_t secondsOf(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::uint32_t unitOf(const api::Pod& pod) {
  const std::string gang = gangOf(pod);
  const std::string name = gang.empty() ? pod.metadata.uid : pod.metadata.namespace_ + "/" + gang;
  return static_cast<std::uint32_t>(std::hash<std::string>{}(name));
}

// When the last container of an ended pod ended; nullopt if the status does not say it.
std::optional<WallTime> finishedAt(const api::Pod& pod) {
  std::optional<WallTime> last;
  for (const auto* statuses : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const auto& status : *statuses)
      if (status.state.terminated && status.state.terminated->finishedAt)
        last = std::max(last.value_or(WallTime::min()), *status.state.terminated->finishedAt);
  return last;
}

bool mayEnd(const api::Pod& pod) {
  return pod.spec.restartPolicy == "Never" || pod.spec.restartPolicy == "OnFailure";
}

}  // namespace

RunHistory::RunHistory(const Executor& clock) : clock_(clock), from_(secondsOf(clock.wallNow())) {}

void RunHistory::podChanging(const std::shared_ptr<const api::Pod>& before,
                             const std::shared_ptr<const api::Pod>& after) {
  const api::Pod& pod = after ? *after : *before;
  if (!mayEnd(pod)) return;
  const bool over = !after || api::isTerminal(*after);
  if (!over) {
    if (after->spec.nodeName.empty()) return;
    if (after->status.startTime) {
      if (!starting_.empty()) starting_.erase(after->metadata.uid);
    } else if (before && before->spec.nodeName.empty() && starting_.size() < kStarting) {
      starting_.emplace(after->metadata.uid, clock_.wallNow());
    }
    return;
  }
  if (before && api::isTerminal(*before)) return;
  const bool deleted =
      pod.metadata.deletionTimestamp || (before && before->metadata.deletionTimestamp);
  if (!deleted && before) ended(pod, after ? finishedAt(pod) : std::nullopt);
  if (!starting_.empty()) starting_.erase(pod.metadata.uid);
}

std::optional<WallTime> RunHistory::startOf(const api::Pod& pod) const {
  if (pod.status.startTime) return *pod.status.startTime;
  const auto found = starting_.find(pod.metadata.uid);
  if (found == starting_.end()) return std::nullopt;
  return found->second;
}

void RunHistory::ended(const api::Pod& pod, std::optional<WallTime> end) {
  if (pod.spec.nodeName.empty()) return;
  const auto start = startOf(pod);
  const auto workload = workloadOf(pod);
  if (!start || !workload) return;
  add(*workload, {secondsOf(*start), secondsOf(end.value_or(clock_.wallNow())), unitOf(pod)});
}

void RunHistory::learn(const api::Pod& pod) {
  if (!api::isTerminal(pod) || pod.metadata.deletionTimestamp || !pod.status.startTime) return;
  const auto end = finishedAt(pod);
  const auto workload = workloadOf(pod);
  if (!end || !workload) return;
  const Run run{secondsOf(*pod.status.startTime), secondsOf(*end), unitOf(pod)};
  if (run.end > secondsOf(clock_.wallNow()) + kTogether) return;
  // The API keeps the latest ended pods: older ends of this workload may be forgotten.
  const bool fresh = !entries_.contains(*workload);
  add(*workload, run);
  if (const auto found = entries_.find(*workload); found != entries_.end())
    found->second.from = fresh ? run.start : std::min(found->second.from, run.start);
}

void RunHistory::add(const Workload& workload, Run run) {
  if (run.end < run.start || run.end - run.start > kLongestRun) return;
  Entry& entry = entryOf(workload);
  const auto same = std::ranges::find_if(entry.runs, [&](const Run& other) {
    return other.unit == run.unit && std::abs(other.start - run.start) <= kTogether &&
           std::abs(other.end - run.end) <= kTogether;
  });
  if (same != entry.runs.end()) {
    same->end = std::max(same->end, run.end);
  } else if (entry.runs.size() < kRuns) {
    entry.runs.push_back(run);
  } else {
    Run& oldest = *std::ranges::min_element(entry.runs, {}, &Run::end);
    if (run.end < oldest.end) return;
    entry.from = std::max(entry.from, oldest.end);
    oldest = run;
  }
}

RunHistory::Entry& RunHistory::entryOf(const Workload& workload) {
  auto found = entries_.find(workload);
  if (found != entries_.end()) {
    uses_.splice(uses_.end(), uses_, found->second.use);
    return found->second;
  }
  if (entries_.size() >= kWorkloads) {
    entries_.erase(entries_.find(*uses_.front()));
    uses_.pop_front();
    from_ = std::max(from_, secondsOf(clock_.wallNow()));
  }
  found = entries_.try_emplace(workload).first;
  found->second.from = from_;
  found->second.use = uses_.insert(uses_.end(), &found->first);
  return found->second;
}

std::size_t RunHistory::runsOf(const Workload& workload) const {
  const auto found = entries_.find(workload);
  return found == entries_.end() ? 0 : found->second.runs.size();
}

RunModel RunHistory::modelOf(const Workload& workload, std::span<const WallTime> running,
                             WallTime now) const {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  std::vector<ObservedRun> runs;
  const auto add = [&](Seconds start, Seconds end, bool ended) {
    // Long before the window, unless it has just begun.
    const auto late = std::max<Seconds>(0, entry.from - start);
    runs.push_back({static_cast<double>(std::min(late, std::max<Seconds>(0, end - start))),
                    static_cast<double>(end - start), ended});
  };
  for (const Run& run : entry.runs) add(run.start, run.end, true);
  for (const WallTime start : running)
    if (start <= now) add(secondsOf(start), secondsOf(now), false);
  return RunModel(runs);
}

}  // namespace koord::scheduler::forecast
