#pragma once

// The default selector for a pod without spread constraints: it selects the pods of the Services
// that select the pod and of the object that owns it.

#include <map>

#include "api/selector.h"
#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class PodSpreadDefaults {
 public:
  // Follows the stores. Must outlive the stores.
  explicit PodSpreadDefaults(Stores& stores);
  // Empty if no Service selects the pod and no object owns it.
  api::Selector selectorFor(const api::Pod& pod) const;

 private:
  using Services = std::map<std::string, api::StringMap>;  // selectors by name

  const Store<api::ReplicationControllerSelection>& replicationControllers_;
  const Store<api::ReplicaSetSelection>& replicaSets_;
  const Store<api::StatefulSetSelection>& statefulSets_;
  std::unordered_map<std::string, Services> services_;  // by namespace
};

// The instance of the cluster, which all profiles share.
inline const PodSpreadDefaults& podSpreadDefaultsOf(Handle& handle) {
  return handle.shared().of<PodSpreadDefaults>(
      [&] { return std::make_unique<PodSpreadDefaults>(handle.stores()); });
}

}  // namespace koord::scheduler
