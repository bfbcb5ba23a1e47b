#pragma once

// Binds PersistentVolumeClaims to PersistentVolumes, as kube-controller-manager does.
//
// A volume and a claim are bound when spec.claimRef of the volume (with the uid) and
// spec.volumeName of the claim name each other. The annotation bind-completed on the claim records
// that this has happened. A user or the scheduler may write either side first; the binder then
// writes the other. Both kinds of keys are in one queue, so there is one decision at a time:
//
//   claim   unbound: the volume that names it; else, unless its class waits for the first consumer,
//           the smallest that fits; else the default class, if it names none; else its class's
//           provisioner, which creates a volume with a claimRef.
//           Bound before: Lost if the volume is gone or bound to another claim.
//   volume  its phase: Available, Bound, Released (its claim is gone) or Failed (cannot be
//           reclaimed by its policy). The provisioner of a volume deletes it; Retain keeps it; a
//           volume created by hand cannot be deleted and fails.
//
// Choices are made on local copies, which may be slightly old: every write to a spec names the
// resourceVersion that it is based on, and a conflict is decided again. A sync costs one walk over
// the volumes. A volume that becomes available enqueues all unbound claims.

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
  // Asks the API server: an old local copy must not cost the claim's data.
  Task<Result<bool>> isClaimGone(VolumePtr volume);
  // Call when the claim is gone or has another volume.
  Task<Result<>> release(VolumePtr volume);
  Task<Result<>> unbind(VolumePtr volume);

  // The smallest of the matching volumes with the fewest access modes; nullptr if none matches.
  VolumePtr choose(const api::PersistentVolumeClaim& claim, bool reservedOnly) const;
  // Call when no volume matches: names the provisioner, or reports what is missing.
  Task<Result<>> requestProvisioning(ClaimPtr claim);
  Task<Result<>> bind(VolumePtr volume, ClaimPtr claim);
  Task<Result<>> setClaimStatus(ClaimPtr claim, std::string phase, VolumePtr volume);
  Task<Result<>> markLost(ClaimPtr claim, std::string reason, std::string message);
  Task<Result<>> setVolumePhase(VolumePtr volume, std::string phase, std::string message = "");
  void recordEvent(const api::PersistentVolumeClaim& claim, std::string_view type,
                   std::string_view reason, std::string message);

  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
  kube::Informer<api::PersistentVolume>& volumes_;
  kube::Informer<api::StorageClass>& classes_;
  kube::EventRecorder& events_;
  std::map<std::string, std::string>
      lastEvents_;  // by claim uid: the last event, not repeated in a row
  kube::WorkQueue queue_;
};

// The class of claims that name none: of several defaults the newest, then the first by name.
std::shared_ptr<const api::StorageClass> defaultClass(
    const kube::Informer<api::StorageClass>& classes);

}  // namespace koord::cluster
