#include "cluster/controllers/volumes/volume_binder.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <tuple>

#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/volumes/keys.h"
#include "kube/client.h"
#include "model/volumes.h"

namespace koord::cluster {

namespace {

constexpr std::string_view kProvisionerNames[] = {"volume.kubernetes.io/storage-provisioner",
                                                  "volume.beta.kubernetes.io/storage-provisioner"};

constexpr Duration kInformerLag = std::chrono::milliseconds(100);

bool has(const api::ObjectMeta& meta, std::string_view annotation) {
  return api::findIn(meta.annotations, annotation) != nullptr;
}

json::string_view keyOfJson(std::string_view text) {
  return {text.data(), text.size()};
}

// Every write to a spec names the version that the decision is based on.
json::object versioned(const api::ObjectMeta& meta) {
  return {{"uid", meta.uid}, {"resourceVersion", meta.resourceVersion}};
}

api::ObjectKey claimOf(const api::PersistentVolume& volume) {
  return {volume.spec.claimRef->namespace_, volume.spec.claimRef->name};
}

json::array textsJson(const std::vector<std::string>& texts) {
  json::array list;
  for (const auto& text : texts) list.emplace_back(text);
  return list;
}

}  // namespace

std::shared_ptr<const api::StorageClass> defaultClass(
    const kube::Informer<api::StorageClass>& classes) {
  const auto isDefault = [](const api::StorageClass& class_) {
    for (const char* name : {"storageclass.kubernetes.io/is-default-class",
                             "storageclass.beta.kubernetes.io/is-default-class"})
      if (const auto* value = api::findIn(class_.metadata.annotations, name);
          value && *value == "true")
        return true;
    return false;
  };
  std::shared_ptr<const api::StorageClass> best;
  for (const auto& class_ : classes.objects()) {
    if (!isDefault(*class_)) continue;
    const auto& [made, name] = std::tie(class_->metadata.creationTimestamp, class_->metadata.name);
    if (!best || made > best->metadata.creationTimestamp ||
        (made == best->metadata.creationTimestamp && name < best->metadata.name))
      best = class_;
  }
  return best;
}

VolumeBinder::VolumeBinder(kube::Api& api, Executor& executor,
                           kube::Informer<api::PersistentVolumeClaim>& claims,
                           kube::Informer<api::PersistentVolume>& volumes,
                           kube::Informer<api::StorageClass>& classes, kube::EventRecorder& events)
    : api_(api),
      claims_(claims),
      volumes_(volumes),
      classes_(classes),
      events_(events),
      queue_(executor, "volume-binder", [this](std::string key) { return sync(std::move(key)); }) {
  claims_.addHandler({[this](const ClaimPtr& claim) { enqueue(*claim); },
                      [this](const auto&, const ClaimPtr& claim) { enqueue(*claim); },
                      [this](const ClaimPtr& claim) {
                        lastEvents_.erase(claim->metadata.uid);
                        enqueue(*claim);
                      }});
  volumes_.addHandler({[this](const VolumePtr& volume) { enqueue(*volume); },
                       [this](const auto&, const VolumePtr& volume) { enqueue(*volume); },
                       [this](const VolumePtr& volume) { enqueue(*volume); }});
  const auto classSeen = [this](const auto&) { enqueueUnbound(); };
  classes_.addHandler(
      {classSeen, [classSeen](const auto&, const auto& now) { classSeen(now); }, {}});
}

// The volume of a claim is examined after the claim, to update its phase.
void VolumeBinder::enqueue(const api::PersistentVolumeClaim& claim) {
  queue_.add(std::string(kClaimKey) + api::keyOf(claim.metadata).toString());
  for (const auto& volume : volumes_.objects())
    if (volume->spec.claimRef && claimOf(*volume) == api::keyOf(claim.metadata))
      queue_.add(std::string(kVolumeKey) + volume->metadata.name);
}

void VolumeBinder::enqueue(const api::PersistentVolume& volume) {
  queue_.add(std::string(kVolumeKey) + volume.metadata.name);
  const bool open = !volume.spec.claimRef || volume.spec.claimRef->uid.empty();
  if (open && volume.status.phase == "Available") enqueueUnbound();
  if (volume.spec.claimRef) queue_.add(std::string(kClaimKey) + claimOf(volume).toString());
  for (const auto& claim : claims_.objects())
    if (claim->spec.volumeName == volume.metadata.name)
      queue_.add(std::string(kClaimKey) + api::keyOf(claim->metadata).toString());
}

void VolumeBinder::enqueueUnbound() {
  for (const auto& claim : claims_.objects())
    if (!model::isFullyBound(*claim))
      queue_.add(std::string(kClaimKey) + api::keyOf(claim->metadata).toString());
}

Task<Result<>> VolumeBinder::sync(std::string key) {
  if (key.starts_with(kVolumeKey)) {
    VolumePtr volume = volumes_.get({"", key.substr(kVolumeKey.size())});
    if (!volume) co_return Result<>{};
    auto syncing = syncVolume(std::move(volume));
    co_return co_await syncing;
  }
  ClaimPtr claim = claims_.get(keyOfText(key.substr(kClaimKey.size())));
  if (!claim) co_return Result<>{};
  if (has(claim->metadata, model::kBindCompleted)) {
    auto syncing = syncBound(std::move(claim));
    co_return co_await syncing;
  }
  if (claim->metadata.deletionTimestamp) co_return Result<>{};
  if (!claim->spec.volumeName.empty()) {
    auto syncing = syncRequested(std::move(claim));
    co_return co_await syncing;
  }
  auto syncing = syncUnbound(std::move(claim));
  co_return co_await syncing;
}

VolumePtr VolumeBinder::choose(const api::PersistentVolumeClaim& claim, bool reservedOnly) const {
  const auto selector = model::selectorOf(claim);
  const auto rank = [](const VolumePtr& volume) {
    return std::tuple(volume->spec.accessModes.size(), model::storageOf(*volume),
                      volume->metadata.name);
  };
  VolumePtr best;
  for (const auto& volume : volumes_.objects()) {
    if (!model::suits(*volume, claim, selector)) continue;
    if (model::isReservedFor(*volume, claim)) return volume;
    if (!reservedOnly && (!best || rank(volume) < rank(best))) best = volume;
  }
  return best;
}

Task<Result<>> VolumeBinder::syncUnbound(ClaimPtr claim) {
  const std::string className = model::classNameOf(*claim);
  const auto class_ = className.empty() ? nullptr : classes_.get({"", className});
  const bool waits = class_ && class_->volumeBindingMode == "WaitForFirstConsumer";
  if (VolumePtr volume = choose(*claim, waits)) {
    auto binding = bind(std::move(volume), std::move(claim));
    co_return co_await binding;
  }
  const bool namesNone = !claim->spec.storageClassName &&
                         !has(claim->metadata, "volume.beta.kubernetes.io/storage-class");
  if (const auto given = namesNone ? defaultClass(classes_) : nullptr) {
    json::value patch = json::object{{"metadata", versioned(claim->metadata)},
                                     {"spec", {{"storageClassName", given->metadata.name}}}};
    auto patching = patchIfExists(api_, api::PersistentVolumeClaim::kType,
                                  api::keyOf(claim->metadata), std::move(patch));
    co_return co_await patching;
  }
  if (waits && !has(claim->metadata, model::kSelectedNode)) {
    recordEvent(*claim, "Normal", "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding");
  } else if (!className.empty()) {
    auto asking = requestProvisioning(claim);
    auto asked = co_await asking;
    if (!asked) co_return asked;
  } else {
    recordEvent(*claim, "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
  }
  auto reporting = setClaimStatus(std::move(claim), "Pending", nullptr);
  co_return co_await reporting;
}

Task<Result<>> VolumeBinder::requestProvisioning(ClaimPtr claim) {
  const std::string className = model::classNameOf(*claim);
  const auto class_ = classes_.get({"", className});
  if (!class_) {
    recordEvent(*claim, "Warning", "ProvisioningFailed",
                fmt::format("storageclass.storage.k8s.io \"{}\" not found", className));
    co_return Result<>{};
  }
  const std::string& provisioner = class_->provisioner;
  if (provisioner.starts_with("kubernetes.io/")) {
    recordEvent(*claim, "Warning", "ProvisioningFailed",
                "no volume plugin matched name: " + provisioner);
    co_return Result<>{};
  }
  json::object annotations;
  for (const auto name : kProvisionerNames) {
    const auto* value = api::findIn(claim->metadata.annotations, name);
    if (!value || *value != provisioner) annotations[keyOfJson(name)] = provisioner;
  }
  recordEvent(
      *claim, "Normal", "ExternalProvisioning",
      fmt::format("Waiting for a volume to be created either by the external provisioner '{}' or "
                  "manually by the system administrator. If volume creation is delayed, please "
                  "verify that the provisioner is running and correctly registered.",
                  provisioner));
  if (annotations.empty()) co_return Result<>{};
  json::object metadata = versioned(claim->metadata);
  metadata["annotations"] = std::move(annotations);
  json::value patch = json::object{{"metadata", std::move(metadata)}};
  auto patching = patchIfExists(api_, api::PersistentVolumeClaim::kType,
                                api::keyOf(claim->metadata), std::move(patch));
  co_return co_await patching;
}

Task<Result<>> VolumeBinder::syncRequested(ClaimPtr claim) {
  VolumePtr volume = volumes_.get({"", claim->spec.volumeName});
  if (!volume) {
    auto waiting = setClaimStatus(std::move(claim), "Pending", nullptr);
    co_return co_await waiting;
  }
  if (model::isReservedFor(*volume, *claim)) {
    auto binding = bind(std::move(volume), std::move(claim));
    co_return co_await binding;
  }
  std::string why = volume->spec.claimRef ? std::string("already bound to a different claim")
                                          : model::whyUnsuitable(*volume, *claim);
  if (why.empty()) {
    auto binding = bind(std::move(volume), std::move(claim));
    co_return co_await binding;
  }
  if (volume->spec.claimRef) {
    recordEvent(*claim, "Warning", "FailedBinding",
                fmt::format("volume \"{}\" {}.", volume->metadata.name, why));
  } else {
    recordEvent(
        *claim, "Warning", "VolumeMismatch",
        fmt::format("Cannot bind to requested volume \"{}\": {}", volume->metadata.name, why));
  }
  auto waiting = setClaimStatus(std::move(claim), "Pending", nullptr);
  co_return co_await waiting;
}

Task<Result<>> VolumeBinder::syncBound(ClaimPtr claim) {
  if (claim->spec.volumeName.empty()) {
    auto losing =
        markLost(std::move(claim), "ClaimLost",
                 "Bound claim has lost reference to PersistentVolume. Data on the volume is "
                 "lost!");
    co_return co_await losing;
  }
  VolumePtr volume = volumes_.get({"", claim->spec.volumeName});
  if (!volume) {
    auto losing =
        markLost(std::move(claim), "ClaimLost",
                 "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    co_return co_await losing;
  }
  if (volume->spec.claimRef && volume->spec.claimRef->uid != claim->metadata.uid) {
    // A volume that names the claim only needs its other side; all others are bound first.
    if (!model::isReservedFor(*volume, *claim)) {
      auto losing =
          markLost(std::move(claim), "ClaimMisbound",
                   "Two claims are bound to the same volume, this one is bound incorrectly");
      co_return co_await losing;
    }
  }
  auto binding = bind(std::move(volume), std::move(claim));
  co_return co_await binding;
}

// The volume first: of two claims that want it one loses here, before it names a volume.
Task<Result<>> VolumeBinder::bind(VolumePtr volume, ClaimPtr claim) {
  const auto& reference = volume->spec.claimRef;
  if (!reference || reference->uid != claim->metadata.uid) {
    json::object metadata = versioned(volume->metadata);
    if (!reference) metadata["annotations"] = {{keyOfJson(model::kBoundByController), "yes"}};
    json::value patch = json::object{{"metadata", std::move(metadata)},
                                     {"spec",
                                      {{"claimRef",
                                        {{"kind", "PersistentVolumeClaim"},
                                         {"apiVersion", "v1"},
                                         {"namespace", claim->metadata.namespace_},
                                         {"name", claim->metadata.name},
                                         {"uid", claim->metadata.uid},
                                         {"resourceVersion", claim->metadata.resourceVersion}}}}}};
    auto patching = kube::mergePatch(api_, api::PersistentVolume::kType,
                                     {"", volume->metadata.name}, std::move(patch));
    auto patched = co_await patching;
    if (!patched) co_return fail(std::move(patched.error()));
  }
  auto marking = setVolumePhase(volume, "Bound");
  auto marked = co_await marking;
  if (!marked) co_return marked;
  if (claim->spec.volumeName != volume->metadata.name ||
      !has(claim->metadata, model::kBindCompleted)) {
    json::object metadata = versioned(claim->metadata);
    json::object annotations{{keyOfJson(model::kBindCompleted), "yes"}};
    if (claim->spec.volumeName.empty()) annotations[keyOfJson(model::kBoundByController)] = "yes";
    metadata["annotations"] = std::move(annotations);
    json::value patch = json::object{{"metadata", std::move(metadata)},
                                     {"spec", {{"volumeName", volume->metadata.name}}}};
    auto patching = kube::mergePatch(api_, api::PersistentVolumeClaim::kType,
                                     api::keyOf(claim->metadata), std::move(patch));
    auto patched = co_await patching;
    if (!patched) co_return fail(std::move(patched.error()));
  }
  auto reporting = setClaimStatus(std::move(claim), "Bound", std::move(volume));
  co_return co_await reporting;
}

Task<Result<>> VolumeBinder::setClaimStatus(ClaimPtr claim, std::string phase, VolumePtr volume) {
  const auto& before = claim->status;
  const std::vector<std::string> modes =
      volume ? volume->spec.accessModes : std::vector<std::string>{};
  const api::ResourceList capacity = volume ? volume->spec.capacity : api::ResourceList{};
  if (before.phase == phase && before.accessModes == modes && before.capacity == capacity)
    co_return Result<>{};
  json::object status{{"phase", phase}, {"accessModes", nullptr}, {"capacity", nullptr}};
  if (volume) {
    json::object amounts;
    for (const auto& [name, amount] : capacity) amounts[name] = amount.toString();
    status["accessModes"] = textsJson(modes);
    status["capacity"] = std::move(amounts);
  }
  json::value patch =
      json::object{{"metadata", {{"uid", claim->metadata.uid}}}, {"status", std::move(status)}};
  auto patching = patchIfExists(api_, api::PersistentVolumeClaim::kType,
                                api::keyOf(claim->metadata), std::move(patch), "status");
  co_return co_await patching;
}

Task<Result<>> VolumeBinder::markLost(ClaimPtr claim, std::string reason, std::string message) {
  if (claim->status.phase == "Lost") co_return Result<>{};
  recordEvent(*claim, "Warning", reason, std::move(message));
  auto reporting = setClaimStatus(std::move(claim), "Lost", nullptr);
  co_return co_await reporting;
}

Task<Result<>> VolumeBinder::syncVolume(VolumePtr volume) {
  if (!volume->spec.claimRef || volume->spec.claimRef->uid.empty()) {
    auto marking = setVolumePhase(std::move(volume), "Available");
    co_return co_await marking;
  }
  const ClaimPtr claim = claims_.get(claimOf(*volume));
  if (!claim || claim->metadata.uid != volume->spec.claimRef->uid) {
    auto asking = isClaimGone(volume);
    auto gone = co_await asking;
    if (!gone) co_return fail(std::move(gone.error()));
    if (!*gone) {
      queue_.addAfter(std::string(kVolumeKey) + volume->metadata.name, kInformerLag);
      co_return Result<>{};
    }
    auto releasing = release(std::move(volume));
    co_return co_await releasing;
  }
  if (claim->spec.volumeName.empty()) {  // the claim's sync binds it
    queue_.add(std::string(kClaimKey) + api::keyOf(claim->metadata).toString());
    co_return Result<>{};
  }
  if (claim->spec.volumeName == volume->metadata.name) {
    auto marking = setVolumePhase(std::move(volume), "Bound");
    co_return co_await marking;
  }
  // Provisioned or chosen for a claim that has another volume meanwhile.
  if (has(volume->metadata, model::kProvisionedBy) &&
      volume->spec.persistentVolumeReclaimPolicy == "Delete") {
    auto releasing = release(std::move(volume));
    co_return co_await releasing;
  }
  auto unbinding = unbind(std::move(volume));
  co_return co_await unbinding;
}

Task<Result<bool>> VolumeBinder::isClaimGone(VolumePtr volume) {
  if (volume->status.phase == "Released" || volume->status.phase == "Failed") co_return true;
  auto asking = kube::get<api::PersistentVolumeClaim>(api_, claimOf(*volume));
  auto claim = co_await asking;
  if (claim) co_return claim->metadata.uid != volume->spec.claimRef->uid;
  if (claim.error().code == ErrorCode::NotFound) co_return true;
  co_return fail(std::move(claim.error()));
}

Task<Result<>> VolumeBinder::release(VolumePtr volume) {
  const std::string& policy = volume->spec.persistentVolumeReclaimPolicy;
  if (volume->status.phase == "Failed") co_return Result<>{};
  if (policy == "Recycle") {
    events_.record(kube::referenceTo(api::PersistentVolume::kType, volume->metadata), "Warning",
                   "VolumeFailedRecycle", "No recycler plugin found for the volume!");
    auto failing =
        setVolumePhase(std::move(volume), "Failed", "No recycler plugin found for the volume!");
    co_return co_await failing;
  }
  if (policy == "Delete" && !has(volume->metadata, model::kProvisionedBy)) {
    std::string why = fmt::format(
        "error getting deleter volume plugin for volume \"{}\": no deletable volume plugin matched",
        volume->metadata.name);
    events_.record(kube::referenceTo(api::PersistentVolume::kType, volume->metadata), "Warning",
                   "VolumeFailedDelete", why);
    auto failing = setVolumePhase(std::move(volume), "Failed", std::move(why));
    co_return co_await failing;
  }
  auto marking = setVolumePhase(std::move(volume), "Released");
  co_return co_await marking;
}

// Makes the volume available again or, if a user reserved it for the claim, restores that
// reservation.
Task<Result<>> VolumeBinder::unbind(VolumePtr volume) {
  json::object metadata = versioned(volume->metadata);
  json::value claimRef;
  if (has(volume->metadata, model::kBoundByController)) {
    metadata["annotations"] = {{keyOfJson(model::kBoundByController), nullptr}};
  } else {
    claimRef = json::object{{"uid", nullptr}, {"resourceVersion", nullptr}};
  }
  json::value patch = json::object{{"metadata", std::move(metadata)},
                                   {"spec", {{"claimRef", std::move(claimRef)}}}};
  auto patching = patchIfExists(api_, api::PersistentVolume::kType, {"", volume->metadata.name},
                                std::move(patch));
  co_return co_await patching;
}

Task<Result<>> VolumeBinder::setVolumePhase(VolumePtr volume, std::string phase,
                                            std::string message) {
  if (volume->status.phase == phase) co_return Result<>{};
  json::object status{{"phase", phase}, {"message", nullptr}};
  if (!message.empty()) status["message"] = message;
  json::value patch =
      json::object{{"metadata", {{"uid", volume->metadata.uid}}}, {"status", std::move(status)}};
  auto patching = patchIfExists(api_, api::PersistentVolume::kType, {"", volume->metadata.name},
                                std::move(patch), "status");
  co_return co_await patching;
}

void VolumeBinder::recordEvent(const api::PersistentVolumeClaim& claim, std::string_view type,
                               std::string_view reason, std::string message) {
  auto& last = lastEvents_[claim.metadata.uid];
  if (last == message) return;
  last = message;
  events_.record(kube::referenceTo(api::PersistentVolumeClaim::kType, claim.metadata), type, reason,
                 std::move(message));
}

}  // namespace koord::cluster
