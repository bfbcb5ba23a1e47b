#include "cluster/controllers/stateful_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

std::string claimName(const json::value& claimTemplate, const api::StatefulSet& set, int ordinal) {
  return fmt::format("{}-{}-{}", textAt(claimTemplate, "metadata", "name"), set.metadata.name,
                     ordinal);
}

bool isDeleted(const api::StatefulSet& set, bool scaled) {
  const auto& policy = set.spec.persistentVolumeClaimRetentionPolicy;
  return policy && (scaled ? policy->whenScaled : policy->whenDeleted) == "Delete";
}

json::value claimJson(const json::value& claimTemplate, const api::StatefulSet& set, int ordinal) {
  json::value claim = claimTemplate;
  if (!claim.is_object()) claim = json::object{};
  auto& members = claim.get_object();
  members["apiVersion"] = "v1";
  members["kind"] = "PersistentVolumeClaim";
  members.erase("status");
  if (set.spec.selector)
    for (const auto& [key, value] : set.spec.selector->matchLabels) setLabel(claim, key, value);
  auto& metadata = members["metadata"];
  if (!metadata.is_object()) metadata = json::object{};
  metadata.get_object()["name"] = claimName(claimTemplate, set, ordinal);
  metadata.get_object()["namespace"] = set.metadata.namespace_;
  if (isDeleted(set, false))
    metadata.get_object()["ownerReferences"] =
        controlledBy({api::StatefulSet::kType, set.metadata});
  return claim;
}

bool hasOwner(const api::ObjectMeta& meta, const std::string& uid) {
  return std::ranges::find(meta.ownerReferences, uid, &api::OwnerReference::uid) !=
         meta.ownerReferences.end();
}

bool isLeaving(const api::PersistentVolumeClaim& claim) {
  const auto* owner = api::controllerOf(claim.metadata);
  return claim.metadata.deletionTimestamp || (owner && owner->kind == "Pod");
}

}  // namespace

void addClaimVolumes(json::object& podSpec, const api::StatefulSet& set, int ordinal) {
  json::array volumes;
  for (const auto& claimTemplate : set.spec.volumeClaimTemplates)
    volumes.push_back(json::object{
        {"name", textAt(claimTemplate, "metadata", "name")},
        {"persistentVolumeClaim", {{"claimName", claimName(claimTemplate, set, ordinal)}}}});
  if (const auto* given = podSpec.if_contains("volumes"); given && given->is_array())
    for (const auto& volume : given->get_array())
      if (std::ranges::none_of(volumes, [&](const auto& own) {
            return textAt(own, "name") == textAt(volume, "name");
          }))
        volumes.push_back(volume);
  if (!volumes.empty()) podSpec["volumes"] = std::move(volumes);
}

Task<Result<bool>> StatefulClaims::make(SetPtr set, int ordinal) {
  for (const auto& claimTemplate : set->spec.volumeClaimTemplates) {
    if (!claimTemplate.is_object()) continue;
    const auto there =
        claims_.get({set->metadata.namespace_, claimName(claimTemplate, *set, ordinal)});
    if (there && isLeaving(*there)) co_return false;
    if (there) continue;
    json::value claim = claimJson(claimTemplate, *set, ordinal);
    const api::ObjectKey target{set->metadata.namespace_, ""};
    auto creating =
        kube::createObject(api_, api::PersistentVolumeClaim::kType, target, std::move(claim));
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()));
  }
  co_return true;
}

Task<Result<>> StatefulClaims::settle(SetPtr set, int ordinal, PodPtr pod, bool isBeingScaledDown) {
  const bool byPod = isBeingScaledDown && isDeleted(*set, true);
  const bool bySet = !byPod && isDeleted(*set, false);
  for (const auto& claimTemplate : set->spec.volumeClaimTemplates) {
    const auto claim =
        claims_.get({set->metadata.namespace_, claimName(claimTemplate, *set, ordinal)});
    if (!claim) continue;
    const auto& meta = claim->metadata;
    const auto* controller = api::controllerOf(meta);
    // Another controller's claim: do not change its owner.
    if (controller && controller->uid != set->metadata.uid && controller->uid != pod->metadata.uid)
      continue;
    if (hasOwner(meta, pod->metadata.uid) == byPod && hasOwner(meta, set->metadata.uid) == bySet)
      continue;
    json::array owners;
    if (byPod) owners = controlledBy({api::Pod::kType, pod->metadata});
    if (bySet) owners = controlledBy({api::StatefulSet::kType, set->metadata});
    for (const auto& [uid, stays] :
         {std::pair{&pod->metadata.uid, byPod}, std::pair{&set->metadata.uid, bySet}})
      if (!stays && hasOwner(meta, *uid))
        owners.push_back(json::object{{"$patch", "delete"}, {"uid", *uid}});
    json::value patch =
        json::object{{"metadata", {{"uid", meta.uid}, {"ownerReferences", std::move(owners)}}}};
    auto patching = kube::strategicPatch(api_, api::PersistentVolumeClaim::kType, api::keyOf(meta),
                                         std::move(patch));
    auto patched = co_await patching;
    if (!patched && patched.error().code != ErrorCode::NotFound)
      co_return fail(std::move(patched.error()));
  }
  co_return Result<>{};
}

}  // namespace koord::cluster
