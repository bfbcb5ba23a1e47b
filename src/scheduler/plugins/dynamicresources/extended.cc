// Extended resources that devices back: what other plugins ask about them, and the writes for the
// claim. PreBind creates it, allocates it like any other, and notes it in the pod's status, where
// the kubelet finds it.
//
// The process may be killed after any write, and a creation may succeed although its answer is
// lost. The next attempt finds the claim by its owner, and PostFilter deletes it: its devices were
// chosen for a state of the cluster that is over.
//
// The devices count by the pod's grant, under the UID of the claim in memory and then under that of
// the object, until the informer delivers the object. Only then is the pod bound.

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "kube/client.h"
#include "scheduler/plugins/dynamicresources/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::chrono::seconds kDeliveryTimeout{120};

json::value statusOf(const api::List<api::ContainerExtendedResourceRequest>& mappings,
                     const std::string& claim) {
  json::array list;
  for (const api::ContainerExtendedResourceRequest& mapping : mappings)
    list.push_back(json::object{{"containerName", mapping.containerName},
                                {"resourceName", mapping.resourceName},
                                {"requestName", mapping.requestName}});
  return json::object{{"requestMappings", std::move(list)}, {"resourceClaimName", claim}};
}

}  // namespace

bool DynamicResources::isBacked(ResourceId resource) const {
  return enabled_ && manager_->backing(resource);
}

DeviceBackedResources::Devices DynamicResources::devicesOn(ResourceId resource, NodeId node) const {
  const api::DeviceClass& class_ = *manager_->backing(resource);
  const dra::NodeInventory& inventory = manager_->inventory.of(cluster_.node(node).object);
  const dra::Matcher& matcher = manager_->matcherOf(class_);
  Devices devices;
  for (const dra::DeviceOnNode& device : inventory.devices) {
    if (device.onOtherNode) continue;
    const dra::Match match = matcher.match(device.content());
    if (match == dra::Match::Failed) return {};
    if (match != dra::Match::Yes) continue;
    ++devices.all;
    const dra::DeviceUse* use = device.pool->use->of(device.device->name());
    if (use && !use->empty()) ++devices.used;
  }
  return devices;
}

bool DynamicResources::beginsToBack(const ClusterEvent& event, const PodInfo& pod) const {
  const auto before = event.before<api::DeviceClass>();
  const auto after = event.after<api::DeviceClass>();
  if (!after) return false;
  const auto requests = [&](const std::string& resource) {
    const auto id = cluster_.resources().find(resource);
    return id && pod.request.amount(*id) > 0;
  };
  if (!before && requests(std::string(api::kDeviceClassResourcePrefix) + after->metadata.name))
    return true;
  const std::string& resource = after->spec.extendedResourceName;
  return (!before || before->spec.extendedResourceName != resource) && !resource.empty() &&
         requests(resource);
}

std::uint64_t DynamicResources::demandOf(const PodInfo& pod) const {
  if (!enabled_) return 0;
  std::string demand;
  for (const ResourceClaimPtr& claim : claimsOfPod(*pod.pod, manager_->claims).claims)
    if (!claim->status.allocation) demand += fmt::format("{} ", manager_->claims.specOf(*claim));
  if (const auto backed = manager_->backedOf(pod); !backed.empty()) {
    const ExtendedClaim own = makeExtendedClaim(cluster_, *pod.pod, backed, "");
    demand += fmt::format("{}", manager_->claims.specOf(*own.claim));
  }
  return demand.empty() ? 0 : std::max<std::uint64_t>(std::hash<std::string>()(demand), 1);
}

// The claim of an attempt before this one, perhaps of another process; nullptr if there is none.
// Simulations ask for pods that run with theirs.
ResourceClaimPtr DynamicResources::staleClaimOf(const PodInfo& pod) const {
  ResourceClaimPtr claim = manager_->claims.extendedClaimOf(*pod.pod);
  if (!claim) return nullptr;
  const PodPtr pending = handle_.pendingPod(api::keyOf(pod.pod->metadata));
  return pending && pending->uid() == pod.uid() ? claim : nullptr;
}

PlanPlugin::Plan DynamicResources::plan(CycleState&, const PodPtr& pod) {
  Plan plan{Status::skip(), {}, {}};
  if (!enabled_ || pod->kind || !staleClaimOf(*pod)) return plan;
  plan.status = Status::unresolvable(std::string(kStaleClaim));
  plan.status.setPlugin(std::string(kName));
  return plan;
}

Task<Result<>> DynamicResources::createExtended(Reserved& reserved, ClaimsInFlight& promises,
                                                PodPtr pod) {
  if (!handle_.api()) co_return fail(ErrorCode::Unavailable, "no API server to create claims with");
  const ResourceClaimPtr inMemory = reserved.claims.back();
  const api::ResourceClaim object = createdFrom(*inMemory);
  auto creating = kube::create(*handle_.api(), object);
  auto created = co_await creating;
  ++(created ? manager_->createdClaims : manager_->failedClaims);
  if (!created) {
    created.error().message = fmt::format("create claim for extended resources {}: {}", pod->key(),
                                          created.error().message);
    co_return fail(std::move(created.error()));
  }
  auto claim = std::make_shared<const api::ResourceClaim>(*std::move(created));
  reserved.claims.back() = claim;  // for unreserve
  // Its devices may have been given to another pod.
  if (!cluster_.findPod(pod->uid()))
    co_return fail(ErrorCode::NotFound, fmt::format("pod {} was deleted", pod->key()));
  for (ClaimsInFlight::Promise& promise : promises.promises)
    if (promise.claim == inMemory->metadata.uid) promise.claim = claim->metadata.uid;
  cluster_.regrant(pod->uid(), manager_->ledger.id(), ClaimLedger::grantOf(promises));
  co_return Result<>();
}

// Requires that all claims are bound. Without a claim for extended resources, removes what an
// earlier attempt has written: the kubelet would wait for a claim that is gone.
Task<Result<>> DynamicResources::finishExtended(const Reserved& reserved, PodPtr pod) {
  if (!reserved.extended) {
    if (!pod->pod->status.extendedResourceClaimStatus) co_return Result<>();
    auto writing = writeExtendedStatus(pod, nullptr);
    co_return co_await writing;
  }
  const api::ObjectKey key = api::keyOf(reserved.claims.back()->metadata);
  auto writing = writeExtendedStatus(pod, statusOf(reserved.mappings, key.name));
  if (Result<> written = co_await writing; !written) co_return written;
  const SteadyTime until = handle_.executor().steadyNow() + kDeliveryTimeout;
  for (auto pause = kPause;; pause = std::min(pause * 2, kLongestPause)) {
    const ResourceClaimPtr known = manager_->claims.get(key);
    if (known && known->status.allocation) co_return Result<>();
    if (!cluster_.findPod(pod->uid()))
      co_return fail(ErrorCode::NotFound, fmt::format("pod {} was deleted", pod->key()));
    if (handle_.executor().steadyNow() >= until)
      co_return fail(ErrorCode::Timeout,
                     fmt::format("the informer has not delivered claim {}", key.toString()));
    auto sleeping = sleepFor(handle_.executor(), pause);
    co_await sleeping;
  }
}

Task<Result<>> DynamicResources::writeExtendedStatus(PodPtr pod, json::value status) {
  json::object patch;
  patch["metadata"] = json::object{{"uid", pod->uid()}};
  patch["status"] = json::object{{"extendedResourceClaimStatus", std::move(status)}};
  auto writing = kube::patchOnly(*handle_.api(), api::Pod::kType, api::keyOf(pod->pod->metadata),
                                 kube::PatchType::Merge, std::move(patch), "status");
  Result<> written = co_await writing;
  if (!written)
    written.error().message = fmt::format("update pod {} ExtendedResourceClaimStatus: {}",
                                          pod->key(), written.error().message);
  co_return written;
}

// Removes the finalizer, then deletes the claim. A claim that is gone already is a success.
Task<Result<>> DynamicResources::deleteClaim(ResourceClaimPtr claim) {
  for (int attempt = 1; hasFinalizer(*claim); ++attempt) {
    auto writing = writeClaim(claim, finalizerPatch(*claim, false), "");
    auto written = co_await writing;
    if (written) {
      claim = *std::move(written);
      break;
    }
    if (written.error().code == ErrorCode::NotFound) co_return Result<>();
    if (written.error().code != ErrorCode::Conflict || attempt == kMaxTries)
      co_return fail(std::move(written.error()));
    auto reading = readClaim(api::keyOf(claim->metadata));
    auto current = co_await reading;
    if (!current && current.error().code == ErrorCode::NotFound) co_return Result<>();
    if (!current) co_return fail(std::move(current.error()));
    if ((*current)->metadata.uid != claim->metadata.uid) co_return Result<>();
    claim = *std::move(current);
  }
  kube::DeleteOptions options;
  options.uid = claim->metadata.uid;
  auto deleting = kube::deleteObject(*handle_.api(), api::ResourceClaim::kType,
                                     api::keyOf(claim->metadata), std::move(options));
  Result<> deleted = co_await deleting;
  if (!deleted && deleted.error().code == ErrorCode::NotFound) co_return Result<>();
  co_return deleted;
}

Task<void> DynamicResources::deleteUnreserved(ResourceClaimPtr claim) {
  auto deleting = deleteClaim(claim);
  if (const Result<> deleted = co_await deleting; !deleted)
    log::warn("delete claim {}: {}; it is deleted when the pod is scheduled again or deleted",
              dra::nameOf(claim->metadata), deleted.error().message);
}

Task<PostFilterResult> DynamicResources::deleteStale(ResourceClaimPtr claim) {
  PostFilterResult result;
  result.nomination = {false, ""};
  if (!handle_.api()) {
    result.status = Status::unschedulable("still not schedulable");
    co_return result;
  }
  auto deleting = deleteClaim(std::move(claim));
  const Result<> deleted = co_await deleting;
  result.status = deleted ? Status::unschedulable("deletion of ResourceClaim completed")
                          : Status::of(deleted.error());
  co_return result;
}

std::string DynamicResources::metrics() const {
  if (!enabled_) return {};
  return fmt::format(
      "# HELP scheduler_resourceclaim_creates_total [ALPHA] Number of ResourceClaims creation "
      "requests within scheduler\n"
      "# TYPE scheduler_resourceclaim_creates_total counter\n"
      "scheduler_resourceclaim_creates_total{{status=\"failure\"}} {}\n"
      "scheduler_resourceclaim_creates_total{{status=\"success\"}} {}\n",
      manager_->failedClaims, manager_->createdClaims);
}

}  // namespace koord::scheduler
