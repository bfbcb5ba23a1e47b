#pragma once

// Creates the claims of ephemeral volumes: <pod>-<volume>, from the volume's template, owned by the
// pod, so that they are deleted with it.

#include "api/storage.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class EphemeralClaims {
 public:
  EphemeralClaims(kube::Api& api, Executor& executor,
                  kube::Informer<api::PersistentVolumeClaim>& claims,
                  kube::Informer<api::Pod>& pods, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> create(PodPtr pod, const api::Volume& volume);

  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
