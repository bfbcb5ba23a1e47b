#pragma once

// The provisioner of the StorageClass "standard" of a one-machine cluster: it makes a volume for a
// claim on the node that the scheduler has chosen. On the host node a volume is a folder of this
// machine (VolumeFolders); on a simulated node there is only the object. Both are hostPath volumes
// that can be used on that node only. When a volume's claim is gone and its policy says Delete, the
// folder and then the object are removed; the finalizer keeps the object until the folder is.

#include <functional>

#include "api/core.h"
#include "api/storage.h"
#include "cluster/controllers/volumes/volume_folders.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

inline constexpr std::string_view kHostPathProvisioner = "koordctl.koordinator.sh/host-path";

// This machine as a node with volumes.
struct VolumeHost {
  std::string node;
  std::string folder;  // below it the volumes are
};

class VolumeProvisioner {
 public:
  VolumeProvisioner(kube::Api& api, Executor& executor,
                    kube::Informer<api::PersistentVolumeClaim>& claims,
                    kube::Informer<api::PersistentVolume>& volumes,
                    kube::Informer<api::StorageClass>& classes, kube::Informer<api::Node>& nodes,
                    kube::EventRecorder& events);
  // Without it, before start, there are volumes of simulated nodes only.
  void setHost(VolumeHost host);
  void start() { queue_.start(); }

 private:
  using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
  using VolumePtr = std::shared_ptr<const api::PersistentVolume>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> provision(ClaimPtr claim, std::shared_ptr<const api::StorageClass> class_);
  Task<Result<>> remove(VolumePtr volume);
  // The path on the node; NotFound when the claim has to go to another node.
  Result<std::string> placeFor(const api::PersistentVolumeClaim& claim, const std::string& volume,
                               const std::string& node) const;
  // The scheduler chooses again.
  Task<Result<>> forgetNode(ClaimPtr claim);

  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
  kube::Informer<api::PersistentVolume>& volumes_;
  kube::Informer<api::StorageClass>& classes_;
  kube::Informer<api::Node>& nodes_;
  kube::EventRecorder& events_;
  std::optional<VolumeHost> host_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
