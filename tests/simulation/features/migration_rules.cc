// The invariants of migrated pods, whichever process dies.

#include <algorithm>

#include "api/selector.h"
#include "base/json.h"
#include "descheduler/migration/keys.h"
#include "simulation/features/migrations.h"

namespace koord::simulation {

using namespace std::chrono_literals;

namespace {

// As in kDescheduler in migrations.cc.
constexpr Duration kNoReturn = 3min;
constexpr std::size_t kMostPerNode = 1;
constexpr std::size_t kMostArriving = 1;
constexpr std::size_t kMostPerWorkload = 1;
// Jobs time out after a minute; then they must end, and remove what they created.
constexpr Duration kSoonOver = 60s + 30s;
// The time in which a change may be unknown to the descheduler.
constexpr Duration kUnknown = 2s;
constexpr Duration kPeace = 60s;

bool isOver(const api::PodMigrationJob& job) {
  const auto phase = job.status.phase.view();
  return phase == "Succeeded" || phase == "Failed" || phase == "Aborted";
}

bool isThrough(const api::PodMigrationJob& job) {
  return textOf(job.metadata.annotations,
                std::string(descheduler::kAnnotationPassedArbitration).c_str()) == "true";
}

bool isEvicting(const api::PodMigrationJob& job) {
  return std::ranges::any_of(job.status.conditions,
                             [](const auto& one) { return one.type == "Eviction"; });
}

// The answer to an eviction, which may be granted.
class EvictionAnswer final : public net::Responder {
 public:
  EvictionAnswer(std::shared_ptr<net::Responder> to, std::function<void()> granted)
      : to_(std::move(to)), granted_(std::move(granted)) {}
  void respond(int status, net::Headers headers, Bytes body) override {
    if (status / 100 == 2) granted_();
    to_->respond(status, std::move(headers), std::move(body));
  }
  void begin(int status, net::Headers headers) override { to_->begin(status, std::move(headers)); }
  void write(Bytes chunk) override { to_->write(std::move(chunk)); }
  void end() override { to_->end(); }
  std::size_t queuedBytes() const override { return to_->queuedBytes(); }
  void abort() override { to_->abort(); }
  void onClosed(Callback fn) override { to_->onClosed(std::move(fn)); }

 private:
  const std::shared_ptr<net::Responder> to_;
  const std::function<void()> granted_;
};

std::string said(const api::PodMigrationJob& job, std::string_view key) {
  return textOf(job.metadata.annotations, std::string(key).c_str());
}

}  // namespace

std::vector<MigrationsFeature::JobPtr> MigrationsFeature::sortedJobs() const {
  std::vector<JobPtr> all;
  for (const auto& job : jobs_.objects()) all.push_back(job);
  std::ranges::sort(all, {}, [](const auto& job) { return job->metadata.name; });
  return all;
}

void MigrationsFeature::jobChanged(const JobPtr& before, const JobPtr& after) {
  invariants_.touched();
  const std::string& name = after->metadata.name;
  Known& known = known_[after->metadata.uid];
  if (!before) {
    lastJobMade_ = known.since = loop_.steadyNow();
    journal_.note("job {} is about {}", name, after->spec.podRef.name);
  }
  known.workload = said(*after, descheduler::kAnnotationWorkload);
  known.from = said(*after, descheduler::kAnnotationFromNode);
  if (!before || before->status.phase != after->status.phase)
    journal_.note("job {} is {}{} {}", name, after->status.phase.view(),
                  isThrough(*after) ? ", through" : "", after->status.message);
  if (before && isOver(*before) && before->status.phase != after->status.phase)
    journal_.violated("over is over", "job {} was {} and is {}", name, before->status.phase.view(),
                      after->status.phase.view());
  if (isOver(*after) && !known.over) {
    known.over = loop_.steadyNow();
    known.moved = after->status.phase == "Succeeded";
  }
  if (!before) checkReturn(*after);
  checkLimits();
}

void MigrationsFeature::checkLimits() {
  std::map<std::string, std::size_t> nodes, workloads, targets;
  for (const JobPtr& job : sortedJobs()) {
    if (isOver(*job) || !isThrough(*job) || job->metadata.deletionTimestamp) continue;
    const std::string& to = job->status.nodeName;
    if (!to.empty() && isEvicting(*job) && ++targets[to] > kMostArriving)
      journal_.violated("limits", "{} pods are on their way to {} at a time, {} of {} too",
                        targets[to], to, job->spec.podRef.name, job->metadata.name);
    const PodObject pod =
        invariants_.pods.get({job->spec.podRef.namespace_, job->spec.podRef.name});
    if (!pod || pod->metadata.uid != job->spec.podRef.uid) continue;  // it has left
    const std::string& from = pod->spec.nodeName;
    const std::string workload = said(*job, descheduler::kAnnotationWorkload);
    if (!from.empty() && ++nodes[from] > kMostPerNode)
      journal_.violated("limits", "{} pods move off {} at a time, {} of {} too", nodes[from], from,
                        job->spec.podRef.name, job->metadata.name);
    if (!workload.empty() && ++workloads[workload] > kMostPerWorkload)
      journal_.violated("limits", "{} pods of a workload move at a time, {} of {} too",
                        workloads[workload], job->spec.podRef.name, job->metadata.name);
  }
}

// Checks whether the pod goes to a node that its workload has just left.
void MigrationsFeature::checkReturn(const Job& job) {
  const std::string planned = said(job, descheduler::kAnnotationPlannedNode);
  const std::string workload = said(job, descheduler::kAnnotationWorkload);
  if (planned.empty() || workload.empty()) return;
  for (const auto& [uid, known] : known_)
    if (known.moved && known.workload == workload && known.from == planned && known.over &&
        loop_.steadyNow() - *known.over < kNoReturn)
      journal_.violated("no way back", "{} is to go to {}, which its workload left",
                        job.spec.podRef.name, planned);
}

// --- Evictions, as they reach the server.

MigrationsFeature::ResponderPtr MigrationsFeature::asked(const net::ServerRequest& request,
                                                         ResponderPtr to) {
  const std::string_view target = request.target;
  constexpr std::string_view kNamespaces = "/api/v1/namespaces/";
  const auto pods = target.find("/pods/");
  if (!target.starts_with(kNamespaces) || pods == std::string_view::npos) return to;
  std::string_view name = target.substr(pods + 6);
  name = name.substr(0, name.find('?'));
  if (request.method == "DELETE")
    journal_.violated("budgets", "the descheduler deletes {} instead of evicting it", name);
  if (request.method != "POST" || !name.ends_with("/eviction")) return to;
  name.remove_suffix(std::string_view("/eviction").size());
  const std::string_view space = target.substr(kNamespaces.size(), pods - kNamespaces.size());
  const auto body = parseJson(request.body);
  std::string uid = body ? std::string(textAt(*body, "deleteOptions", "preconditions", "uid")) : "";
  evicting({std::string(space), std::string(name)}, uid);
  return std::make_shared<EvictionAnswer>(std::move(to),
                                          [this, uid = std::move(uid)] { granted_.insert(uid); });
}

void MigrationsFeature::evicting(const api::ObjectKey& key, const std::string& uid) {
  journal_.note("pod {} is to be evicted", key.name);
  if (uid.empty())
    return journal_.violated("evictions", "{} is evicted whoever it is by now", key.name);
  lastAsked_[uid] = loop_.steadyNow();
  const PodObject pod = invariants_.pods.get(key);
  if (!pod || pod->metadata.uid != uid) return;  // refused
  JobPtr own;
  for (const JobPtr& job : sortedJobs())
    if (!isOver(*job) && job->status.phase == "Running" &&
        (job->spec.podRef.uid.empty()
             ? job->spec.podRef.name == key.name && job->spec.podRef.namespace_ == key.namespace_
             : job->spec.podRef.uid == uid))
      own = job;
  if (!own) return journal_.violated("evictions", "no job says that {} is to move", key.name);
  const auto [first, isFirst] = evicted_.emplace(uid, own->metadata.uid);
  if (first->second != own->metadata.uid && pod->metadata.deletionTimestamp)
    journal_.violated("evicted once", "{} is evicted again, for {}", key.name, own->metadata.name);
  if (!pod->metadata.deletionTimestamp) first->second = own->metadata.uid;
  if (own->spec.mode == "ReservationFirst") checkRoom(*own, *pod);
}

// Resources are reserved for the replacement pod.
void MigrationsFeature::checkRoom(const Job& job, const api::Pod& pod) {
  const auto& options = job.spec.reservationOptions;
  const std::string name =
      options && options->reservationRef ? options->reservationRef->name : std::string();
  const auto changed = roomChanged_.find(name);
  if (changed != roomChanged_.end() && loop_.steadyNow() - changed->second < kUnknown) return;
  const auto room = reservations_.get({"", name});
  if (!room || room->status.nodeName.empty() || room->status.phase != "Available")
    return journal_.violated("a place first", "{} is evicted for {}, but \"{}\" holds nothing",
                             pod.metadata.name, job.metadata.name, name);
  if (room->status.nodeName == pod.spec.nodeName)
    journal_.violated("a place first", "{} is to come back to {}", pod.metadata.name,
                      pod.spec.nodeName);
}

// --- Budgets.

void MigrationsFeature::podChanged(const PodObject& before, const PodObject& after) {
  const auto runs = [](const PodObject& pod) {
    return pod && pod->status.phase == "Running" && !pod->metadata.deletionTimestamp;
  };
  if (!runs(before) || runs(after)) return;
  losses_.push_back({loop_.steadyNow(), before});
  // Budgets do not stop preemptions.
  if (wasPreempted(after ? *after : *before)) return;
  const std::string& uid = before->metadata.uid;
  const auto asked = lastAsked_.find(uid);
  if (asked == lastAsked_.end() || loop_.steadyNow() - asked->second >= 1s) return;
  // The server answers at this instant. If it refuses, a controller has deleted the pod.
  if (std::string problem = brokenBudgets(*before); !problem.empty())
    loop_.runAfter(1ms, [this, uid, problem = std::move(problem)] {
      if (granted_.contains(uid)) journal_.violated("budgets", "{}", problem);
    });
}

// The budgets are counted every second, and do not include pods that left since.
std::string MigrationsFeature::brokenBudgets(const api::Pod& pod) {
  const SteadyTime now = loop_.steadyNow();
  std::erase_if(losses_, [&](const Loss& loss) { return now - loss.time > kUnknown; });
  for (const auto& budget : invariants_.budgets.objects()) {
    const auto selector = api::Selector::compile(budget->spec.selector);
    const auto covers = [&](const api::Pod& one) {
      return one.metadata.namespace_ == budget->metadata.namespace_ &&
             selector->matches(one.metadata.labels);
    };
    if (!covers(pod)) continue;
    std::int64_t healthy = 0;
    for (const auto& other : invariants_.pods.objects())
      healthy += other->metadata.uid != pod.metadata.uid && covers(*other) &&
                 other->status.phase == "Running" && !other->metadata.deletionTimestamp;
    for (const Loss& loss : losses_)
      healthy += loss.pod->metadata.uid != pod.metadata.uid && covers(*loss.pod);
    if (healthy < budget->spec.minAvailable->number)
      return fmt::format("{} leaves {} of {} of budget {}", pod.metadata.name, healthy,
                         budget->spec.minAvailable->number, budget->metadata.name);
  }
  return {};
}

// --- When all is quiet.

std::string MigrationsFeature::differences(scheduler::Handle&, const Model&) {
  const SteadyTime now = loop_.steadyNow();
  for (const JobPtr& job : sortedJobs()) {
    if (isOver(*job)) continue;
    // It may have been impossible before: without a leader, or with a network that loses its
    // writes.
    if (now - std::max(known_.at(job->metadata.uid).since, quietSince_) > kSoonOver + 30s)
      journal_.violated("jobs end", "{} is {}: {}", job->metadata.name, job->status.phase.view(),
                        job->status.message);
    return "job " + job->metadata.name + " is not over";
  }
  for (const auto& room : reservations_.objects())
    if (textOf(room->metadata.labels, std::string(descheduler::kLabelCreatedBy).c_str()) ==
            descheduler::kCreatedBy &&
        room->status.phase != "Succeeded" && room->status.phase != "Failed")
      return "room is held by " + room->metadata.name;
  if (now - lastJobMade_ < kPeace) return "pods are being moved";
  for (const SetPtr& set : sortedSets())
    if (podsOf(*set).size() != static_cast<std::size_t>(set->spec.replicas.value_or(1)))
      return "pods of " + set->metadata.name + " are missing";
  return "";
}

}  // namespace koord::simulation
