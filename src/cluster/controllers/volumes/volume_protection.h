#pragma once

// The finalizers kubernetes.io/pvc-protection and kubernetes.io/pv-protection: a claim is there
// until no pod on a node uses it, a volume until it is not bound any more. The API server sets them
// on new objects; here they are taken away when the time has come, and added to objects that have
// none.

#include "api/storage.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class VolumeProtection {
 public:
  VolumeProtection(kube::Api& api, Executor& executor,
                   kube::Informer<api::PersistentVolumeClaim>& claims,
                   kube::Informer<api::PersistentVolume>& volumes, kube::Informer<api::Pod>& pods);
  void start() { queue_.start(); }

 private:
  Task<Result<>> sync(std::string key);
  bool isUsed(const api::PersistentVolumeClaim& claim) const;

  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
  kube::Informer<api::PersistentVolume>& volumes_;
  kube::Informer<api::Pod>& pods_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
