#include "cluster/controllers/volumes/volume_protection.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/volumes/keys.h"
#include "model/volumes.h"

namespace koord::cluster {

namespace {

constexpr const char* kClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr const char* kVolumeFinalizer = "kubernetes.io/pv-protection";

// The patch of an object's finalizers; null if they do not change.
json::value finalizersOf(const api::ObjectMeta& meta, const char* finalizer, bool used) {
  const bool protected_ = std::ranges::find(meta.finalizers, finalizer) != meta.finalizers.end();
  const bool wanted = !meta.deletionTimestamp || (used && protected_);
  if (protected_ == wanted) return nullptr;
  json::array list;
  for (const auto& other : meta.finalizers)
    if (other != finalizer) list.emplace_back(other);
  if (wanted) list.emplace_back(finalizer);
  return list;
}

}  // namespace

VolumeProtection::VolumeProtection(kube::Api& api, Executor& executor,
                                   kube::Informer<api::PersistentVolumeClaim>& claims,
                                   kube::Informer<api::PersistentVolume>& volumes,
                                   kube::Informer<api::Pod>& pods)
    : api_(api),
      claims_(claims),
      volumes_(volumes),
      pods_(pods),
      queue_(executor, "volume-protection",
             [this](std::string key) { return sync(std::move(key)); }) {
  const auto claimSeen = [this](const auto& claim) {
    queue_.add(std::string(kClaimKey) + api::keyOf(claim->metadata).toString());
  };
  claims_.addHandler(
      {claimSeen, [claimSeen](const auto&, const auto& now) { claimSeen(now); }, {}});
  const auto volumeSeen = [this](const auto& volume) {
    queue_.add(std::string(kVolumeKey) + volume->metadata.name);
  };
  volumes_.addHandler(
      {volumeSeen, [volumeSeen](const auto&, const auto& now) { volumeSeen(now); }, {}});
  pods_.addHandler({{}, {}, [this](const auto& pod) {
                      for (const auto& claim : model::claimsOf(*pod))
                        queue_.add(std::string(kClaimKey) + pod->metadata.namespace_ + "/" +
                                   claim.name);
                    }});
}

// As upstream, ended pods count while they exist.
bool VolumeProtection::isUsed(const api::PersistentVolumeClaim& claim) const {
  return std::ranges::any_of(pods_.objects(), [&](const auto& pod) {
    if (pod->spec.nodeName.empty() || pod->metadata.namespace_ != claim.metadata.namespace_)
      return false;
    return std::ranges::any_of(model::claimsOf(*pod), [&](const auto& used) {
      if (used.name != claim.metadata.name) return false;
      const auto* owner = api::controllerOf(claim.metadata);
      return !used.ephemeral || (owner && owner->uid == pod->metadata.uid);
    });
  });
}

Task<Result<>> VolumeProtection::sync(std::string key) {
  const bool ofClaim = key.starts_with(kClaimKey);
  const auto claim = ofClaim ? claims_.get(keyOfText(key.substr(kClaimKey.size()))) : nullptr;
  const auto volume = ofClaim ? nullptr : volumes_.get({"", key.substr(kVolumeKey.size())});
  if (!claim && !volume) co_return Result<>{};
  const api::ObjectMeta& meta = claim ? claim->metadata : volume->metadata;
  const bool used =
      meta.deletionTimestamp && (claim ? isUsed(*claim) : volume->status.phase == "Bound");
  json::value finalizers = finalizersOf(meta, ofClaim ? kClaimFinalizer : kVolumeFinalizer, used);
  if (finalizers.is_null()) co_return Result<>{};
  json::value patch = json::object{{"metadata",
                                    {{"uid", meta.uid},
                                     {"resourceVersion", meta.resourceVersion},
                                     {"finalizers", std::move(finalizers)}}}};
  auto patching = patchIfUnchanged(
      api_, ofClaim ? api::PersistentVolumeClaim::kType : api::PersistentVolume::kType,
      api::keyOf(meta), std::move(patch), "");
  co_return co_await patching;
}

}  // namespace koord::cluster
