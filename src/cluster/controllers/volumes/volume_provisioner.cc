#include "cluster/controllers/volumes/volume_provisioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/volumes/keys.h"
#include "cluster/simnode/kwok.h"
#include "kube/client.h"
#include "model/volumes.h"

namespace koord::cluster {

namespace {

constexpr const char* kFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";
constexpr const char* kHostName = "kubernetes.io/hostname";
// The nominal path of volumes on simulated nodes.
constexpr const char* kNowhere = "/var/lib/koordctl/volumes";
constexpr int kRemovedAtOnce = 2'000;  // files, so that a large volume does not block others
constexpr Duration kBetweenRemovals = std::chrono::milliseconds(5);

std::string volumeNameFor(const api::PersistentVolumeClaim& claim) {
  return "pvc-" + claim.metadata.uid;
}

// The part of a claim that a folder of one node does not support; "" if it supports all.
std::string unsupported(const api::PersistentVolumeClaim& claim) {
  if (claim.spec.selector) return "claim Selector is not supported";
  if (claim.spec.volumeMode == "Block")
    return "spec.volumeMode: Block is not supported, a volume is a folder of its node";
  for (const auto& mode : claim.spec.accessModes)
    if (mode != "ReadWriteOnce" && mode != "ReadWriteOncePod")
      return fmt::format(
          "spec.accessModes: {} is not supported, a volume is a folder of one node: use "
          "ReadWriteOnce or ReadWriteOncePod",
          mode);
  return "";
}

// By the label that kubelets set; nodes created by hand may lack it.
json::object termFor(const api::Node& node) {
  const auto* hostName = api::findIn(node.metadata.labels, kHostName);
  json::object here{{"key", hostName ? kHostName : "metadata.name"},
                    {"operator", "In"},
                    {"values", json::array{hostName ? *hostName : node.metadata.name}}};
  return {{hostName ? "matchExpressions" : "matchFields", json::array{std::move(here)}}};
}

json::value volumeJson(const api::PersistentVolumeClaim& claim, const api::StorageClass& class_,
                       const std::string& path, const api::Node& node) {
  json::array modes;
  for (const auto& mode : claim.spec.accessModes) modes.emplace_back(mode);
  json::array mountOptions;
  for (const auto& option : class_.mountOptions) mountOptions.emplace_back(option);
  json::object spec{
      {"accessModes", std::move(modes)},
      {"capacity", {{"storage", model::requestedStorage(claim).toString()}}},
      {"claimRef",
       {{"kind", "PersistentVolumeClaim"},
        {"apiVersion", "v1"},
        {"namespace", claim.metadata.namespace_},
        {"name", claim.metadata.name},
        {"uid", claim.metadata.uid},
        {"resourceVersion", claim.metadata.resourceVersion}}},
      {"hostPath", {{"path", path}, {"type", "DirectoryOrCreate"}}},
      {"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array{termFor(node)}}}}}},
      {"persistentVolumeReclaimPolicy",
       class_.reclaimPolicy.empty() ? std::string("Delete") : class_.reclaimPolicy},
      {"storageClassName", class_.metadata.name},
      {"volumeMode", "Filesystem"}};
  if (!mountOptions.empty()) spec["mountOptions"] = std::move(mountOptions);
  return json::object{
      {"apiVersion", "v1"},
      {"kind", "PersistentVolume"},
      {"metadata",
       {{"name", volumeNameFor(claim)},
        {"annotations",
         {{json::string_view(model::kProvisionedBy.data(), model::kProvisionedBy.size()),
           kHostPathProvisioner}}},
        {"finalizers", json::array{kFinalizer}}}},
      {"spec", std::move(spec)}};
}

bool isOurs(const api::ObjectMeta& meta, std::string_view annotation) {
  const auto* value = api::findIn(meta.annotations, annotation);
  return value && *value == kHostPathProvisioner;
}

}  // namespace

VolumeProvisioner::VolumeProvisioner(kube::Api& api, Executor& executor,
                                     kube::Informer<api::PersistentVolumeClaim>& claims,
                                     kube::Informer<api::PersistentVolume>& volumes,
                                     kube::Informer<api::StorageClass>& classes,
                                     kube::Informer<api::Node>& nodes, kube::EventRecorder& events)
    : api_(api),
      claims_(claims),
      volumes_(volumes),
      classes_(classes),
      nodes_(nodes),
      events_(events),
      queue_(executor, "volume-provisioner",
             [this](std::string key) { return sync(std::move(key)); }) {
  const auto claimSeen = [this](const ClaimPtr& claim) {
    if (isOurs(claim->metadata, "volume.kubernetes.io/storage-provisioner"))
      queue_.add(std::string(kClaimKey) + api::keyOf(claim->metadata).toString());
  };
  claims_.addHandler(
      {claimSeen, [claimSeen](const auto&, const ClaimPtr& claim) { claimSeen(claim); }, {}});
  const auto volumeSeen = [this](const VolumePtr& volume) {
    if (isOurs(volume->metadata, model::kProvisionedBy))
      queue_.add(std::string(kVolumeKey) + volume->metadata.name);
  };
  volumes_.addHandler(
      {volumeSeen, [volumeSeen](const auto&, const VolumePtr& volume) { volumeSeen(volume); }, {}});
}

void VolumeProvisioner::setHost(VolumeHost host) {
  host_ = std::move(host);
}

Task<Result<>> VolumeProvisioner::sync(std::string key) {
  if (key.starts_with(kVolumeKey)) {
    VolumePtr volume = volumes_.get({"", key.substr(kVolumeKey.size())});
    if (!volume) co_return Result<>{};
    auto removing = remove(std::move(volume));
    co_return co_await removing;
  }
  ClaimPtr claim = claims_.get(keyOfText(key.substr(kClaimKey.size())));
  if (!claim || !claim->spec.volumeName.empty() || claim->metadata.deletionTimestamp ||
      volumes_.get({"", volumeNameFor(*claim)}))
    co_return Result<>{};
  auto class_ = classes_.get({"", model::classNameOf(*claim)});
  if (!class_ || class_->provisioner != kHostPathProvisioner) co_return Result<>{};
  // Requested once, but now the scheduler is choosing another node.
  if (class_->volumeBindingMode == "WaitForFirstConsumer" &&
      !api::findIn(claim->metadata.annotations, model::kSelectedNode))
    co_return Result<>{};
  auto provisioning = provision(std::move(claim), std::move(class_));
  co_return co_await provisioning;
}

Result<std::string> VolumeProvisioner::placeFor(const api::PersistentVolumeClaim& claim,
                                                const std::string& volume,
                                                const std::string& name) const {
  if (std::string why = unsupported(claim); !why.empty())
    return fail(ErrorCode::Invalid, std::move(why));
  if (name.empty())
    return fail(ErrorCode::Invalid,
                "no node was chosen: a volume is a folder of one node, so the StorageClass needs "
                "volumeBindingMode WaitForFirstConsumer");
  const auto node = nodes_.get({"", name});
  if (!node)
    return fail(ErrorCode::NotFound,
                fmt::format("failed to get target node: node \"{}\" not found", name));
  if (host_ && host_->node == name) return VolumeFolders(host_->folder).make(volume);
  if (!isSimulated(*node))
    return fail(ErrorCode::NotFound,
                fmt::format("node \"{}\" is neither this host nor a simulated node", name));
  return fmt::format("{}/{}", kNowhere, volume);
}

Task<Result<>> VolumeProvisioner::provision(ClaimPtr claim,
                                            std::shared_ptr<const api::StorageClass> class_) {
  const auto about = kube::referenceTo(api::PersistentVolumeClaim::kType, claim->metadata);
  const auto* chosen = api::findIn(claim->metadata.annotations, model::kSelectedNode);
  const std::string node = chosen ? *chosen : "";
  const std::string volume = volumeNameFor(*claim);
  const auto path = placeFor(*claim, volume, node);
  if (!path) {
    events_.record(about, "Warning", "ProvisioningFailed",
                   fmt::format("failed to provision volume with StorageClass \"{}\": {}",
                               class_->metadata.name, path.error().message));
    const auto code = path.error().code;
    if (code == ErrorCode::Invalid) co_return Result<>{};  // until the claim changes
    if (code != ErrorCode::NotFound) co_return fail(path.error());
    auto forgetting = forgetNode(std::move(claim));
    co_return co_await forgetting;
  }
  const auto target = nodes_.get({"", node});
  json::value object = volumeJson(*claim, *class_, *path, *target);
  const api::ObjectKey nowhere;
  auto creating =
      kube::createObject(api_, api::PersistentVolume::kType, nowhere, std::move(object));
  auto created = co_await creating;
  if (!created && created.error().code == ErrorCode::AlreadyExists) co_return Result<>{};
  if (!created) co_return fail(std::move(created.error()));
  events_.record(about, "Normal", "Provisioning",
                 fmt::format("External provisioner is provisioning volume for claim \"{}\"",
                             api::keyOf(claim->metadata).toString()));
  events_.record(about, "Normal", "ProvisioningSucceeded",
                 "Successfully provisioned volume " + volume);
  co_return Result<>{};
}

Task<Result<>> VolumeProvisioner::forgetNode(ClaimPtr claim) {
  json::object annotations;
  annotations[json::string_view(model::kSelectedNode.data(), model::kSelectedNode.size())] =
      nullptr;
  json::value patch = json::object{{"metadata",
                                    {{"uid", claim->metadata.uid},
                                     {"resourceVersion", claim->metadata.resourceVersion},
                                     {"annotations", std::move(annotations)}}}};
  auto patching = patchIfUnchanged(api_, api::PersistentVolumeClaim::kType,
                                   api::keyOf(claim->metadata), std::move(patch), "");
  co_return co_await patching;
}

Task<Result<>> VolumeProvisioner::remove(VolumePtr volume) {
  const auto& meta = volume->metadata;
  const std::string& phase = volume->status.phase;
  const bool unused = phase == "Released" || (meta.deletionTimestamp && phase != "Bound");
  if (!unused) co_return Result<>{};
  const bool deletes = volume->spec.persistentVolumeReclaimPolicy == "Delete";
  if (deletes && host_) {
    const auto removed = VolumeFolders(host_->folder).remove(meta.name, kRemovedAtOnce);
    if (!removed) {
      events_.record(kube::referenceTo(api::PersistentVolume::kType, meta), "Warning",
                     "VolumeFailedDelete", removed.error().message);
      co_return fail(removed.error());
    }
    if (!*removed) {
      queue_.addAfter(std::string(kVolumeKey) + meta.name, kBetweenRemovals);
      co_return Result<>{};
    }
  }
  if (deletes && !meta.deletionTimestamp) {
    auto deleting = deleteIfExists(api_, api::PersistentVolume::kType, meta);
    auto deleted = co_await deleting;
    if (!deleted) co_return deleted;
    co_return Result<>{};  // comes back with its deletionTimestamp
  }
  if (!meta.deletionTimestamp ||
      std::ranges::find(meta.finalizers, kFinalizer) == meta.finalizers.end())
    co_return Result<>{};
  json::array kept;
  for (const auto& finalizer : meta.finalizers)
    if (finalizer != kFinalizer) kept.emplace_back(finalizer);
  json::value patch = json::object{{"metadata",
                                    {{"uid", meta.uid},
                                     {"resourceVersion", meta.resourceVersion},
                                     {"finalizers", std::move(kept)}}}};
  auto patching =
      patchIfUnchanged(api_, api::PersistentVolume::kType, {"", meta.name}, std::move(patch), "");
  co_return co_await patching;
}

}  // namespace koord::cluster
