#include "scheduler/plugins/coscheduling/workload_controller.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/codec.h"
#include "kube/client.h"

namespace koord::scheduler {

namespace {

constexpr const char* kScheduled = "PodGroupScheduled";

const api::Condition* scheduledOf(const api::WorkloadPodGroup& group) {
  const auto& conditions = group.status.conditions;
  const auto it = std::ranges::find(conditions, kScheduled, &api::Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

}  // namespace

WorkloadController::WorkloadController(Handle& handle, GangCycles& cycles)
    : handle_(handle),
      cycles_(cycles),
      queue_(handle.executor(), "workload-podgroup",
             [this](std::string id) { return sync(std::move(id)); }) {
  cycles.gangs().listen([this, alive = std::weak_ptr<bool>(alive_)](const std::string& id) {
    if (!alive.expired()) changed(id);
  });
}

void WorkloadController::start() {
  for (const auto& [id, gang] : cycles_.gangs().all()) changed(id);
  queue_.start();
}

void WorkloadController::update() {
  for (const auto& [id, gang] : cycles_.gangs().all())
    if (gang.workload && cycles_.refusalOf(Gangs::groupIdOf(gang))) changed(id);
}

void WorkloadController::changed(const std::string& id) {
  const Gang* gang = cycles_.gangs().find(id);
  if (gang && gang->workload && conditionOf(*gang)) queue_.add(id);
}

std::optional<api::Condition> WorkloadController::conditionOf(const Gang& gang) const {
  if (!gang.spec) return std::nullopt;
  api::Condition now;
  now.type = kScheduled;
  const auto needed = std::max<std::int64_t>(gang.spec->minimum, 1);
  if (static_cast<std::int64_t>(gang.bound) >= needed) {
    now.status = "True";
    now.reason = "Scheduled";
  } else if (const GangRefusal* refusal = cycles_.refusalOf(Gangs::groupIdOf(gang))) {
    now.status = "False";
    now.reason = "Unschedulable";
    now.message = refusal->message;
  } else {
    return std::nullopt;
  }
  now.observedGeneration = gang.workload->metadata.generation;
  const api::Condition* before = scheduledOf(*gang.workload);
  if (before && before->status == "True") return std::nullopt;
  if (before && before->status == now.status && before->reason == now.reason &&
      before->message == now.message)
    return std::nullopt;
  now.lastTransitionTime = before && before->status == now.status
                               ? before->lastTransitionTime
                               : api::Time(handle_.executor().wallNow());
  return now;
}

Task<Result<>> WorkloadController::sync(std::string id) {
  const Gang* gang = cycles_.gangs().find(id);
  if (!gang || !gang->workload) co_return Result<>{};
  const std::shared_ptr<const api::WorkloadPodGroup> object = gang->workload;
  std::optional<api::Condition> condition = conditionOf(*gang);
  if (!condition) co_return Result<>{};
  api::WorkloadPodGroupStatus status = object->status;
  const auto it = std::ranges::find(status.conditions, kScheduled, &api::Condition::type);
  if (it == status.conditions.end()) {
    status.conditions.push_back(*std::move(condition));
  } else {
    *it = *std::move(condition);
  }
  json::value patch = json::object{
      {"metadata", json::object{{"resourceVersion", object->metadata.resourceVersion}}},
      {"status", api::encode(status)}};
  auto patching = kube::mergePatch(*handle_.api(), api::WorkloadPodGroup::kType,
                                   api::keyOf(object->metadata), std::move(patch), "status");
  const Result<json::value> reply = co_await patching;
  // Another writer was faster: the new version is checked when it is seen.
  if (reply || reply.error().code == ErrorCode::NotFound ||
      reply.error().code == ErrorCode::Conflict)
    co_return Result<>{};
  co_return fail(Error(reply.error()).within("status of PodGroup " + id));
}

}  // namespace koord::scheduler
