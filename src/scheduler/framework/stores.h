#pragma once

// Stores: objects other than pods and nodes that plugins look at.

#include "api/core.h"
#include "api/services.h"
#include "api/storage.h"
#include "scheduler/engine/pod_terms.h"
#include "scheduler/framework/assumed_store.h"
#include "scheduler/framework/store.h"

namespace koord::scheduler {

struct Stores {
  Store<api::Namespace> namespaces;
  Store<api::PodDisruptionBudget> disruptionBudgets;
  Store<api::Service> services;
  Store<api::ReplicationControllerSelection> replicationControllers;
  Store<api::ReplicaSetSelection> replicaSets;
  Store<api::StatefulSetSelection> statefulSets;
  AssumedStore<api::PersistentVolume> volumes;
  AssumedStore<api::PersistentVolumeClaim> claims;
  Store<api::StorageClass> storageClasses;
  Store<api::CSINode> csiNodes;
  Store<api::CSIDriver> csiDrivers;
  Store<api::CSIStorageCapacity> storageCapacities;
  Store<api::VolumeAttachment> attachments;
};

// Labels of namespaces, for selectors over them. The stores must outlive it.
inline NamespaceLabels namespaceLabelsOf(const Stores& stores) {
  return [&stores](const std::string& name) -> const api::StringMap* {
    const auto namespace_ = stores.namespaces.get({"", name});
    return namespace_ ? &namespace_->metadata.labels : nullptr;
  };
}

}  // namespace koord::scheduler
