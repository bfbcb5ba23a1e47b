#pragma once

// The tasks of kube-controller-manager and a provisioner for PersistentVolumes: binding, creating
// and reclaiming, protection, claims of ephemeral volumes. Shares the informers of pods and nodes
// with other controllers.

#include "cluster/controllers/volumes/ephemeral_claims.h"
#include "cluster/controllers/volumes/volume_binder.h"
#include "cluster/controllers/volumes/volume_protection.h"
#include "cluster/controllers/volumes/volume_provisioner.h"

namespace koord::cluster {

struct Volumes {
  Volumes(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
          kube::Informer<api::Node>& nodes, Random random)
      : claims(api, executor, {}, random.fork()),
        volumes(api, executor, {}, random.fork()),
        classes(api, executor, {}, random.fork()),
        events(api, executor, "persistentvolume-controller", random.fork()),
        provisionerEvents(api, executor, std::string(kHostPathProvisioner), random.fork()),
        binder(api, executor, claims, volumes, classes, events),
        provisioner(api, executor, claims, volumes, classes, nodes, provisionerEvents),
        protection(api, executor, claims, volumes, pods),
        ephemeral(api, executor, claims, pods, events) {}

  void startInformers() {
    claims.start();
    volumes.start();
    classes.start();
  }
  // Call when the informers are synced.
  void start() {
    binder.start();
    provisioner.start();
    protection.start();
    ephemeral.start();
  }

  kube::Informer<api::PersistentVolumeClaim> claims;
  kube::Informer<api::PersistentVolume> volumes;
  kube::Informer<api::StorageClass> classes;
  kube::EventRecorder events;
  kube::EventRecorder provisionerEvents;
  VolumeBinder binder;
  VolumeProvisioner provisioner;
  VolumeProtection protection;
  EphemeralClaims ephemeral;
};

}  // namespace koord::cluster
