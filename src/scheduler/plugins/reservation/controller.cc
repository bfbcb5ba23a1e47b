#include "scheduler/plugins/reservation/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/conditions.h"
#include "scheduler/plugins/reservation/problems.h"
#include "scheduler/plugins/reservation/reserve_pod.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

// The wall clock may jump, so a wait for a time of day checks again after this duration.
constexpr Duration kLongestWait = std::chrono::seconds(15);

json::object amountsPatch(const api::ResourceList& before, const api::ResourceList& after) {
  json::object patch;
  for (const auto& [name, amount] : before)
    if (!after.contains(name)) patch[name] = nullptr;
  for (const auto& [name, amount] : after) patch[name] = amount.toString();
  return patch;
}

// Returns true if the reservation has expired by itself, not because of its owners.
bool overAt(const std::optional<WallTime>& end, WallTime now) {
  return end && now > *end;
}

}  // namespace

Result<std::optional<WallTime>> endOf(const api::Reservation& reservation) {
  std::optional<Duration> ttl;
  if (reservation.spec.ttl) {
    auto read = parseDuration(*reservation.spec.ttl);
    if (!read) return fail(Error(std::move(read.error())).within("spec.ttl"));
    ttl = *read;
  }
  if (ttl == Duration::zero()) return std::optional<WallTime>();
  if (reservation.spec.expires) {
    auto at = parseTime(*reservation.spec.expires);
    if (!at) return fail(Error(std::move(at.error())).within("spec.expires"));
    return std::optional<WallTime>(*at);
  }
  if (!ttl || !reservation.metadata.creationTimestamp) return std::optional<WallTime>();
  const WallTime created = *reservation.metadata.creationTimestamp;
  // Later than the last representable time: never.
  if (*ttl > WallTime::max() - created) return std::optional<WallTime>();
  return std::optional<WallTime>(created + *ttl);
}

std::optional<json::object> usedStatus(const Cluster& cluster, const ReservationEntry& entry,
                                       const api::Reservation& reservation, WallTime now) {
  api::ReservationStatus status;
  for (const auto& [uid, owner] : entry.use->pods) {
    const Cluster::PodRecord* record = cluster.findPod(uid);
    if (!record || record->assumed || record->node != entry.node) continue;
    const api::Pod& pod = *record->info->pod;
    api::ObjectReference& reference = status.currentOwners.emplace_back();
    reference.namespace_ = pod.metadata.namespace_;
    reference.name = pod.metadata.name;
    reference.uid = uid;
    for (const auto& [name, amount] : model::podRequests(pod))
      if (reservation.status.allocatable.contains(name)) status.allocated[name].add(amount);
  }
  const bool same = status.currentOwners == reservation.status.currentOwners &&
                    status.allocated == reservation.status.allocated;
  const bool consumed = entry.allocateOnce && !status.currentOwners.empty();
  const bool ready = reservation.status.phase == "Waiting";  // from an earlier version
  if (same && !consumed && !ready) return std::nullopt;
  json::object written = consumed ? consumedStatus(reservation, now)
                         : ready  ? readyStatus(reservation, now)
                                  : json::object();
  json::value encoded = api::encode(status);
  const auto* owners = find(encoded, "currentOwners");
  written["currentOwners"] = owners ? *owners : json::value(json::array());
  written["allocated"] = amountsPatch(reservation.status.allocated, status.allocated);
  return written;
}

ReservationController::ReservationController(Handle& handle, ReservationIndex& index,
                                             const ReservationArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      executor_(handle.executor()),
      index_(index),
      args_(args),
      queue_(
          executor_, "reservation", [this](std::string uid) { return sync(std::move(uid)); },
          static_cast<std::size_t>(args_.controllerWorkers)) {}

ReservationController::~ReservationController() {
  index_.onChange = nullptr;
  executor_.cancel(timer_);
}

void ReservationController::enqueue(const std::string& uid) {
  queue_.add(uid);
}

Task<void> ReservationController::run() {
  index_.onChange = [this](const std::string& uid) { enqueue(uid); };
  for (const auto& [name, entry] : index_.all())
    if (!entry->operating) enqueue(entry->uid());
  queue_.start();
  for (;;) {
    auto pause = sleepFor(executor_, args_.gcInterval);
    co_await pause;
    if (args_.disableGarbageCollection) continue;
    auto collecting = collectGarbage();
    co_await collecting;
  }
}

bool ReservationController::lostNode(const api::Reservation& reservation) const {
  if (reservation.status.nodeName.empty()) return false;
  const auto node = cluster_.findNode(reservation.status.nodeName);
  return !node || !cluster_.live().contains(*node);
}

// Reports all problems at once, and again only if they change.
void ReservationController::reportProblems(const ReservationEntry& entry) {
  std::vector<std::string> problems;
  if (!entry.operating) problems = problemsOf(*entry.object);
  for (const std::string* problem : {&entry.ownersError, &entry.error})
    if (!problem->empty()) problems.push_back(*problem);
  std::string& reported = reported_[entry.uid()];
  std::string what = fmt::format("{}", fmt::join(problems, "; "));
  if (reported == what) return;
  reported = std::move(what);
  if (reported.empty()) return;
  log::warn("reservation {}: {}", entry.name(), reported);
  if (handle_.events()) {
    const auto& type = entry.operating ? api::Pod::kType : api::Reservation::kType;
    handle_.events()->record(kube::referenceTo(type, entry.object->metadata), "Warning",
                             "InvalidReservation", reported, "Scheduling");
  }
}

Task<Result<>> ReservationController::sync(std::string uid) {
  const ReservationPtr entry = index_.find(uid);
  if (entry && entry->operating) {  // there is no status to write
    reportProblems(*entry);
    co_return Result<>{};
  }
  if (!entry || isReservationTerminal(*entry->object)) {
    expectEnd(uid, std::nullopt);
    reported_.erase(uid);
    if (entry || !handle_.enabled("CleanExpiredReservationAllocated")) co_return Result<>{};
    auto releasing = release(uid);
    Result<> released = co_await releasing;
    co_return released;
  }
  const auto over = endOf(*entry->object);
  reportProblems(*entry);
  if (lostNode(*entry->object) || (over && overAt(*over, executor_.wallNow()))) {
    expectEnd(uid, std::nullopt);
    auto ending = end(entry);
    Result<> ended = co_await ending;
    co_return ended;
  }
  expectEnd(uid, over ? *over : std::nullopt);
  if (!entry->error.empty()) {
    auto telling = reportInvalid(entry);
    Result<> reported = co_await telling;
    co_return reported;
  }
  if (!entry->available || !usedStatus(cluster_, *entry, *entry->object, executor_.wallNow()))
    co_return Result<>{};
  ReservationKind::Change change =
      [this, uid](const api::Reservation& reservation) -> Result<std::optional<json::object>> {
    const ReservationPtr now = index_.find(uid);
    if (!now || !isReservationActive(reservation)) return std::optional<json::object>();
    return usedStatus(cluster_, *now, reservation, executor_.wallNow());
  };
  auto changing = index_.kind().changeStatus(entry->name(), uid, std::move(change));
  Result<> changed = co_await changing;
  if (!changed && changed.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return changed;
}

Task<Result<>> ReservationController::release(std::string uid) {
  const ReservationUse* use = index_.ledger().find(uid);
  if (!use || !handle_.api()) co_return Result<>{};
  std::vector<PodPtr> pods;
  for (const auto& [pod, owner] : use->pods)
    if (const Cluster::PodRecord* record = cluster_.findPod(pod); record && !record->assumed)
      pods.push_back(record->info);
  for (const PodPtr& pod : pods) {
    json::object annotations;
    annotations[json::string(model::kAnnotationReservationAllocated)] = nullptr;
    json::object metadata{{"uid", pod->uid()}, {"annotations", std::move(annotations)}};
    auto patching =
        kube::mergePatch(*handle_.api(), api::Pod::kType, api::keyOf(pod->pod->metadata),
                         json::object{{"metadata", std::move(metadata)}});
    const Result<json::value> patched = co_await patching;
    if (!patched && patched.error().code != ErrorCode::NotFound &&
        patched.error().code != ErrorCode::Conflict)
      co_return fail(Error(patched.error()));
  }
  co_return Result<>{};
}

// Called when it has expired or its node is gone.
Task<Result<>> ReservationController::end(ReservationPtr entry) {
  ReservationKind::Change change =
      [this](const api::Reservation& reservation) -> Result<std::optional<json::object>> {
    if (isReservationTerminal(reservation)) return std::optional<json::object>();
    const auto over = endOf(reservation);
    if (!lostNode(reservation) && !(over && overAt(*over, executor_.wallNow())))
      return std::optional<json::object>();
    return std::optional<json::object>(expiredStatus(reservation, executor_.wallNow()));
  };
  auto changing = index_.kind().changeStatus(entry->name(), entry->uid(), std::move(change));
  Result<> changed = co_await changing;
  if (!changed && changed.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return changed;
}

// It is never tried, so nothing else reports the reason.
Task<Result<>> ReservationController::reportInvalid(ReservationPtr entry) {
  ReservationKind::Change change =
      [this, error = entry->error](
          const api::Reservation& reservation) -> Result<std::optional<json::object>> {
    if (isReservationTerminal(reservation)) return std::optional<json::object>();
    return unscheduledStatus(reservation, error, executor_.wallNow());
  };
  auto changing = index_.kind().changeStatus(entry->name(), entry->uid(), std::move(change));
  Result<> changed = co_await changing;
  if (!changed && changed.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return changed;
}

void ReservationController::expectEnd(const std::string& uid, std::optional<WallTime> at) {
  if (const auto known = endOf_.find(uid); known != endOf_.end()) {
    if (at == known->second) return;
    ends_.erase({known->second, uid});
    endOf_.erase(known);
  }
  if (!at) return;
  endOf_[uid] = *at;
  ends_.emplace(*at, uid);
  if (ends_.begin()->second == uid) arm();
}

void ReservationController::arm() {
  executor_.cancel(timer_);
  timer_ = 0;
  if (ends_.empty()) return;
  const Duration wait = std::clamp<Duration>(ends_.begin()->first - executor_.wallNow(),
                                             Duration::zero(), kLongestWait);
  timer_ = executor_.runAfter(wait + std::chrono::milliseconds(1), [this] {
    timer_ = 0;
    const WallTime now = executor_.wallNow();
    while (!ends_.empty() && now > ends_.begin()->first) {
      const std::string uid = ends_.begin()->second;
      ends_.erase(ends_.begin());
      endOf_.erase(uid);
      enqueue(uid);
    }
    arm();
  });
}

// Returns true if it ended long enough ago, or its node does not exist.
bool ReservationController::isGarbage(const api::Reservation& reservation) const {
  const bool expired = isReservationExpired(reservation);
  if (!expired && reservation.status.phase != "Succeeded") return false;
  if (lostNode(reservation)) return true;
  const auto& conditions = reservation.status.conditions;
  const auto reason = std::ranges::find(conditions, expired ? "Expired" : "Succeeded",
                                        &api::ReservationCondition::reason);
  if (reason == conditions.end()) return false;
  const api::Time since = expired ? reason->lastTransitionTime : reason->lastProbeTime;
  return since && executor_.wallNow() - *since > args_.gcDuration;
}

Task<void> ReservationController::collectGarbage() {
  if (!handle_.api()) co_return;
  std::vector<std::pair<std::string, std::string>> garbage;  // name and uid
  for (const auto& [name, entry] : index_.all())
    if (!entry->object->metadata.deletionTimestamp && isGarbage(*entry->object))
      garbage.emplace_back(name, entry->uid());
  for (const auto& [name, uid] : garbage) {
    kube::DeleteOptions options;
    options.uid = uid;
    auto deleting = kube::deleteObject(*handle_.api(), api::Reservation::kType,
                                       api::ObjectKey{"", name}, options);
    const Result<> deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound &&
        deleted.error().code != ErrorCode::Conflict) {
      log::warn("reservation {} has expired and cannot be deleted: {}", name,
                deleted.error().message);
    }
  }
}

}  // namespace koord::scheduler
