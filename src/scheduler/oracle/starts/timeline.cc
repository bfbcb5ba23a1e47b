#include "scheduler/oracle/starts/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "model/well_known.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

namespace koord::scheduler::oracle {

namespace {

// After an end, a rejected pod is tried again within the longest backoff.
constexpr double kSettle = 12;  // seconds
// Longer than a pod waits in the queue without an event, which is five minutes.
constexpr double kLastWait = 330;
// Of the time between two ends.
constexpr double kStep = 60;  // seconds
constexpr double kMaxSteps = 50;
constexpr std::size_t kMaxEnded = 50;

Duration durationOf(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// What the scheduler does not keep of pods on nodes, and pods that wait need.
void takePlacement(api::Pod& pod, const json::value& spec) {
  const auto full = api::decode<api::Pod>(json::object{{"spec", spec}});
  if (!full) return;
  pod.spec.nodeSelector = full->spec.nodeSelector;
  pod.spec.tolerations = full->spec.tolerations;
  pod.spec.affinity = full->spec.affinity;
  pod.spec.topologySpreadConstraints = full->spec.topologySpreadConstraints;
}

}  // namespace

Timeline::Timeline(Course& course, SeamExecutor& executor, const StartsQuestion& question,
                   const RunTable& table, int number, std::set<std::string> asked)
    : course_(course),
      executor_(executor),
      scheduler_(course.scheduler()),
      question_(question),
      table_(table),
      number_(number),
      models_(table.modelsOf(number)),
      begun_(executor.steadyNow()),
      asked_(std::move(asked)),
      attempting_(scheduler_.hooks().attempting),
      decided_(scheduler_.hooks().decided) {
  scheduler_.hooks().attempting = [this](const PodInfo& pod, int attempt) {
    if (attempting_) attempting_(pod, attempt);
    uids_[pod.key()] = pod.uid();
  };
  scheduler_.hooks().decided = [this](const std::string& key, const Decision& decision) {
    if (decided_) decided_(key, decision);
    if (decision.result == "scheduled") return placed_.push_back(key);
    const auto uid = uids_.find(key);
    if (uid != uids_.end() && asked_.contains(uid->second))
      messages_[uid->second] = decision.message;
  };
  for (const auto& [uid, job] : question_.jobs) {
    const auto pods = table_.podsOfJobs().find(uid);
    if (pods != table_.podsOfJobs().end()) jobs_[uid] = {pods->second, job.succeeded};
  }
  for (std::size_t i = 0; i < table_.running().size(); ++i)
    expect(table_.running()[i], static_cast<int>(i), 0);
}

Timeline::~Timeline() {
  scheduler_.hooks().attempting = attempting_;
  scheduler_.hooks().decided = decided_;
}

double Timeline::now() const {
  return std::chrono::duration<double>(executor_.steadyNow() - begun_).count();
}

std::string Timeline::messageOf(const std::string& uid) const {
  const auto found = messages_.find(uid);
  return found == messages_.end() ? std::string() : found->second;
}

void Timeline::expect(const RunningPod& pod, int index, double begun) {
  if (pod.belongsToNode) return;
  const auto end = table_.endOf(pod, number_, models_);
  if (!end) {
    endless_.insert(pod.uid);
    return;
  }
  ends_.push({begun + end->in, ++made_, pod.uid, pod.job, pod.node, index, end->basis});
}

void Timeline::end(const End& end) {
  const auto* record = scheduler_.cluster().findPod(end.uid);
  if (!record) return;  // preempted
  const std::shared_ptr<const api::Pod> pod = record->info->pod;
  endedOn_[end.node].emplace_back(end.index, end.basis);
  course_.server().endPod(end.uid);
  lowerLoad(*pod, end.node);
  if (!end.job.empty() && end.basis != Basis::Deletion) replace(end.job, *pod);
}

// As the Job's controller does.
void Timeline::replace(const std::string& uid, const api::Pod& ended) {
  const KnownJob& job = question_.jobs.at(uid);
  JobState& state = jobs_[uid];
  --state.pods;
  ++state.succeeded;
  if (!job.completions) return;
  if (state.pods >= std::min(job.parallelism, *job.completions - state.succeeded)) return;
  if (job.deadline && executor_.wallNow() + durationOf(now()) >= *job.deadline) return;
  ++state.pods;
  auto next = std::make_shared<api::Pod>(ended);
  next->metadata.uid = fmt::format("simulated-next-{}", ++made_);
  next->metadata.name = fmt::format("{}-next-{}", ended.metadata.name, made_);
  next->metadata.creationTimestamp = executor_.wallNow();
  for (const std::string_view key : model::kGrantAnnotations)
    next->metadata.annotations.erase(std::string(key));
  next->spec.nodeName.clear();
  next->status = {};
  if (job.podSpec.is_object()) takePlacement(*next, job.podSpec);
  course_.server().createPod(std::move(next));
}

// The next report would not have the pod's usage.
void Timeline::lowerLoad(const api::Pod& pod, const std::string& node) {
  auto& reports = scheduler_.stores().of<LoadReport>();
  const auto last = reports.get({"", node});
  const LoadReport::PodUsage* usage = last ? last->of(pod.metadata) : nullptr;
  if (!usage || !last->node) return;
  auto report = std::make_shared<LoadReport>(*last);
  const auto lower = [&](api::ResourceList& list) {
    const auto subtract = [&](const char* resource, const Quantity& amount) {
      const auto found = list.find(resource);
      if (found == list.end()) return;
      found->second.sub(amount);
      if (found->second.sign() < 0) found->second = Quantity();
    };
    subtract("cpu", Quantity::ofMilli(usage->milliCpu));
    subtract("memory", Quantity::of(usage->memory));
  };
  lower(report->node->nodeUsage.resources);
  for (auto& aggregated : report->node->aggregatedNodeUsages)
    for (auto& [kind, map] : aggregated.usage) lower(map.resources);
  std::erase_if(report->pods, [&](const LoadReport::PodUsage& other) {
    return other.name == usage->name && other.namespace_ == usage->namespace_;
  });
  report->metadata.resourceVersion = fmt::format("simulated-load-{}", ++made_);
  reports.set(std::move(report));
}

void Timeline::noteStarts() {
  for (const std::string& key : std::exchange(placed_, {})) {
    const auto uid = uids_.find(key);
    const auto* record = uid == uids_.end() ? nullptr : scheduler_.cluster().findPod(uid->second);
    if (!record || record->info->kind) continue;
    const std::string node = scheduler_.cluster().node(record->node).name;
    expect(table_.begun(*record->info->pod, node, now()), -1, now());
    if (!asked_.erase(uid->second)) continue;
    Started start{.at = now(), .node = node};
    const auto& ended = endedOn_[node];
    for (auto it = ended.rbegin(); it != ended.rend() && start.ended.size() < kMaxEnded; ++it) {
      if (it->first >= 0) start.ended.push_back(it->first);
      if (it->second == Basis::Deadline) start.byDeadline = true;
    }
    started_.emplace(uid->second, std::move(start));
  }
}

void Timeline::settle(double seconds) {
  const SteadyTime limit = executor_.steadyNow() + durationOf(seconds);
  const auto done = [this] {
    if (course_.checkpoint) course_.checkpoint();
    if (!placed_.empty()) noteStarts();
    return isOver();
  };
  while (!executor_.runReady(done)) {
    const QueueCounts counts = scheduler_.queue().counts();
    if (counts.active + counts.backoff + counts.inFlight == 0 && seconds <= kSettle) return;
    if (!executor_.skipTo(limit)) return;
  }
}

void Timeline::play() {
  settle(kSettle);
  while (!isOver() && !ends_.empty()) {
    const double first = ends_.top().at;
    const double step = std::max(kStep, (first - now()) / kMaxSteps);
    while (!isOver() && now() < first) {
      executor_.moveTo(executor_.steadyNow() + durationOf(std::min(step, first - now() + 1e-6)));
      settle(0);
    }
    while (!ends_.empty() && ends_.top().at <= now()) {
      const End next = ends_.top();
      ends_.pop();
      end(next);
    }
    settle(ends_.empty() ? kSettle : std::clamp(ends_.top().at - now(), 0.0, kSettle));
    if (ends_.empty() && !isOver()) settle(kLastWait);
  }
}

}  // namespace koord::scheduler::oracle
