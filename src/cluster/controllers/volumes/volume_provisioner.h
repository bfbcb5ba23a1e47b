#pragma once

// The provisioner of the StorageClass "standard" of a one-machine cluster: creates a volume for a
// claim on the node that the scheduler has chosen. On the host node a volume is a folder of the
// host (VolumeFolders); on a simulated node it is only an object. Both are hostPath volumes for
// that node only. When a volume's claim is gone and its policy says Delete, the folder and then the
// object are removed; the finalizer keeps the object until the folder is gone.

#include <functional>

#include "api/core.h"
#include "api/storage.h"
#include "cluster/controllers/volumes/volume_folders.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

inline constexpr std::string_view kHostPathProvisioner = "koordctl.koordinator.sh/host-path";

// The host as a node with volumes.
struct VolumeHost {
  std::string node;
  std::string folder;  // parent folder of the volumes
};

class VolumeProvisioner {
 public:
  VolumeProvisioner(kube::Api& api, Executor& executor,
                    kube::Informer<api::PersistentVolumeClaim>& claims,
                    kube::Informer<api::PersistentVolume>& volumes,
                    kube::Informer<api::StorageClass>& classes, kube::Informer<api::Node>& nodes,
                    kube::EventRecorder& events);
  // Call before start. Without it only simulated nodes have volumes.
  void setHost(VolumeHost host);
  void start() { queue_.start(); }

 private:
  using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
  using VolumePtr = std::shared_ptr<const api::PersistentVolume>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> provision(ClaimPtr claim, std::shared_ptr<const api::StorageClass> class_);
  Task<Result<>> remove(VolumePtr volume);
  // The path on the node; NotFound if the claim must move to another node.
  Result<std::string> placeFor(const api::PersistentVolumeClaim& claim, const std::string& volume,
                               const std::string& node) const;
  // Makes the scheduler choose a node again.
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
