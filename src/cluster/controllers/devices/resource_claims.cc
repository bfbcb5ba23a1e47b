#include "cluster/controllers/devices/resource_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/codec.h"
#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kDeletedPods = 500;
constexpr std::string_view kPodKey = "pod ";
constexpr std::string_view kClaimKeyPrefix = "claim ";

bool isDone(const api::Pod& pod) {
  return api::isTerminal(pod) || (pod.metadata.deletionTimestamp && pod.spec.nodeName.empty());
}

bool isControlledBy(const api::ResourceClaim& claim, const api::Pod& pod) {
  const auto* owner = api::controllerOf(claim.metadata);
  return owner && owner->uid == pod.metadata.uid;
}

// Whether the claim may get one more consumer.
bool isFree(const api::ResourceClaim& claim) {
  return claim.status.reservedFor.size() < api::kMaxReservedFor;
}

bool hasFinalizer(const api::ResourceClaim& claim) {
  return std::ranges::find(claim.metadata.finalizers, api::kClaimFinalizer) !=
         claim.metadata.finalizers.end();
}

json::object versioned(const api::ResourceClaim& claim, const std::string& resourceVersion) {
  return {{"uid", claim.metadata.uid}, {"resourceVersion", resourceVersion}};
}

std::string createdKey(const api::Pod& pod, const std::string& entry) {
  return fmt::format("{}/{}", pod.metadata.uid, entry);
}

// A conflict or a deletion needs no retry: the event of the other write enqueues the object again.
bool needsNoRetry(const Error& error) {
  return error.code == ErrorCode::Conflict || error.code == ErrorCode::NotFound;
}

}  // namespace

std::string claimNamePrefix(std::string_view pod, std::string_view entry) {
  constexpr std::size_t kMax = 57;  // leaves space for a hyphen and five random characters
  auto name = fmt::format("{}-{}-", pod, entry);
  if (name.size() <= kMax) return name;
  const auto cut = [&](std::string_view part) {
    return part.substr(0, part.size() * kMax / name.size());
  };
  return fmt::format("{}-{}", cut(pod), cut(entry));
}

ResourceClaimController::ResourceClaimController(
    kube::Api& api, Executor& executor, kube::Informer<api::ResourceClaim>& claims,
    kube::Informer<api::ResourceClaimTemplate>& templates, kube::Informer<api::Pod>& pods,
    kube::EventRecorder& events)
    : api_(api),
      claims_(claims),
      templates_(templates),
      pods_(pods),
      events_(events),
      deletedPods_(kDeletedPods),
      queue_(executor, "resource_claim", [this](std::string key) { return sync(std::move(key)); }) {
  pods_.addHandler({[this](const PodPtr& pod) {
                      users_.add(*pod);
                      podChanged(*pod, false);
                    },
                    [this](const PodPtr& before, const PodPtr& pod) {
                      if (before->spec.resourceClaims.empty() && pod->spec.resourceClaims.empty() &&
                          !pod->status.extendedResourceClaimStatus)
                        return;
                      users_.remove(*before);
                      users_.add(*pod);
                      podChanged(*pod, false);
                    },
                    [this](const PodPtr& pod) {
                      users_.remove(*pod);
                      podChanged(*pod, true);
                    }});
  claims_.addHandler({[this](const ClaimPtr& claim) {
                        users_.add(*claim);
                        claimChanged(*claim, false);
                      },
                      [this](const ClaimPtr& before, const ClaimPtr& claim) {
                        users_.remove(*before);
                        users_.add(*claim);
                        claimChanged(*claim, false);
                      },
                      [this](const ClaimPtr& claim) {
                        users_.remove(*claim);
                        claimChanged(*claim, true);
                      }});
  const auto templateSeen = [this](const auto& claimTemplate) {
    for (const auto& key : users_.podsOfTemplate(api::keyOf(claimTemplate->metadata)))
      if (const auto pod = pods_.get(key)) podChanged(*pod, false);
  };
  templates_.addHandler(
      {templateSeen, [templateSeen](const auto&, const auto& now) { templateSeen(now); }, {}});
}

void ResourceClaimController::podChanged(const api::Pod& pod, bool deleted) {
  const auto& extended = pod.status.extendedResourceClaimStatus;
  if (pod.spec.resourceClaims.empty() && !extended) return;
  if (deleted) deletedPods_.at(pod.metadata.uid, true);
  if (deleted || isDone(pod)) {
    const auto add = [&](const std::string& name) {
      queue_.add(fmt::format("{}{}/{}", kClaimKeyPrefix, pod.metadata.namespace_, name));
    };
    const api::PodClaimNames names(pod);
    for (const auto& entry : pod.spec.resourceClaims) {
      if (const auto* name = names.of(entry)) add(*name);
      created_.erase(createdKey(pod, entry.name));
    }
    if (extended) add(extended->resourceClaimName);
    return;
  }
  if (needsWork(pod)) queue_.add(fmt::format("{}{}", kPodKey, api::keyOf(pod.metadata).toString()));
}

void ResourceClaimController::claimChanged(const api::ResourceClaim& claim, bool deleted) {
  const auto key = api::keyOf(claim.metadata);
  if (!deleted) {
    queue_.add(fmt::format("{}{}", kClaimKeyPrefix, key.toString()));
    if (const auto* owner = api::controllerOf(claim.metadata))
      created_.erase(
          fmt::format("{}/{}", owner->uid,
                      api::textIn(claim.metadata.annotations, api::kPodClaimNameAnnotation)));
  }
  for (const auto& user : users_.podsOfClaim(key))
    if (const auto pod = pods_.get(user)) podChanged(*pod, false);
}

bool ResourceClaimController::needsWork(const api::Pod& pod) const {
  if (pod.metadata.deletionTimestamp) return false;
  const api::PodClaimNames names(pod);
  for (const auto& entry : pod.spec.resourceClaims) {
    const auto* name = names.of(entry);
    if (!name && names.needsNone(entry)) continue;
    if (!name) return true;
    const auto claim = claims_.get({pod.metadata.namespace_, *name});
    if (!claim && entry.resourceClaimTemplateName) return true;
    if (!claim || pod.spec.nodeName.empty()) continue;
    if (entry.resourceClaimTemplateName && !isControlledBy(*claim, pod)) continue;
    if (claim->status.allocation && !api::isReservedFor(*claim, pod.metadata.uid) && isFree(*claim))
      return true;
  }
  return false;
}

Task<Result<>> ResourceClaimController::sync(std::string key) {
  const bool isPod = key.starts_with(kPodKey);
  const auto object = keyOfText(key.substr((isPod ? kPodKey : kClaimKeyPrefix).size()));
  if (isPod) {
    const PodPtr pod = pods_.get(object);
    if (!pod || pod->metadata.deletionTimestamp || isDone(*pod)) co_return Result<>{};
    auto syncing = syncPod(pod);
    co_return co_await syncing;
  }
  const ClaimPtr claim = claims_.get(object);
  if (!claim) co_return Result<>{};
  auto syncing = syncClaim(claim);
  co_return co_await syncing;
}

Task<Result<>> ResourceClaimController::syncPod(PodPtr pod) {
  json::array statuses;
  const Provided provided = providedOf(*pod);
  for (const auto& entry : pod->spec.resourceClaims) {
    auto providing = provideClaim(pod, entry, provided);
    auto name = co_await providing;
    if (!name) {
      auto message = fmt::format("PodResourceClaim {}: {}", entry.name, name.error().message);
      events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Warning",
                     "FailedResourceClaimCreation", message);
      co_return fail(name.error().code,
                     fmt::format("pod {}, {}", api::keyOf(pod->metadata).toString(), message));
    }
    if (!name->empty())
      statuses.push_back(json::object{{"name", entry.name}, {"resourceClaimName", *name}});
  }
  if (!statuses.empty()) {
    json::value patch = json::object{{"metadata", {{"uid", pod->metadata.uid}}},
                                     {"status", {{"resourceClaimStatuses", std::move(statuses)}}}};
    auto patching = kube::strategicPatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                         std::move(patch), "status");
    auto patched = co_await patching;
    if (!patched && !needsNoRetry(patched.error())) co_return fail(std::move(patched.error()));
    co_return Result<>{};  // the event of this write enqueues the pod again
  }
  if (pod->spec.nodeName.empty()) co_return Result<>{};  // the scheduler reserves its claims
  auto reserving = reserve(pod);
  co_return co_await reserving;
}

ResourceClaimController::Provided ResourceClaimController::providedOf(const api::Pod& pod) const {
  Provided provided(pod);
  for (const auto& key : users_.claimsOfPod(pod.metadata.uid))
    if (const auto claim = claims_.get(key))
      provided.generated.emplace(
          api::textIn(claim->metadata.annotations, api::kPodClaimNameAnnotation), key.name);
  return provided;
}

Task<Result<std::string>> ResourceClaimController::provideClaim(PodPtr pod,
                                                                const api::PodResourceClaim& entry,
                                                                const Provided& provided) {
  const auto& namespace_ = pod->metadata.namespace_;
  if (!entry.resourceClaimTemplateName || provided.names.needsNone(entry)) co_return std::string();
  if (const auto* name = provided.names.of(entry))
    if (const auto claim = claims_.get({namespace_, *name}); claim && isControlledBy(*claim, *pod))
      co_return std::string();
  if (const auto known = provided.generated.find(entry.name); known != provided.generated.end())
    co_return known->second;
  if (const auto known = created_.find(createdKey(*pod, entry.name)); known != created_.end())
    co_return known->second;

  const auto& templateName = *entry.resourceClaimTemplateName;
  const auto claimTemplate = templates_.get({namespace_, templateName});
  if (!claimTemplate)
    co_return fail(
        ErrorCode::NotFound,
        fmt::format(
            "resource claim template \"{0}\": resourceclaimtemplate.resource.k8s.io \"{0}\" not "
            "found",
            templateName));
  api::ResourceClaim claim;
  claim.metadata.namespace_ = namespace_;
  claim.metadata.generateName = claimNamePrefix(pod->metadata.name, entry.name);
  claim.metadata.labels = claimTemplate->spec.metadata.labels;
  claim.metadata.annotations = claimTemplate->spec.metadata.annotations;
  claim.metadata.annotations.insert_or_assign(std::string(api::kPodClaimNameAnnotation),
                                              entry.name);
  claim.metadata.ownerReferences = {{.apiVersion = "v1",
                                     .kind = "Pod",
                                     .name = pod->metadata.name,
                                     .uid = pod->metadata.uid,
                                     .controller = true}};
  claim.spec = claimTemplate->spec.spec;
  auto creating = kube::create(api_, claim);
  auto created = co_await creating;
  if (!created) co_return fail(std::move(created.error()).within("create ResourceClaim "));
  auto name = created->metadata.name;
  created_[createdKey(*pod, entry.name)] = name;
  co_return name;
}

Task<Result<>> ResourceClaimController::reserve(PodPtr pod) {
  const api::PodClaimNames names(*pod);
  for (const auto& entry : pod->spec.resourceClaims) {
    const auto* name = names.of(entry);
    const auto claim = name ? claims_.get({pod->metadata.namespace_, *name}) : ClaimPtr();
    if (!claim) continue;
    if (entry.resourceClaimTemplateName && !isControlledBy(*claim, *pod))
      co_return fail(ErrorCode::Invalid,
                     fmt::format("ResourceClaim {} was not created for Pod {} (Pod is not owner)",
                                 api::keyOf(claim->metadata).toString(),
                                 api::keyOf(pod->metadata).toString()));
    if (!claim->status.allocation || api::isReservedFor(*claim, pod->metadata.uid) ||
        !isFree(*claim))
      continue;
    auto status = claim->status;
    status.reservedFor.push_back({"", "pods", pod->metadata.name, pod->metadata.uid});
    json::value patch =
        json::object{{"metadata", versioned(*claim, claim->metadata.resourceVersion)},
                     {"status", {{"reservedFor", memberOf(api::encode(status), "reservedFor")}}}};
    auto patching = patchIfUnchanged(api_, api::ResourceClaim::kType, api::keyOf(claim->metadata),
                                     std::move(patch), "status");
    auto patched = co_await patching;
    if (!patched)
      co_return fail(
          std::move(patched.error())
              .within(fmt::format("reserve claim {}", api::keyOf(claim->metadata).toString())));
  }
  co_return Result<>{};
}

Task<Result<bool>> ResourceClaimController::isGone(
    ClaimPtr claim, const api::ResourceClaimConsumerReference& consumer) {
  if (!consumer.apiGroup.empty() || consumer.resource != "pods") co_return false;
  if (deletedPods_.find(consumer.uid)) co_return true;
  const api::ObjectKey key{claim->metadata.namespace_, consumer.name};
  if (const auto pod = pods_.get(key)) co_return pod->metadata.uid != consumer.uid || isDone(*pod);
  auto asking = kube::get<api::Pod>(api_, key);
  auto pod = co_await asking;
  if (!pod && pod.error().code != ErrorCode::NotFound) co_return fail(std::move(pod.error()));
  co_return !pod || pod->metadata.uid != consumer.uid;
}

Task<Result<>> ResourceClaimController::syncClaim(ClaimPtr claim) {
  std::vector<api::ResourceClaimConsumerReference> remaining;
  const auto& status = claim->status;
  for (const auto& consumer : status.reservedFor) {
    auto asking = isGone(claim, consumer);
    auto gone = co_await asking;
    if (!gone) co_return fail(std::move(gone.error()));
    if (!*gone) remaining.push_back(consumer);
  }
  const bool unused = remaining.empty();
  const bool leftOver = hasFinalizer(*claim) && claim->metadata.deletionTimestamp && unused;
  if (remaining.size() < status.reservedFor.size() || leftOver) {
    auto releasing = release(claim, std::move(remaining));
    auto released = co_await releasing;
    if (!released) {
      if (needsNoRetry(released.error())) co_return Result<>{};
      co_return released;
    }
  }
  if (!unused) co_return Result<>{};
  auto deleting = deleteIfGenerated(claim);
  co_return co_await deleting;
}

Task<Result<>> ResourceClaimController::release(
    ClaimPtr claim, std::vector<api::ResourceClaimConsumerReference> remaining) {
  const bool deallocates = remaining.empty() && hasFinalizer(*claim);
  auto version = claim->metadata.resourceVersion;
  const auto& status = claim->status;
  if (remaining.size() < status.reservedFor.size() || (deallocates && status.allocation)) {
    api::ResourceClaimStatus next;
    next.reservedFor = std::move(remaining);
    json::object change{{"reservedFor", memberOf(api::encode(next), "reservedFor")}};
    if (deallocates) change["allocation"] = nullptr;
    json::value patch =
        json::object{{"metadata", versioned(*claim, version)}, {"status", std::move(change)}};
    auto patching = kube::mergePatch(api_, api::ResourceClaim::kType, api::keyOf(claim->metadata),
                                     std::move(patch), "status");
    auto patched = co_await patching;
    if (!patched) co_return fail(std::move(patched.error()));
    version = textAt(*patched, "metadata", "resourceVersion");
  }
  if (!hasFinalizer(*claim) || (status.allocation && !deallocates)) co_return Result<>{};
  auto removing = removeFinalizer(claim, std::move(version));
  co_return co_await removing;
}

Task<Result<>> ResourceClaimController::removeFinalizer(ClaimPtr claim,
                                                        std::string resourceVersion) {
  json::array kept;
  for (const auto& finalizer : claim->metadata.finalizers)
    if (finalizer != api::kClaimFinalizer) kept.emplace_back(finalizer);
  json::object metadata = versioned(*claim, resourceVersion);
  metadata["finalizers"] = kept.empty() ? json::value(nullptr) : json::value(std::move(kept));
  auto patching = kube::mergePatch(api_, api::ResourceClaim::kType, api::keyOf(claim->metadata),
                                   json::object{{"metadata", std::move(metadata)}});
  auto patched = co_await patching;
  if (!patched) co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

Task<Result<>> ResourceClaimController::deleteIfGenerated(ClaimPtr claim) {
  const auto* owner = api::controllerOf(claim->metadata);
  if (!owner || owner->apiVersion != "v1" || owner->kind != "Pod") co_return Result<>{};
  // If the pod is gone, the garbage collector deletes the claim.
  const auto pod = pods_.get({claim->metadata.namespace_, owner->name});
  if (!pod || (pod->metadata.uid == owner->uid && !isDone(*pod))) co_return Result<>{};
  auto deleting = deleteIfExists(api_, api::ResourceClaim::kType, claim->metadata);
  auto deleted = co_await deleting;
  if (!deleted)
    co_return fail(std::move(deleted.error())
                       .within(fmt::format("delete unused generated claim {}",
                                           api::keyOf(claim->metadata).toString())));
  co_return Result<>{};
}

}  // namespace koord::cluster
