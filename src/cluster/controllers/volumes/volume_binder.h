#pragma once

// Binds PersistentVolumeClaims to PersistentVolumes, as kube-controller-manager does.
//
// A volume and a claim are bound when spec.claimRef of the one (with the uid) and spec.volumeName
// of the other name each other; the annotation bind-completed on the claim says that this has
// happened once. Either side may be written first, by a user or by the scheduler, and is then
// finished here. There are two keys in one queue, so one decision at a time:
//
//   claim   without a volume: the volume that is promised to it; else, unless its class waits for
//           the first consumer, the smallest that suits; else the default class, if it names none;
//           else it is handed to its class's provisioner, who makes a volume with a claimRef.
//           Bound before: Lost when the volume is gone or somebody else's.
//   volume  its phase: Available, Bound, Released (its claim is gone) or Failed (it cannot be
//           reclaimed as its policy says). Volumes that were made by a provisioner are deleted by
//           that; Retain leaves them; a volume made by hand cannot be deleted and fails.
//
// Choices are made on local copies, which may be old by a moment: every write to a spec names the
// resourceVersion it was decided on, and a conflict is decided again. A sync costs one walk over
// the volumes; a volume that becomes available wakes all claims that have none.

#include <map>

#include "api/storage.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
using VolumePtr = std::shared_ptr<const api::PersistentVolume>;

class VolumeBinder {
 public:
  VolumeBinder(kube::Api& api, Executor& executor,
               kube::Informer<api::PersistentVolumeClaim>& claims,
               kube::Informer<api::PersistentVolume>& volumes,
               kube::Informer<api::StorageClass>& classes, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  void enqueue(const api::PersistentVolumeClaim& claim);
  void enqueue(const api::PersistentVolume& volume);
  void enqueueUnbound();

  Task<Result<>> sync(std::string key);
  Task<Result<>> syncUnbound(ClaimPtr claim);
  Task<Result<>> syncRequested(ClaimPtr claim);
  Task<Result<>> syncBound(ClaimPtr claim);
  Task<Result<>> syncVolume(VolumePtr volume);
  // Asks the API: a copy that does not have the claim yet must not cost its data.
  Task<Result<bool>> isClaimGone(VolumePtr volume);
  // Its claim is gone, or was given another volume.
  Task<Result<>> release(VolumePtr volume);
  Task<Result<>> unbind(VolumePtr volume);

  // The smallest of those with the fewest access modes; nullptr when none suits.
  VolumePtr choose(const api::PersistentVolumeClaim& claim, bool promisedOnly) const;
  // No volume suits: who is to make one, or what is missing.
  Task<Result<>> askProvisioner(ClaimPtr claim);
  Task<Result<>> bind(VolumePtr volume, ClaimPtr claim);
  Task<Result<>> setClaimStatus(ClaimPtr claim, std::string phase, VolumePtr volume);
  Task<Result<>> lose(ClaimPtr claim, std::string reason, std::string message);
  Task<Result<>> setVolumePhase(VolumePtr volume, std::string phase, std::string message = "");
  void say(const api::PersistentVolumeClaim& claim, std::string_view type, std::string_view reason,
           std::string message);

  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
  kube::Informer<api::PersistentVolume>& volumes_;
  kube::Informer<api::StorageClass>& classes_;
  kube::EventRecorder& events_;
  std::map<std::string, std::string>
      said_;  // by claim uid: the last event, not said twice in a row
  kube::WorkQueue queue_;
};

// The class that claims get which name none: of several defaults the newest, then the first by
// name.
std::shared_ptr<const api::StorageClass> defaultClass(
    const kube::Informer<api::StorageClass>& classes);

}  // namespace koord::cluster
