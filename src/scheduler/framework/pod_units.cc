#include "scheduler/framework/pod_units.h"

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/framework/slim_pod.h"

namespace koord::scheduler {

namespace {

const api::PodCondition* findCondition(const api::Pod& pod, std::string_view type) {
  const auto it = std::ranges::find(pod.status.conditions, type, &api::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

// The uid prevents a write to a new pod of the same name.
json::object patchOf(const api::Pod& pod, std::string_view part, json::object content) {
  json::object patch{{"metadata", json::object{{"uid", pod.metadata.uid}}}};
  patch.emplace(json::string_view(part.data(), part.size()), std::move(content));
  return patch;
}

// The PodScheduled condition; only the fields that change.
json::object conditionOf(const api::Pod& pod, const FailureReport& failure, bool sameStatus,
                         WallTime now) {
  json::object condition{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", failure.reason},
                         {"message", failure.message}};
  if (pod.metadata.generation > 0) condition.emplace("observedGeneration", pod.metadata.generation);
  if (!sameStatus) {
    condition.emplace("lastProbeTime", nullptr);
    condition.emplace("lastTransitionTime", formatTime(now));
  }
  return condition;
}

}  // namespace

api::ObjectReference PodUnits::reference(const PodInfo& unit) const {
  return kube::referenceTo(api::Pod::kType, unit.pod->metadata);
}

Task<Result<PodLocation>> PodUnits::find(PodPtr unit) {
  if (!api_) co_return PodLocation{};
  auto call = kube::get<api::Pod>(*api_, api::keyOf(unit->pod->metadata));
  Result<api::Pod> pod = co_await call;
  if (!pod) {
    if (pod.error().code == ErrorCode::NotFound)
      co_return PodLocation{PodLocation::Kind::Gone, {}, {}};
    co_return fail(std::move(pod.error()));
  }
  if (pod->metadata.uid != unit->uid()) co_return PodLocation{PodLocation::Kind::Gone, {}, {}};
  if (pod->spec.nodeName.empty()) co_return PodLocation{};
  auto current = std::make_shared<api::Pod>(*std::move(pod));
  transformPod(*current, transforms);
  slimPod(*current);
  PodLocation bound{PodLocation::Kind::Bound, current->spec.nodeName, current};
  co_return bound;
}

Task<void> PodUnits::report(PodPtr unit, FailureReport failure) {
  if (!api_) co_return;
  const api::Pod& pod = *unit->pod;
  const api::PodCondition* known = findCondition(pod, "PodScheduled");
  const bool sameStatus = known && known->status == "False";
  const bool sameCondition =
      sameStatus && known->reason == failure.reason && known->message == failure.message;
  const bool sameNomination =
      !failure.nominatedNode || *failure.nominatedNode == pod.status.nominatedNodeName;
  if (sameCondition && sameNomination) co_return;
  json::object status;
  if (!sameCondition) {
    json::object condition = conditionOf(pod, failure, sameStatus, executor_.wallNow());
    status.emplace("conditions", json::array{std::move(condition)});
  }
  if (!sameNomination) {
    if (failure.nominatedNode->empty()) {
      status.emplace("nominatedNodeName", nullptr);
    } else {
      status.emplace("nominatedNodeName", *failure.nominatedNode);
    }
  }
  auto patching = patchStatus(api::keyOf(pod.metadata), patchOf(pod, "status", std::move(status)));
  co_await patching;
}

Task<void> PodUnits::announce(PodPtr unit, std::string node) {
  const api::Pod& pod = *unit->pod;
  if (!api_ || pod.status.nominatedNodeName == node) co_return;
  json::value value = nullptr;
  if (!node.empty()) value = std::move(node);
  auto patching =
      patchStatus(api::keyOf(pod.metadata),
                  patchOf(pod, "status", json::object{{"nominatedNodeName", std::move(value)}}));
  co_await patching;
}

Task<Result<>> PodUnits::annotate(PodPtr unit, api::StringMap annotations) {
  if (!api_) co_return fail(ErrorCode::Unavailable, "no API server to write annotations to");
  json::object added;
  for (const auto& [key, value] : annotations) added.emplace(key, value);
  json::object patch{
      {"metadata", json::object{{"uid", unit->uid()}, {"annotations", std::move(added)}}}};
  auto call = kube::patchOnly(*api_, api::Pod::kType, api::keyOf(unit->pod->metadata),
                              kube::PatchType::Merge, std::move(patch));
  Result<> written = co_await call;
  co_return written;
}

Task<bool> PodUnits::evict(PodPtr unit, PodPtr preemptor) {
  if (!api_) co_return false;
  const api::ObjectKey key = api::keyOf(unit->pod->metadata);
  json::object condition{{"type", "DisruptionTarget"},
                         {"status", "True"},
                         {"reason", "PreemptionByScheduler"},
                         {"message", preemptor->pod->spec.schedulerName.str() +
                                         ": preempting to accommodate a higher priority pod"},
                         {"lastProbeTime", nullptr},
                         {"lastTransitionTime", formatTime(executor_.wallNow())}};
  if (unit->pod->metadata.generation > 0)
    condition.emplace("observedGeneration", unit->pod->metadata.generation);
  json::object patch = patchOf(*unit->pod, "status",
                               json::object{{"conditions", json::array{std::move(condition)}}});
  auto patching = kube::patchOnly(*api_, api::Pod::kType, key, kube::PatchType::Strategic,
                                  std::move(patch), "status");
  const Result<> patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound) {
    log::warn("could not add the DisruptionTarget condition to pod {}: {}", unit->key(),
              patched.error().message);
    co_return false;
  }
  kube::DeleteOptions options;
  options.uid = unit->uid();
  auto deleting = kube::deleteObject(*api_, api::Pod::kType, key, options);
  const Result<> deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound &&
      deleted.error().code != ErrorCode::Conflict) {
    log::warn("cannot delete pod {} to free resources for {}: {}", unit->key(), preemptor->key(),
              deleted.error().message);
    co_return false;
  }
  co_return true;
}

// Retries a few times after errors that may be temporary.
Task<void> PodUnits::patchStatus(api::ObjectKey key, json::value patch) {
  Duration wait = std::chrono::milliseconds(10);
  for (int attempt = 1;; ++attempt) {
    auto call =
        kube::patchOnly(*api_, api::Pod::kType, key, kube::PatchType::Strategic, patch, "status");
    const Result<> reply = co_await call;
    if (reply || reply.error().code == ErrorCode::NotFound) co_return;
    const ErrorCode code = reply.error().code;
    const bool again = code == ErrorCode::Internal || code == ErrorCode::Unavailable ||
                       code == ErrorCode::TooManyRequests || code == ErrorCode::Timeout;
    if (!again || attempt == 4) {
      log::warn("status of pod {} not updated: {}", key.toString(), reply.error().message);
      co_return;
    }
    auto pause = sleepFor(executor_, wait);
    co_await pause;
    wait *= 5;
  }
}

}  // namespace koord::scheduler
