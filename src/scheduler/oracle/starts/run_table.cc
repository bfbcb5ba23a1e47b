#include "scheduler/oracle/starts/run_table.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "model/well_known.h"

namespace koord::scheduler::oracle {

namespace {

double secondsBetween(WallTime from, WallTime to) {
  return std::chrono::duration<double>(to - from).count();
}

// Not std::hash: the same on every host.
std::uint64_t hashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t unitOf(const api::Pod& pod) {
  const std::string gang = forecast::gangOf(pod);
  if (gang.empty()) return hashOf(pod.metadata.uid);
  return hashOf(pod.metadata.namespace_ + "/" + gang);
}

// Of [0, 1).
double drawOf(std::uint64_t unit, int course) {
  Random random(unit);
  const std::uint64_t step = 1 + random.below(kCourses - 1);
  const std::uint64_t first = random.below(kCourses);
  const auto stratum = (static_cast<std::uint64_t>(course) * step + first) % kCourses;
  Random within(random.next() + static_cast<std::uint64_t>(course));
  return (static_cast<double>(stratum) + within.unit()) / kCourses;
}

}  // namespace

RunTable::RunTable(const Scheduler& scheduler, const forecast::RunHistory* history,
                   const StartsQuestion& question, WallTime now)
    : question_(question), now_(now) {
  std::map<forecast::Workload, std::vector<WallTime>> starts;
  const auto count = [&](const api::Pod& pod) {
    const auto* owner = api::controllerOf(pod.metadata);
    if (owner && question_.jobs.contains(owner->uid)) ++podsOfJobs_[owner->uid];
  };
  const auto note = [&](const api::Pod& pod, bool runs) {
    if (!history) return;
    const auto workload = forecast::workloadOf(pod);
    if (!workload) return;
    auto& times = starts[*workload];
    if (const auto start = runs ? history->startOf(pod) : std::nullopt) times.push_back(*start);
  };
  const Cluster& cluster = scheduler.cluster();
  std::vector<const Cluster::PodRecord*> records;
  for (const auto& record : cluster.pods())
    if (!record.info->kind) records.push_back(&record);
  for (const auto* record : records) {
    note(*record->info->pod, true);
    count(*record->info->pod);
  }
  for (const auto& [uid, pod] : scheduler.pendingPods()) {
    if (pod->kind || cluster.findPod(uid)) continue;
    note(*pod->pod, false);
    count(*pod->pod);
  }
  for (auto& [workload, times] : starts) {
    index_.emplace(workload, static_cast<int>(workloads_.size()));
    workloads_.push_back({workload, history->modelOf(workload, times, now)});
  }
  for (const auto* record : records) {
    RunningPod pod = describe(*record->info->pod, cluster.node(record->node).name);
    if (const auto start = history ? history->startOf(*record->info->pod) : std::nullopt)
      pod.elapsed = std::max(0.0, secondsBetween(*start, now));
    running_.push_back(std::move(pod));
  }
  std::ranges::sort(running_, [](const RunningPod& a, const RunningPod& b) {
    return std::tie(a.key, a.uid) < std::tie(b.key, b.uid);
  });
}

int RunTable::indexOf(const forecast::Workload& workload) const {
  const auto found = index_.find(workload);
  return found == index_.end() ? -1 : found->second;
}

RunningPod RunTable::describe(const api::Pod& pod, std::string node) const {
  RunningPod out{.key = api::keyOf(pod.metadata),
                 .uid = pod.metadata.uid,
                 .node = std::move(node),
                 .job = "",
                 .unit = unitOf(pod)};
  const auto limit = [&](double seconds) {
    out.limit = std::max(0.0, std::min(seconds, out.limit.value_or(seconds)));
  };
  const auto* owner = api::controllerOf(pod.metadata);
  out.belongsToNode = (owner && owner->kind == "DaemonSet") ||
                      pod.metadata.annotations.contains(model::kAnnotationMirrorPod);
  if (owner && question_.jobs.contains(owner->uid)) {
    out.job = owner->uid;
    if (const auto deadline = question_.jobs.at(owner->uid).deadline)
      limit(secondsBetween(now_, *deadline));
  }
  if (const auto seconds = pod.spec.activeDeadlineSeconds; seconds && *seconds >= 0) {
    const WallTime start = pod.status.startTime ? *pod.status.startTime : now_;
    limit(static_cast<double>(*seconds) - secondsBetween(start, now_));
  }
  if (pod.metadata.deletionTimestamp) {
    out.isLeaving = true;
    limit(secondsBetween(now_, *pod.metadata.deletionTimestamp));
  }
  if (const auto workload = forecast::workloadOf(pod)) out.workload = indexOf(*workload);
  return out;
}

RunningPod RunTable::begun(const api::Pod& pod, std::string node, double at) const {
  RunningPod out = describe(pod, std::move(node));
  const auto* owner = api::controllerOf(pod.metadata);
  // describe() counts limits from now; those of the Job stay where they are.
  out.limit.reset();
  if (const auto seconds = pod.spec.activeDeadlineSeconds; seconds && *seconds >= 0)
    out.limit = static_cast<double>(*seconds);
  if (!out.job.empty())
    if (const auto deadline = question_.jobs.at(owner->uid).deadline) {
      const double left = std::max(0.0, secondsBetween(now_, *deadline) - at);
      out.limit = std::min(left, out.limit.value_or(left));
    }
  return out;
}

std::vector<forecast::RunModel> RunTable::modelsOf(int course) const {
  std::vector<forecast::RunModel> models;
  models.reserve(workloads_.size());
  for (const KnownWorkload& known : workloads_) {
    Random random(hashOf(known.workload.text()) + static_cast<std::uint64_t>(course));
    models.push_back(known.model.variant(random));
  }
  return models;
}

std::optional<RunTable::End> RunTable::endOf(const RunningPod& pod, int course,
                                             const std::vector<forecast::RunModel>& models) const {
  if (pod.isLeaving) return End{*pod.limit, Basis::Deletion};
  const forecast::RunModel* model =
      pod.workload < 0 ? nullptr : &models[static_cast<std::size_t>(pod.workload)];
  if (model && model->isKnown()) {
    const double end = model->endAt(pod.elapsed, drawOf(pod.unit, course)) - pod.elapsed;
    if (!pod.limit || end <= *pod.limit) return End{end, Basis::Runs};
    return End{*pod.limit, Basis::Runs};
  }
  if (pod.limit) return End{*pod.limit, Basis::Deadline};
  return std::nullopt;
}

}  // namespace koord::scheduler::oracle
