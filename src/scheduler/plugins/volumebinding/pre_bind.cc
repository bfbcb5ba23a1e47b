// PreBind of VolumeBinding: writes the promises and waits until the volume controller and the
// provisioners have bound the claims. The writes stay if a later step fails; the claims' selected
// node lets the next attempt continue.

#include "kube/client.h"
#include "scheduler/framework/observer.h"
#include "scheduler/framework/storage.h"
#include "scheduler/plugins/volumebinding/plugin.h"

namespace koord::scheduler {

namespace {

json::object metadataPatch(const api::ObjectMeta& meta, std::string_view annotation) {
  json::object patch{{"uid", meta.uid}, {"resourceVersion", meta.resourceVersion}};
  if (const auto* value = api::findIn(meta.annotations, annotation))
    patch.emplace("annotations",
                  json::object{{json::string_view(annotation.data(), annotation.size()), *value}});
  return patch;
}

}  // namespace

AssumedVolumes VolumeBinding::assumedFor(const PodInfo& pod) const {
  const Cluster::PodRecord* record = cluster_.findPod(pod.uid());
  const AssumedVolumes* assumed = record ? ledger_.in(record->grants) : nullptr;
  return assumed ? *assumed : AssumedVolumes();
}

Status VolumeBinding::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId) {
  return assumedFor(*pod) == AssumedVolumes() ? Status::skip() : Status{};
}

Task<Status> VolumeBinding::write(std::vector<VolumePtr> volumes, std::vector<ClaimPtr> claims) {
  kube::Api* api = handle_.api();
  if (!api) co_return Status::error("no API server to bind volumes with");
  for (const VolumePtr& volume : volumes) {
    const api::ObjectReference& promise = *volume->spec.claimRef;
    json::object reference{{"kind", promise.kind},
                           {"apiVersion", promise.apiVersion},
                           {"namespace", promise.namespace_},
                           {"name", promise.name},
                           {"uid", promise.uid},
                           {"resourceVersion", promise.resourceVersion}};
    json::object patch{
        {"metadata", metadataPatch(volume->metadata, "pv.kubernetes.io/bound-by-controller")},
        {"spec", json::object{{"claimRef", std::move(reference)}}}};
    auto call = kube::mergePatch(*api, api::PersistentVolume::kType, {"", volume->metadata.name},
                                 std::move(patch));
    const Result<json::value> reply = co_await call;
    if (!reply) co_return Status::error(reply.error().message);
  }
  for (const ClaimPtr& claim : claims) {
    json::object patch{{"metadata", metadataPatch(claim->metadata, kSelectedNode)}};
    auto call = kube::mergePatch(*api, api::PersistentVolumeClaim::kType,
                                 api::keyOf(claim->metadata), std::move(patch));
    const Result<json::value> reply = co_await call;
    if (!reply) co_return Status::error(reply.error().message);
  }
  co_return Status{};
}

// Uses the API server's objects, not the assumed ones.
Status VolumeBinding::progress(const AssumedVolumes& assumed, const PodInfo& pod,
                               const NodeRow& node) const {
  const Status waiting{Code::Wait, {}, {}};
  const auto usableHere = [&](const api::PersistentVolume& volume) {
    const auto where = whereUsable(volume);
    return !where ||
           (node.object && where->matches(node.object->metadata.labels, node.name).value_or(false));
  };
  const auto badVolume = [&](const api::PersistentVolume& volume) {
    return Status::error("pv \"" + volume.metadata.name + "\" node affinity doesn't match node \"" +
                         node.name + "\": no matching NodeSelectorTerms");
  };
  if (!cluster_.findPod(pod.uid()))
    return Status::error("pod does not exist any more: pod \"" + pod.pod->metadata.name +
                         "\" not found");
  for (const VolumePtr& reserved : assumed.volumes) {
    const auto volume = volumes_.seen.get({"", reserved->metadata.name});
    if (!volume)
      return Status::error("failed to check binding: persistentvolumes \"" +
                           reserved->metadata.name + "\" not found");
    const bool written = volume->metadata.resourceVersion != reserved->metadata.resourceVersion ||
                         (volume->spec.claimRef && !volume->spec.claimRef->uid.empty());
    if (!written) return waiting;
    if (!usableHere(*volume)) return badVolume(*volume);
    if (!volume->spec.claimRef || volume->spec.claimRef->uid.empty())
      return Status::error("ClaimRef got reset for pv \"" + volume->metadata.name + "\"");
    const api::ObjectReference& promise = *reserved->spec.claimRef;
    const auto claim = claims_.seen.get({promise.namespace_, promise.name});
    if (!claim)
      return Status::error("failed to check binding: persistentvolumeclaims \"" +
                           promise.namespace_ + "/" + promise.name + "\" not found");
    if (!isFullyBound(*claim)) return waiting;
  }
  for (const ClaimPtr& selected : assumed.provisioning) {
    const std::string& name = selected->metadata.name;
    const auto claim = claims_.seen.get(api::keyOf(selected->metadata));
    if (!claim)
      return Status::error("failed to check provisioning pvc: persistentvolumeclaims \"" +
                           selected->metadata.namespace_ + "/" + name + "\" not found");
    if (claim->metadata.resourceVersion == selected->metadata.resourceVersion) return waiting;
    if (claim->metadata.annotations.empty())
      return Status::error("selectedNode annotation reset for PVC \"" + name + "\"");
    const auto* there = api::findIn(claim->metadata.annotations, kSelectedNode);
    // A provisioner removes the annotation if it cannot create a volume there.
    if (!there || *there != node.name)
      return Status::error("provisioning failed for PVC \"" + name + "\"");
    if (!claim->spec.volumeName.empty()) {
      const auto volume = volumes_.seen.get({"", claim->spec.volumeName});
      if (!volume) return waiting;
      if (!usableHere(*volume)) return badVolume(*volume);
    }
    if (!isFullyBound(*claim)) return waiting;
  }
  return {};
}

Task<Status> VolumeBinding::preBind(CycleState&, PodPtr pod, NodeId node) {
  auto binding = bindVolumes(pod, node);
  const Status bound = co_await binding;
  if (Observer* observer = handle_.observer(); observer && !bound.ok())
    observer->volumesFailed("bind");
  co_return bound;
}

Task<Status> VolumeBinding::bindVolumes(PodPtr pod, NodeId node) {
  const AssumedVolumes assumed = assumedFor(*pod);
  auto writing = write(assumed.volumes, assumed.provisioning);
  const Status written = co_await writing;
  if (!written.ok()) co_return written;
  const SteadyTime until = handle_.executor().steadyNow() + args_.bindTimeout;
  for (;;) {
    const Status status = progress(assumed, *pod, cluster_.node(node));
    if (status.ok()) co_return status;
    if (status.code != Code::Wait) co_return Status::error("binding volumes: " + status.message());
    if (handle_.executor().steadyNow() >= until)
      co_return Status::error("binding volumes: context deadline exceeded");
    auto pause = sleepFor(handle_.executor(), std::chrono::seconds(1));
    co_await pause;
  }
}

}  // namespace koord::scheduler
