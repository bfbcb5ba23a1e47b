// The writes of DynamicResources: before a pod is bound, each of its claims gets a finalizer, the
// allocation and the pod as a user. All writes carry the version that they were computed from; a
// conflict reads the claim again and retries.
//
// The process may be killed after any write. A finalizer without an allocation is harmless. A claim
// that is allocated for a pod that is not bound is found allocated in the next attempt, and
// PostFilter releases it if the pod does not fit there.

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/retry.h"
#include "scheduler/plugins/dynamicresources/plugin.h"

namespace koord::scheduler {

namespace {

json::object versionOf(const api::ResourceClaim& claim) {
  return {{"uid", claim.metadata.uid},
          {"resourceVersion", std::string(claim.metadata.resourceVersion)}};
}

json::array reservedFor(const api::ResourceClaim& claim) {
  json::array list;
  for (const auto& consumer : claim.status.reservedFor) {
    json::object entry{
        {"resource", consumer.resource}, {"name", consumer.name}, {"uid", consumer.uid}};
    if (!consumer.apiGroup.empty()) entry["apiGroup"] = consumer.apiGroup;
    list.push_back(std::move(entry));
  }
  return list;
}

json::value referenceTo(const api::Pod& pod) {
  return json::object{{"resource", "pods"}, {"name", pod.metadata.name}, {"uid", pod.metadata.uid}};
}

json::object statusPatch(const api::ResourceClaim& claim, json::object status) {
  json::object patch;
  patch["metadata"] = versionOf(claim);
  patch["status"] = std::move(status);
  return patch;
}

Error within(Error error, std::string_view what, const api::ResourceClaim& claim) {
  error.message = fmt::format("{} claim {}: {}", what, dra::nameOf(claim.metadata), error.message);
  return error;
}

}  // namespace

bool hasFinalizer(const api::ResourceClaim& claim) {
  return std::ranges::find(claim.metadata.finalizers, api::kClaimFinalizer) !=
         claim.metadata.finalizers.end();
}

json::object finalizerPatch(const api::ResourceClaim& claim, bool add) {
  json::array finalizers;
  for (const std::string& finalizer : claim.metadata.finalizers)
    if (finalizer != api::kClaimFinalizer) finalizers.emplace_back(finalizer);
  if (add) finalizers.emplace_back(std::string(api::kClaimFinalizer));
  json::object metadata = versionOf(claim);
  metadata["finalizers"] = std::move(finalizers);
  json::object patch;
  patch["metadata"] = std::move(metadata);
  return patch;
}

// The pod becomes a user of the claim, and the claim gets its allocation, if it has none.
json::object DynamicResources::allocationPatch(const api::ResourceClaim& claim,
                                               const AllocationPtr& allocation,
                                               const api::Pod& pod) const {
  json::object status;
  json::array consumers = reservedFor(claim);
  consumers.push_back(referenceTo(pod));
  status["reservedFor"] = std::move(consumers);
  const bool stamped = claim.status.allocation && claim.status.allocation->allocationTimestamp;
  if (allocation || (manager_->features.bindingConditions && !stamped)) {
    api::AllocationResult stored = allocation ? *allocation : *claim.status.allocation;
    if (manager_->features.bindingConditions)
      stored.allocationTimestamp = handle_.executor().wallNow();
    status["allocation"] = api::encode(stored);
  }
  return statusPatch(claim, std::move(status));
}

Task<Result<ResourceClaimPtr>> DynamicResources::readClaim(api::ObjectKey key) {
  auto call = kube::get<api::ResourceClaim>(*handle_.api(), key);
  auto claim = co_await call;
  if (!claim) co_return fail(std::move(claim.error()));
  co_return std::make_shared<const api::ResourceClaim>(*std::move(claim));
}

Task<Result<ResourceClaimPtr>> DynamicResources::writeClaim(ResourceClaimPtr claim,
                                                            json::object patch,
                                                            std::string subresource) {
  auto call =
      kube::mergePatch(*handle_.api(), api::ResourceClaim::kType, api::keyOf(claim->metadata),
                       std::move(patch), std::move(subresource));
  const Result<json::value> reply = co_await call;
  if (!reply) co_return fail(reply.error());
  auto written = api::decode<api::ResourceClaim>(*reply);
  if (!written) co_return fail(std::move(written.error()));
  auto object = std::make_shared<const api::ResourceClaim>(*std::move(written));
  manager_->claims.written(object);
  co_return object;
}

// `allocation` is what Reserve saw or chose. `chosen`: it is not stored yet.
Task<Result<ResourceClaimPtr>> DynamicResources::bindClaim(ResourceClaimPtr claim,
                                                           AllocationPtr allocation, bool chosen,
                                                           PodPtr pod) {
  if (!handle_.api())
    co_return fail(ErrorCode::Unavailable, "no API server to allocate claims with");
  // Pods that are bound at once may share the claim: their writes would conflict with each other.
  const ClaimWriteLock turn(manager_->writers, claim->metadata.uid);
  while (!turn.hasCome()) {
    auto pause = sleepFor(handle_.executor(), kPause);
    co_await pause;
  }
  if (ResourceClaimPtr known = manager_->claims.get(api::keyOf(claim->metadata));
      known && known->metadata.uid == claim->metadata.uid)
    claim = std::move(known);
  auto writing = writeBinding(std::move(claim), std::move(allocation), chosen, std::move(pod));
  co_return co_await writing;
}

Task<Result<ResourceClaimPtr>> DynamicResources::writeBinding(ResourceClaimPtr claim,
                                                              AllocationPtr allocation, bool chosen,
                                                              PodPtr pod) {
  Error last;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    if (attempt > 0) {
      auto pause = sleepFor(handle_.executor(), kPause * attempt);
      co_await pause;
    }
    // The claim table may be behind: an earlier attempt of the pod may have released the claim.
    if (attempt > 0 || api::isReservedFor(*claim, pod->uid())) {
      auto reading = readClaim(api::keyOf(claim->metadata));
      auto current = co_await reading;
      if (!current)
        co_return fail(within(std::move(current.error()),
                              attempt > 0 ? "after conflict: get updated" : "get", *claim));
      claim = *std::move(current);
    }
    const std::string name = dra::nameOf(claim->metadata);
    if (claim->metadata.deletionTimestamp)
      co_return fail(ErrorCode::Conflict, "claim " + name + " got deleted in the meantime");
    const bool stored = claim->status.allocation.has_value();
    if (!stored && !chosen)
      co_return fail(ErrorCode::Conflict,
                     "claim " + name + " got deallocated elsewhere in the meantime");
    // Another member of the group, or this pod in a write whose answer was lost, may have stored
    // it.
    if (stored && !sameDevices(*allocation, *claim->status.allocation))
      co_return fail(ErrorCode::Conflict,
                     "claim " + name + " got allocated elsewhere in the meantime");
    if (stored && api::isReservedFor(*claim, pod->uid())) co_return claim;
    if (!stored && !hasFinalizer(*claim)) {
      auto writing = writeClaim(claim, finalizerPatch(*claim, true), "");
      auto written = co_await writing;
      if (!written) {
        last = within(std::move(written.error()), "add finalizer to", *claim);
        if (last.code != ErrorCode::Conflict) co_return fail(std::move(last));
        continue;
      }
      claim = *std::move(written);
    }
    const AllocationPtr toStore = stored ? nullptr : allocation;
    auto writing = writeClaim(claim, allocationPatch(*claim, toStore, *pod->pod), "status");
    auto written = co_await writing;
    if (written) co_return *std::move(written);
    last = within(std::move(written.error()),
                  stored ? "add reservation to" : "add allocation and reservation to", *claim);
    if (last.code == ErrorCode::Conflict) continue;
    if (!kube::mayHaveSucceeded(last)) break;
    auto confirming = confirmBinding(claim, allocation, pod);
    if (ResourceClaimPtr confirmed = co_await confirming) co_return confirmed;
    break;
  }
  co_return fail(std::move(last));
}

// Called when the answer to the write of a binding is lost. Until it is known whether the write was
// carried out, the devices stay in flight, so that no other claim gets them. Returns the claim if
// it was.
Task<ResourceClaimPtr> DynamicResources::confirmBinding(ResourceClaimPtr claim,
                                                        AllocationPtr allocation, PodPtr pod) {
  for (Duration pause = kPause;; pause = std::min<Duration>(pause * 2, kLongestPause)) {
    auto reading = readClaim(api::keyOf(claim->metadata));
    auto current = co_await reading;
    if (!current && current.error().code == ErrorCode::NotFound) co_return nullptr;
    if (current) {
      if ((*current)->metadata.uid != claim->metadata.uid) co_return nullptr;
      manager_->claims.written(*current);
      const auto& stored = (*current)->status.allocation;
      const bool bound =
          stored && sameDevices(*allocation, *stored) && api::isReservedFor(**current, pod->uid());
      co_return bound ? *current : nullptr;
    }
    auto sleeping = sleepFor(handle_.executor(), pause);
    co_await sleeping;
  }
}

Task<Status> DynamicResources::waitUntilReady(std::vector<ResourceClaimPtr> claims, PodPtr pod,
                                              NodeId node) {
  if (kube::EventRecorder* events = handle_.events())
    events->record(handle_.kindOf(*pod).reference(*pod), "Normal", "BindingConditionsPending",
                   "waiting for binding conditions for device on node " + cluster_.node(node).name,
                   "Scheduling");
  const SteadyTime until = handle_.executor().steadyNow() + args_.bindingTimeout;
  for (;;) {
    bool ready = true;
    for (const ResourceClaimPtr& claim : claims) {
      const ResourceClaimPtr now = manager_->claims.get(api::keyOf(claim->metadata));
      if (!now)
        co_return Status::error("could not find ResourceClaim \"" + dra::nameOf(claim->metadata) +
                                "\"");
      const BindingReadiness readiness = readinessOf(*now);
      if (!readiness.failure.empty()) co_return Status::error(readiness.failure);
      if (!readiness.ready &&
          bindingTimedOut(*now, args_.bindingTimeout, handle_.executor().wallNow()))
        co_return Status::error("device binding timeout: claim=" + now->metadata.name);
      ready = ready && readiness.ready;
    }
    if (ready) co_return Status{};
    if (handle_.executor().steadyNow() >= until)
      co_return Status::error("device binding timeout: context deadline exceeded");
    auto pause = sleepFor(handle_.executor(), std::chrono::seconds(5));
    co_await pause;
  }
}

// Removes the pod from the users of a claim, whose allocation stays.
Task<void> DynamicResources::releaseClaim(ResourceClaimPtr claim, std::string podUid) {
  // The next attempt of the pod has a later turn, so that this does not release what it reserves.
  const ClaimWriteLock turn(manager_->writers, claim->metadata.uid);
  while (!turn.hasCome()) {
    auto pause = sleepFor(handle_.executor(), kPause);
    co_await pause;
  }
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    json::array users = reservedFor(*claim);
    const auto isPod = [&](const json::value& user) { return textAt(user, "uid") == podUid; };
    const auto it = std::find_if(users.begin(), users.end(), isPod);
    if (it == users.end()) co_return;
    users.erase(it);
    json::object status;
    status["reservedFor"] = std::move(users);
    auto writing = writeClaim(claim, statusPatch(*claim, std::move(status)), "status");
    const auto written = co_await writing;
    if (written) co_return;
    if (written.error().code != ErrorCode::Conflict) {
      if (written.error().code != ErrorCode::NotFound)
        log::warn("release claim {}: {}; it is released when the pod is scheduled or deleted",
                  dra::nameOf(claim->metadata), written.error().message);
      co_return;
    }
    auto reading = readClaim(api::keyOf(claim->metadata));
    auto current = co_await reading;
    if (!current) co_return;
    claim = *std::move(current);
  }
}

Task<PostFilterResult> DynamicResources::deallocate(ResourceClaimPtr claim) {
  PostFilterResult result;
  result.nomination = {false, ""};
  if (!handle_.api()) {
    result.status = Status::unschedulable("still not schedulable");
    co_return result;
  }
  json::object status;
  for (const char* field : {"allocation", "reservedFor", "devices"}) status[field] = nullptr;
  auto writing = writeClaim(claim, statusPatch(*claim, std::move(status)), "status");
  const auto written = co_await writing;
  result.status = written ? Status::unschedulable("deallocation of ResourceClaim completed")
                          : Status::of(written.error());
  co_return result;
}

}  // namespace koord::scheduler
