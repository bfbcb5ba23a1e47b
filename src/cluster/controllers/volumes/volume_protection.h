#pragma once

// The finalizers kubernetes.io/pvc-protection and kubernetes.io/pv-protection: a claim exists while
// a pod on a node uses it, a volume while it is bound. The API server sets them on new objects;
// this controller removes them when the object is not in use, and adds them to objects without
// them.

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
